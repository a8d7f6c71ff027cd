//! Every public type has a unique name: a name that two crates define needs a reason.
//!
//! `xtask/shared_names.txt` lists the names that may be defined in several crates.

use std::collections::{BTreeMap, BTreeSet};

use super::Problem;
use super::repo::Repo;
use super::source::Source;

const LIST: &str = "xtask/shared_names.txt";

const DEFINING: &[&str] = &["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub union "];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let Some(list) = repo.file(LIST) else {
        return vec![Problem::new(LIST, "the list of shared names is missing")];
    };
    let mut problems = Vec::new();
    let mut reasons = BTreeSet::new();
    for (index, line) in list.text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match line.split_once(':') {
            Some((name, reason)) if !reason.trim().is_empty() => {
                reasons.insert(name.trim());
            }
            _ => problems.push(Problem::at(LIST, index + 1, "write `Name: the reason`")),
        }
    }
    let defined = definitions(repo);
    for (name, crates) in &defined {
        if crates.len() > 1 && !reasons.contains(name.as_str()) {
            let places: Vec<&str> = crates.values().map(String::as_str).collect();
            let message = format!(
                "`{name}` is defined in several crates: rename one of {}, or give the reason in \
                 {LIST}",
                places.join(" and ")
            );
            problems.push(Problem::new(places.first().copied().unwrap_or(LIST), message));
        }
    }
    for name in reasons {
        if defined.get(name).is_none_or(|crates| crates.len() < 2) {
            let message = format!("`{name}` is not shared any more: remove the entry");
            problems.push(Problem::new(LIST, message));
        }
    }
    problems
}

/// Public types by name, with the first definition in each crate.
fn definitions(repo: &Repo) -> BTreeMap<String, BTreeMap<&str, String>> {
    let mut defined: BTreeMap<String, BTreeMap<&str, String>> = BTreeMap::new();
    for (file, source) in repo.rust() {
        let Some(owner) = owner(&file.path) else { continue };
        for (at, name) in public_types(source) {
            let location = format!("{}:{}", file.path, source.line(at));
            defined.entry(name).or_default().entry(owner).or_insert(location);
        }
    }
    defined
}

/// The crate of a source file. Tests, benches and examples define nothing for other crates.
fn owner(path: &str) -> Option<&str> {
    let (owner, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(owner)
}

/// Definitions at the beginning of a line: those inside functions and `impl` blocks are not public.
fn public_types(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in source.code.split_inclusive('\n') {
        for keyword in DEFINING {
            if let Some(rest) = line.strip_prefix(keyword)
                && !source.is_test(offset)
            {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                found.push((
                    offset,
                    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().to_owned(),
                ));
            }
        }
        offset += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(list: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(LIST, list)];
        all.extend(files);
        check(&Repo::with_files(&all)).iter().map(ToString::to_string).collect()
    }

    const ONE: (&str, &str) = ("crates/core/src/a.rs", "//! A.\npub struct Key(u8);\n");
    const OTHER: (&str, &str) = ("crates/server/src/b.rs", "pub enum Key {}\n");

    #[test]
    fn a_name_of_two_crates_needs_a_reason() {
        let found = messages("", &[ONE, OTHER]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/core/src/a.rs:2: `Key` is defined"), "{found:?}");
        assert_eq!(
            messages("# why\nKey: one is public, the other on the wire\n", &[ONE, OTHER]),
            [""; 0]
        );
    }

    #[test]
    fn one_crate_private_types_and_tests_may_repeat_a_name() {
        let same = ("crates/core/src/b.rs", "pub struct Key;\n");
        let private = ("crates/server/src/b.rs", "struct Key;\npub(crate) enum Key {}\n");
        let test = ("crates/server/tests/b.rs", "pub struct Key;\n");
        assert_eq!(messages("", &[ONE, same, private, test]), [""; 0]);
    }

    #[test]
    fn an_entry_without_need_or_reason_goes() {
        assert_eq!(messages("Key: it was shared\n", &[ONE]).len(), 1);
        assert_eq!(messages("Key:\n", &[ONE, OTHER]).len(), 2);
    }
}
