//! Every dependency of the workspace has a row in `docs/internals/dependencies.md`: its purpose,
//! and why this one was chosen. A row without a dependency is out of date.

use std::collections::BTreeSet;

use super::Problem;
use super::repo::Repo;

const DEPENDENCIES_PAGE: &str = "docs/internals/dependencies.md";

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let text = |path: &str| repo.file(path).map_or("", |file| file.text.as_str());
    let used = declared(text("Cargo.toml"));
    let explained = rows(text(DEPENDENCIES_PAGE));
    let mut problems = Vec::new();
    for name in used.difference(&explained) {
        let message = format!("add a row that starts with | `{name}` |: what for, why this one");
        problems.push(Problem::new(DEPENDENCIES_PAGE, message));
    }
    for name in explained.difference(&used) {
        let message = format!("`{name}` is not in [workspace.dependencies]: delete its row");
        problems.push(Problem::new(DEPENDENCIES_PAGE, message));
    }
    problems
}

/// The names in `[workspace.dependencies]` that do not come from this repository.
fn declared(manifest: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    let mut is_inside = false;
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end().trim_end_matches(']');
            is_inside = header == "workspace.dependencies";
            names.extend(header.strip_prefix("workspace.dependencies."));
        } else if is_inside
            && line.starts_with(|c: char| c.is_ascii_alphanumeric())
            && let Some((name, value)) = line.split_once('=')
            && !value.contains("path =")
        {
            // `name.features = […]` continues the entry of `name`.
            names.extend(name.trim().split('.').next());
        }
    }
    names
}

/// The first cells of the table, which hold a name in backquotes.
fn rows(page: &str) -> BTreeSet<&str> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `"));
    cells.filter_map(|line| Some(line.split_once('`')?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.dependencies]\n\
        meantime-core = { path = \"crates/core\" }\n\
        jiff = { version = \"0.2\" }\nserde = \"1\"\n\n[profile.dev]\ndebug = 1\n";

    fn messages(page: &str) -> Vec<String> {
        let repo = Repo::with_files(&[("Cargo.toml", MANIFEST), (DEPENDENCIES_PAGE, page)]);
        check(&repo).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn rows_and_dependencies_match_both_ways() {
        assert!(messages("| `jiff` | time |\n| `serde` | data |\n").is_empty());
        let missing = messages("| `jiff` | time |\n");
        assert_eq!(missing.len(), 1);
        assert!(missing[0].contains("`serde`"), "{missing:?}");
        let surplus = messages("| `jiff` | time |\n| `serde` | data |\n| `rand` | dice |\n");
        assert_eq!(surplus.len(), 1);
        assert!(surplus[0].contains("`rand`"), "{surplus:?}");
    }
}
