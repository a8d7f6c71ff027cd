//! Every package has a licence that the allow-list of `deny.toml` satisfies.
//!
//! cargo-deny checks the same; this check needs no tool, so a machine without it is covered too.

use super::Problem;
use super::repo::Repo;

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let deny = repo.file("deny.toml").map_or("", |file| file.text.as_str());
    let allowed = allowed(deny);
    let mut problems = Vec::new();
    for package in &repo.packages {
        let Some(license) = &package.license else {
            let message = "states no licence: use another package, or state ours in its manifest";
            problems.push(Problem::new(&package.name, message));
            continue;
        };
        if !is_satisfied(license, &allowed) {
            let message = format!(
                "its licence `{license}` is not on the allow-list: use another package, or add \
                 the licence to deny.toml with the reason why it is compatible"
            );
            problems.push(Problem::new(&package.name, message));
        }
    }
    problems
}

/// The strings of `allow = […]` in the section `[licenses]`.
fn allowed(deny: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut is_inside, mut is_list) = (false, false);
    for line in deny.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('[') {
            is_inside = line == "[licenses]";
        }
        is_list |= is_inside && line.starts_with("allow");
        if is_list {
            names.extend(line.split('"').skip(1).step_by(2));
            is_list = !line.ends_with(']');
        }
    }
    names
}

/// Whether the expression can be met: `OR` (also written `/`) needs one side, `AND` both.
fn is_satisfied(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let outcome = any_of(&mut words, allowed);
    words.next().is_none() && outcome
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut outcome = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        outcome |= all_of(words, allowed);
    }
    outcome
}

fn all_of(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut outcome = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        outcome &= one(words, allowed);
    }
    outcome
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    match words.next() {
        Some("(") => {
            let outcome = any_of(words, allowed);
            words.next_if_eq(&")").is_some() && outcome
        }
        Some(name) => match words.next_if_eq(&"WITH") {
            // A licence with an exception (`WITH`) is a licence of its own and needs its own entry.
            Some(_) => {
                let full = format!("{name} WITH {}", words.next().unwrap_or_default());
                allowed.contains(&full.as_str())
            }
            None => allowed.contains(&name),
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_with_their_precedence() {
        let allowed = ["MIT", "Unicode-3.0"];
        let ok = |expression: &str| is_satisfied(expression, &allowed);
        assert!(ok("MIT") && ok("GPL-3.0 OR MIT") && ok("MIT/Apache-2.0"));
        assert!(ok("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(ok("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
        assert!(!ok("GPL-3.0") && !ok("MIT AND GPL-3.0") && !ok("MIT WITH x") && !ok(""));
        assert!(!ok("(MIT OR Apache-2.0) AND Zlib") && !ok("MIT Zlib") && !ok("(MIT"));
        assert!(ok("Zlib AND GPL-3.0 OR MIT"));
    }

    #[test]
    fn the_allow_list_is_read_from_its_section_only() {
        let deny = "[bans]\nallow = [\"Zlib\"]\n[licenses]\nallow = [\n  # why\n  \"MIT\", # x\n  \
                    \"ISC\",\n]\nconfidence-threshold = \"0.9\"\n";
        assert_eq!(allowed(deny), ["MIT", "ISC"]);
        assert_eq!(allowed("[licenses]\nallow = [\"MIT\", \"ISC\"]\nb = \"c\"\n"), ["MIT", "ISC"]);
    }

    #[test]
    fn a_foreign_or_missing_licence_is_found() {
        let mut repo = Repo::with_files(&[("deny.toml", "[licenses]\nallow = [\"MIT\"]\n")]);
        for (name, license) in [("a", Some("MIT")), ("b", Some("GPL-3.0")), ("c", None)] {
            let index = repo.add_package(name);
            repo.packages[index].license = license.map(str::to_owned);
        }
        let problems = check(&repo);
        let names: Vec<&str> = problems.iter().map(|problem| problem.location.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
    }
}
