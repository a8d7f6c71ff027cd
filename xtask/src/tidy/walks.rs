//! Every hop of the walks in ARCHITECTURE.md names a file and exactly one of its functions, and no
//! walk has more than [`MAX_HOPS`] hops.
//!
//! A function is `name`, or `Type::name` if the file has several of that name.

use super::Problem;
use super::repo::{File, Repo};
use super::source::find_word;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// A walk with more hops cannot be kept in mind.
const MAX_HOPS: usize = 12;

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let Some(document) = repo.file(DOCUMENT) else { return Vec::new() };
    let mut problems = Vec::new();
    let (mut walk, mut hops) = (None, 0);
    for (index, line) in document.text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("## ") {
            walk = title.strip_prefix("Walk: ");
            hops = 0;
        }
        let Some(name) = walk else { continue };
        let Some((file, function)) = hop(line) else { continue };
        hops += 1;
        let mut problem = |text: String| problems.push(Problem::at(DOCUMENT, index + 1, text));
        if hops == MAX_HOPS + 1 {
            problem(format!("the walk {name} has more than {MAX_HOPS} hops: leave some out"));
        }
        match repo.file(file) {
            None => problem(format!("there is no file {file}: name the one that the walk passes")),
            Some(file) => {
                let instead = match definitions(file, function) {
                    0 => Some("no function {}: name the right one".to_owned()),
                    1 => None,
                    count => Some(format!("{count} functions {{}}: write `Type::{{}}`")),
                };
                if let Some(text) = instead {
                    let text = text.replace("{}", function);
                    problem(format!("{} has {text}", file.path));
                }
            }
        }
    }
    problems
}

/// File and function of a row such as `| 3 | ‹file› | ‹function› | what happens |`.
fn hop(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    cells.next()?.parse::<usize>().ok()?;
    Some((cells.next()?.trim_matches('`'), cells.next()?.trim_matches('`')))
}

/// How many functions of this name the file has outside its tests.
fn definitions(file: &File, function: &str) -> usize {
    let Some(source) = &file.source else { return 0 };
    let (owner, name) = match function.rsplit_once("::") {
        Some((owner, name)) => (Some(owner), name),
        None => (None, function),
    };
    let (mut count, mut block, mut offset) = (0, None, 0);
    for line in source.code.split_inclusive('\n') {
        if line.starts_with("impl") || line.starts_with("pub trait") || line.starts_with("trait") {
            block = Some(line);
        } else if line.starts_with('}') {
            block = None;
        }
        let is_owner = owner
            .is_none_or(|owner| block.is_some_and(|block| !find_word(block, owner).is_empty()));
        if is_owner && defines(line, name) && !source.is_test(offset) {
            count += 1;
        }
        offset += line.len();
    }
    count
}

fn defines(line: &str, name: &str) -> bool {
    let starts = [format!("fn {name}("), format!("fn {name}<")];
    starts.iter().any(|start| line.contains(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(document: &str) -> Vec<Problem> {
        let file = ("crates/a.rs", "pub fn arm<T>(it: T) {}\nfn fire() {}");
        check(&Repo::with_files(&[(DOCUMENT, document), file]))
    }

    #[test]
    fn hops_that_exist_are_fine() {
        let rows = "| 1 | `crates/a.rs` | `arm` | x |\n| 2 | `crates/a.rs` | `fire` | x |\n";
        assert_eq!(with(&format!("## Walk: a timer\n\n{rows}")), []);
        let other = "## Code map\n| 1 | `crates/b.rs` | `arm` | not a walk |\n";
        assert_eq!(with(other), []);
    }

    #[test]
    fn a_missing_file_a_missing_function_and_a_long_walk_are_found() {
        let found = with("## Walk: x\n| 1 | `crates/b.rs` | `arm` | x |\n");
        assert_eq!(found[0].location, "ARCHITECTURE.md:2");
        assert_eq!(with("## Walk: x\n| 1 | `crates/a.rs` | `disarm` | x |\n").len(), 1);
        let row = "| 1 | `crates/a.rs` | `arm` | x |\n";
        assert_eq!(with(&format!("## Walk: x\n{}", row.repeat(12))), []);
        assert_eq!(with(&format!("## Walk: x\n{}", row.repeat(13))).len(), 1);
    }
    #[test]
    fn a_name_that_two_functions_have_must_be_qualified() {
        let text = "impl One {\n    fn run() {}\n}\n\nimpl Other for Two<'_> {\n    fn run() {}\n}\n\n\
            #[cfg(test)]\nmod tests {\n    fn once() {}\n}\nfn once() {}\n";
        let count = |function: &str| {
            let document = format!("## Walk: x\n| 1 | `crates/a.rs` | `{function}` | x |\n");
            check(&Repo::with_files(&[(DOCUMENT, &document), ("crates/a.rs", text)])).len()
        };
        assert_eq!(count("run"), 1, "there are two");
        assert_eq!((count("One::run"), count("Two::run")), (0, 0));
        assert_eq!(count("Three::run"), 1, "there is none");
        assert_eq!(count("once"), 0, "those of tests do not count");
    }
}
