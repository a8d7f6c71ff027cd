//! Rust files: lines of at most 100 columns, a first line that says what the module is for, and
//! `lib.rs`/`mod.rs` that contain only documentation, `mod` and `pub use`.

use super::Problem;
use super::repo::{File, Repo};
use super::source::{Source, closing};

const MAX_COLUMNS: usize = 100;

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source) in repo.rust() {
        check_width(file, source, &mut problems);
        let is_in_src = file.path.split('/').any(|part| part == "src");
        let first = file.text.lines().find(|line| !line.trim().is_empty());
        if is_in_src && !first.is_some_and(|line| line.starts_with("//!")) {
            let message = "start with `//!`: what the module is for, what it is not, and the \
                           invariant it keeps";
            problems.push(Problem::at(&file.path, 1, message));
        }
        if file.path.ends_with("/lib.rs") || file.path.ends_with("/mod.rs") {
            check_index_file(file, source, &mut problems);
        }
    }
    problems
}

/// Long URLs, string literals and rows of tables in documentation are allowed: they cannot be
/// broken.
fn check_width(file: &File, source: &Source, problems: &mut Vec<Problem>) {
    for (index, (line, code)) in file.text.lines().zip(source.code.lines()).enumerate() {
        let comment = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        let is_row = comment.starts_with('|') && comment.len() < line.trim_start().len();
        if line.chars().count() <= MAX_COLUMNS || line.contains("://") || is_row {
            continue;
        }
        // A hidden literal has one placeholder byte per byte, so the difference is the length of
        // the code.
        let literal = code.bytes().filter(|byte| *byte == 1).count();
        if literal == 0 || line.len() - literal > MAX_COLUMNS {
            let message = format!("longer than {MAX_COLUMNS} columns: break the line");
            problems.push(Problem::at(&file.path, index + 1, message));
        }
    }
}

fn check_index_file(file: &File, source: &Source, problems: &mut Vec<Problem>) {
    let mut at = 0;
    while let Some((offset, rest)) = next_item(&source.code, at) {
        let is_listing = is_listing(rest);
        let end = rest.find(';').unwrap_or(rest.len());
        let item = rest.get(..end).unwrap_or_default();
        let has_body = item.split_once('{').is_some_and(|(head, _)| !head.contains("use "));
        if !is_listing || has_body {
            let message = "`lib.rs` and `mod.rs` hold only documentation, `mod` and `pub use`: \
                           move the code to a file named after it";
            problems.push(Problem::at(&file.path, source.line(offset), message));
            return;
        }
        at = offset + end + 1;
    }
}

/// Whether an item is a module or a re-export.
fn is_listing(item: &str) -> bool {
    let seen = item.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
        Some(path) => path.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    });
    match seen {
        Some(rest) => rest.starts_with(" mod ") || rest.starts_with(" use "),
        None => item.starts_with("mod "),
    }
}

/// The next item after blanks and attributes.
fn next_item(code: &str, mut at: usize) -> Option<(usize, &str)> {
    loop {
        let rest = code.get(at..)?;
        let item = rest.trim_start();
        at += rest.len() - item.len();
        if item.is_empty() {
            return None;
        }
        if !item.starts_with("#[") && !item.starts_with("#![") {
            return Some((at, item));
        }
        at = closing(code, at + item.find('[')?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Repo::with_files(&[(path, text)])).len()
    }

    #[test]
    fn long_lines_are_found_unless_a_literal_or_address_makes_them_long() {
        let long = "x".repeat(101);
        let a = "crates/core/src/a.rs";
        assert_eq!(count(a, &format!("//! A.\nlet {long} = 1;")), 1);
        assert_eq!(count(a, &format!("//! A.\n// {long}")), 1);
        assert_eq!(count(a, &format!("//! A.\nlet a = \"{long}\";")), 0);
        assert_eq!(count(a, &format!("//! A.\nlet a = \"\n{long}\n\";")), 0);
        assert_eq!(count(a, &format!("//! A.\n// https://example.com/{long}")), 0);
        assert_eq!(count(a, &format!("//! A.\n//! | {long} |")), 0);
        assert_eq!(count(a, &format!("//! A.\n| {long} => 1,")), 1);
        assert_eq!(count(a, &format!("//! A.\n// {}", "é".repeat(97))), 0);
    }

    #[test]
    fn a_module_says_what_it_is_for() {
        assert_eq!(count("crates/core/src/a.rs", "//! A.\n"), 0);
        assert_eq!(count("crates/core/src/a.rs", "use a::b;\n"), 1);
        assert_eq!(count("crates/core/src/a.rs", ""), 1);
        assert_eq!(count("crates/core/tests/a.rs", "use a::b;\n"), 0);
    }

    #[test]
    fn an_index_holds_no_code() {
        let index = "//! A.\n#![cfg_attr(a, b)]\nmod a;\n#[cfg(test)]\nmod tests;\n\
                     pub use a::{B, C};\npub(crate) mod d;\n";
        assert_eq!(count("crates/core/src/lib.rs", index), 0);
        assert_eq!(count("crates/core/src/a/mod.rs", "//! A.\nmod a;\nfn b() {}\n"), 1);
        assert_eq!(count("crates/core/src/lib.rs", "//! A.\nmod a { fn b() {} }\n"), 1);
        assert_eq!(count("crates/core/src/lib.rs", "//! A.\nconst A: u8 = 1;\n"), 1);
        assert_eq!(count("crates/core/src/a.rs", "//! A.\nfn b() {}\n"), 0);
    }
}
