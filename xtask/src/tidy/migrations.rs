//! A released migration never changes, and every back end has the same migrations.
//!
//! `crates/store/src/migrations.lock` holds a line `sha256  path` per file, with paths relative to
//! itself, so that `sha256sum -c migrations.lock` in that directory checks the same.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use super::Problem;
use super::repo::Repo;

const STORE_SOURCES: &str = "crates/store/src/";
const MIGRATIONS_LOCK: &str = "crates/store/src/migrations.lock";
const STORE_BACK_ENDS: &[&str] = &["sqlite", "postgres"];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut files = BTreeMap::new();
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in &repo.files {
        let Some(path) = file.path.strip_prefix(STORE_SOURCES) else { continue };
        let Some((back_end, name)) = path.split_once("/migrations/") else { continue };
        if STORE_BACK_ENDS.contains(&back_end) {
            files.insert(path, digest(&file.text));
            names.entry(back_end).or_default().insert(name);
        }
    }
    if files.is_empty() {
        return problems;
    }
    for (back_end, names) in &names {
        check_numbering(back_end, names, &mut problems);
    }
    check_same_names(&names, &mut problems);
    check_lock_file(repo, &files, &mut problems);
    problems
}

fn check_numbering(back_end: &str, names: &BTreeSet<&str>, problems: &mut Vec<Problem>) {
    for (index, name) in names.iter().enumerate() {
        let number = format!("{:04}_", index + 1);
        let rest = name.strip_prefix(&number).and_then(|rest| rest.strip_suffix(".sql"));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_name)) {
            let location = format!("{STORE_SOURCES}{back_end}/migrations/{name}");
            let message = format!(
                "migrations are numbered without gaps: this one should be `{number}name.sql`, \
                 with the name in lower case"
            );
            problems.push(Problem::new(location, message));
        }
    }
}

/// Every back end has a file for every number. A migration that a back end does not need is a file
/// without SQL.
fn check_same_names(names: &BTreeMap<&str, BTreeSet<&str>>, problems: &mut Vec<Problem>) {
    let all: BTreeSet<&str> = names.values().flatten().copied().collect();
    for (back_end, have) in names {
        for name in all.difference(have) {
            let location = format!("{STORE_SOURCES}{back_end}/migrations/{name}");
            let message = "another back end has this migration: write it here too, with nothing \
                           but a comment if there is nothing to do";
            problems.push(Problem::new(location, message));
        }
    }
}

fn check_lock_file(repo: &Repo, files: &BTreeMap<&str, String>, problems: &mut Vec<Problem>) {
    let lock = repo.file(MIGRATIONS_LOCK).map_or("", |file| file.text.as_str());
    let mut recorded = BTreeMap::new();
    for (index, line) in lock.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if let Some((sum, path)) = line.split_once("  ") {
            recorded.insert(path, sum);
        } else {
            problems.push(Problem::at(
                MIGRATIONS_LOCK,
                index + 1,
                "write `sha256`, two blanks, the path",
            ));
        }
    }
    for (path, sum) in files {
        match recorded.remove(path) {
            Some(old) if old == sum => {}
            Some(_) => {
                let message = format!(
                    "a released migration never changes: restore the file and write the change \
                     as a new migration; if no release has it yet, record `{sum}  {path}`"
                );
                problems.push(Problem::new(format!("{STORE_SOURCES}{path}"), message));
            }
            None => {
                let message = format!("a new migration: add the line `{sum}  {path}`");
                problems.push(Problem::new(MIGRATIONS_LOCK, message));
            }
        }
    }
    for path in recorded.keys() {
        let message = format!("`{path}` is recorded but gone: a migration is never deleted");
        problems.push(Problem::new(MIGRATIONS_LOCK, message));
    }
}

fn digest(text: &str) -> String {
    let bytes = Sha256::digest(text);
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "crates/store/src/sqlite/migrations/0001_first.sql";
    const SUM: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        check(&Repo::with_files(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_unchanged_recorded_migration_is_fine() {
        let lock = format!("{SUM}  sqlite/migrations/0001_first.sql\n");
        assert!(messages(&[(FIRST, "abc"), (MIGRATIONS_LOCK, &lock)]).is_empty());
        assert!(messages(&[]).is_empty());
    }

    #[test]
    fn new_changed_and_deleted_migrations_are_told_apart() {
        let lock = format!("{SUM}  sqlite/migrations/0001_first.sql\n");
        let new = messages(&[(FIRST, "abc")]);
        assert_eq!(new.len(), 1);
        assert!(new[0].contains(lock.trim_end()), "{new:?}");
        let changed = messages(&[(FIRST, "abcd"), (MIGRATIONS_LOCK, &lock)]);
        assert_eq!(changed.len(), 1);
        assert!(changed[0].contains("never changes"), "{changed:?}");
        let lock = format!("{lock}{SUM}  sqlite/migrations/0002_second.sql\n");
        let deleted = messages(&[(FIRST, "abc"), (MIGRATIONS_LOCK, &lock)]);
        assert_eq!(deleted.len(), 1);
        assert!(deleted[0].contains("never deleted"), "{deleted:?}");
    }

    #[test]
    fn numbers_have_no_gaps_and_back_ends_agree() {
        let lock = format!(
            "{SUM}  sqlite/migrations/0001_first.sql\n{SUM}  postgres/migrations/0002_second.sql\n"
        );
        let second = "crates/store/src/postgres/migrations/0002_second.sql";
        let found = messages(&[(FIRST, "abc"), (second, "abc"), (MIGRATIONS_LOCK, &lock)]);
        let check_numbering =
            found.iter().filter(|message| message.contains("without gaps")).count();
        let missing = found.iter().filter(|message| message.contains("another back end")).count();
        assert_eq!((check_numbering, missing, found.len()), (1, 2, 3), "{found:?}");
    }
}
