//! Types that one reader has in mind together have names of their own.
//!
//! Two public types of one name in different crates need a reason, and so does a type that is
//! visible in its crate only, if a crate that it depends on has a public type of that name.
//! `xtask/shared_names.txt` lists the names with the reasons.

use std::collections::{BTreeMap, BTreeSet};

use super::Problem;
use super::repo::{DependencyKind, Repo};
use super::source::Source;

const LIST: &str = "xtask/shared_names.txt";

const KEYWORDS: &[&str] = &["struct ", "enum ", "trait ", "type ", "union "];

/// The definitions of one name in one crate.
#[derive(Debug, Default)]
struct Definitions {
    /// The first public one.
    public: Option<String>,
    /// The first one that is visible in its crate only.
    internal: Option<String>,
}

/// All names, with their definitions in each crate.
type Names<'a> = BTreeMap<String, BTreeMap<&'a str, Definitions>>;

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let Some(list) = repo.file(LIST) else {
        return vec![Problem::new(LIST, "the list of shared names is missing")];
    };
    let (reasons, mut problems) = parse(&list.text);
    let names = names(repo);
    let dependencies = dependencies(repo);
    let mut shared = BTreeSet::new();
    for (name, crates) in &names {
        let Some((one, other)) = clash(crates, &dependencies) else { continue };
        shared.insert(name.as_str());
        if !reasons.contains(name.as_str()) {
            let message = format!(
                "`{name}` is also the name of {other}: rename one of them, or give the reason in \
                 {LIST}"
            );
            problems.push(Problem::new(one, message));
        }
    }
    for name in reasons.difference(&shared) {
        let message = format!("`{name}` is not shared any more: remove it");
        problems.push(Problem::new(LIST, message));
    }
    problems
}

/// Lines of `Name, Name: the reason`.
fn parse(list: &str) -> (BTreeSet<&str>, Vec<Problem>) {
    let (mut reasons, mut problems) = (BTreeSet::new(), Vec::new());
    for (index, line) in list.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(':') {
            Some((names, reason)) if !reason.trim().is_empty() => {
                reasons.extend(names.split(',').map(str::trim));
            }
            _ => problems.push(Problem::at(LIST, index + 1, "write `Name, Name: the reason`")),
        }
    }
    (reasons, problems)
}

/// Two definitions that a reader can mistake for each other.
fn clash<'a>(
    crates: &'a BTreeMap<&str, Definitions>,
    dependencies: &BTreeMap<&str, BTreeSet<&str>>,
) -> Option<(&'a str, &'a str)> {
    let public: Vec<(&str, &str)> =
        crates.iter().filter_map(|(owner, it)| Some((*owner, it.public.as_deref()?))).collect();
    if let [(_, one), (_, other), ..] = public[..] {
        return Some((one, other));
    }
    crates.iter().find_map(|(owner, it)| {
        let (internal, below) = (it.internal.as_deref()?, dependencies.get(owner)?);
        let (_, other) = public.iter().find(|(other, _)| below.contains(other))?;
        Some((internal, *other))
    })
}

fn names(repo: &Repo) -> Names<'_> {
    let mut names: Names<'_> = BTreeMap::new();
    for (file, source) in repo.rust() {
        let Some(owner) = owner(&file.path) else { continue };
        for (at, name, is_public) in types(source) {
            let location = format!("{}:{}", file.path, source.line(at));
            let found = names.entry(name).or_default().entry(owner).or_default();
            let place = if is_public { &mut found.public } else { &mut found.internal };
            place.get_or_insert(location);
        }
    }
    names
}

/// The crates that each crate depends on, also through others. Tests may depend on more.
fn dependencies(repo: &Repo) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut all = BTreeMap::new();
    for (index, package) in repo.packages.iter().enumerate().filter(|(_, it)| it.is_ours) {
        let (mut below, mut next) = (BTreeSet::new(), vec![index]);
        while let Some(package) = next.pop().and_then(|index| repo.packages.get(index)) {
            for edge in package.dependencies.iter().filter(|it| it.kind == DependencyKind::Normal) {
                let name = repo.packages.get(edge.to).filter(|it| it.is_ours).map(|it| &it.name);
                if name.is_some_and(|name| below.insert(short(name))) {
                    next.push(edge.to);
                }
            }
        }
        all.insert(short(&package.name), below);
    }
    all
}

fn short(name: &str) -> &str {
    name.strip_prefix("meantime-").unwrap_or(name)
}

/// The crate of a source file. Tests, benches and examples define nothing for other crates.
fn owner(path: &str) -> Option<&str> {
    let (owner, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(owner)
}

/// Definitions at the beginning of a line that other files can see, and whether other crates can.
fn types(source: &Source) -> Vec<(usize, String, bool)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in source.code.split_inclusive('\n') {
        if let Some((is_public, name)) = visible_type(line)
            && !source.is_test(offset)
        {
            found.push((offset, name.to_owned(), is_public));
        }
        offset += line.len();
    }
    found
}

/// The name of the type that a line defines, and whether it is public.
fn visible_type(line: &str) -> Option<(bool, &str)> {
    let (is_public, rest) = match line.strip_prefix("pub ") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("pub(")?.split_once(") ")?.1),
    };
    let rest = KEYWORDS.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some((is_public, rest.get(..end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(list: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(LIST, list)];
        all.extend(files);
        let mut repo = Repo::with_dependencies(&[
            ("meantime-server", DependencyKind::Normal, "meantime-kernel"),
            ("meantime-kernel", DependencyKind::Normal, "meantime-core"),
            ("meantime-core", DependencyKind::Dev, "meantime-server"),
        ]);
        repo.files = Repo::with_files(&all).files;
        check(&repo).iter().map(ToString::to_string).collect()
    }

    const ONE: (&str, &str) = ("crates/core/src/a.rs", "//! A.\npub struct Key(u8);\n");
    const OTHER: (&str, &str) = ("crates/disk/src/b.rs", "pub enum Key {}\n");
    const REASON: &str = "# why\nKey: one is public, the other on the wire\n";

    #[test]
    fn a_public_name_of_two_crates_needs_a_reason() {
        let found = messages("", &[ONE, OTHER]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/core/src/a.rs:2: `Key` is also"), "{found:?}");
        assert_eq!(messages(REASON, &[ONE, OTHER]), [""; 0]);
        assert_eq!(messages("Name, Key: on the wire", &[ONE, OTHER]).len(), 1, "`Name` is not");
    }

    #[test]
    fn an_internal_name_needs_a_reason_if_it_hides_one_of_a_crate_below() {
        for text in ["pub(crate) enum Key {}\n", "pub(super) type Key = u8;\n"] {
            let found = messages("", &[ONE, ("crates/server/src/b.rs", text)]);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].starts_with("crates/server/src/b.rs:1: `Key`"), "{found:?}");
            assert_eq!(messages(REASON, &[ONE, ("crates/server/src/b.rs", text)]), [""; 0]);
            assert_eq!(messages("", &[ONE, ("crates/disk/src/b.rs", text)]), [""; 0]);
        }
        // The tests of core use the server, but its code does not.
        let above = ("crates/server/src/b.rs", "pub struct Key;\n");
        let below = ("crates/core/src/a.rs", "pub(crate) struct Key;\n");
        assert_eq!(messages("", &[above, below]), [""; 0]);
    }

    #[test]
    fn one_crate_private_types_and_tests_may_repeat_a_name() {
        let same = ("crates/core/src/b.rs", "pub(crate) struct Key;\n");
        let private = ("crates/server/src/b.rs", "struct Key;\nfn f() {\n    struct Key;\n}\n");
        let test = ("crates/server/tests/b.rs", "pub struct Key;\n");
        assert_eq!(messages("", &[ONE, same, private, test]), [""; 0]);
    }

    #[test]
    fn an_entry_without_need_or_reason_goes() {
        assert_eq!(messages("Key: it was shared\n", &[ONE]).len(), 1);
        assert_eq!(messages("Key:\n", &[ONE, OTHER]).len(), 2);
    }
}
