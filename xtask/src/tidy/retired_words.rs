//! Words that the project has retired do not come back, neither in names nor in documents.
//!
//! `xtask/retired_words.txt` lists them, with the replacement and the files where a word may stay.
//! Data of examples and corpora is not checked, so a definition may still book a seat.

use std::collections::BTreeSet;

use super::Problem;
use super::repo::{File, Repo};
use super::source::{Source, find_word};

const LIST: &str = "xtask/retired_words.txt";

/// Documents in the root directory; all of `docs/` is checked as well.
const ROOT_DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

/// The files whose string literals contain SQL statements.
const SQL_IN_LITERALS: &str = "crates/store/src/";

/// Keywords that introduce a definition in Rust.
const DEFINING: &[&str] =
    &["struct", "enum", "trait", "type", "union", "fn", "const", "static", "mod"];

/// What an entry of the list forbids.
#[derive(Debug, PartialEq, Eq)]
enum Scope<'a> {
    /// The word, wherever it is part of a name or of a sentence.
    Word,
    /// The word as part of a name only: it is an ordinary word in sentences.
    Part,
    /// Exactly this name, in code, literals and documents.
    Name,
    /// A definition of this name, in files whose path starts with this prefix.
    Definition(&'a str),
}

/// One line of the list.
#[derive(Debug)]
struct Entry<'a> {
    line: usize,
    scope: Scope<'a>,
    word: &'a str,
    instead: &'a str,
    /// Prefixes of the paths of files in which the word may stay.
    allowed: Vec<&'a str>,
}

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let Some(list) = repo.file(LIST) else {
        return vec![Problem::new(LIST, "the list of retired words is missing")];
    };
    let (entries, mut problems) = parse(&list.text);
    let mut used = BTreeSet::new();
    for file in repo.files.iter().filter(|file| is_checked(&file.path)) {
        let words = FileWords::of(file);
        for entry in &entries {
            let lines = words.lines_with(file, entry);
            let allowed = entry.allowed.iter().find(|prefix| file.path.starts_with(**prefix));
            match allowed {
                Some(prefix) if !lines.is_empty() => {
                    used.insert((entry.line, *prefix));
                }
                Some(_) => {}
                None => problems.extend(lines.into_iter().map(|line| {
                    let message = format!("`{}` is retired: say {}", entry.word, entry.instead);
                    Problem::at(&file.path, line, message)
                })),
            }
        }
    }
    for entry in &entries {
        for prefix in entry.allowed.iter().filter(|it| !used.contains(&(entry.line, **it))) {
            let message = format!(
                "`{}` does not occur in {prefix} any more: remove the exception",
                entry.word
            );
            problems.push(Problem::at(LIST, entry.line, message));
        }
    }
    problems
}

/// Lines of `scope | word | instead | where it may stay`.
fn parse(text: &str) -> (Vec<Entry<'_>>, Vec<Problem>) {
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let entry = match cells[..] {
            [scope, word, instead, allowed] if !word.is_empty() && !instead.is_empty() => {
                let scope = match scope.split_once(' ') {
                    None if scope == "word" => Some(Scope::Word),
                    None if scope == "part" => Some(Scope::Part),
                    None if scope == "name" => Some(Scope::Name),
                    Some(("definition", path)) => Some(Scope::Definition(path.trim())),
                    _ => None,
                };
                let allowed = allowed.split_whitespace().collect();
                scope.map(|scope| Entry { line, scope, word, instead, allowed })
            }
            _ => None,
        };
        match entry {
            Some(entry) => entries.push(entry),
            None => {
                let message = "write `word|part|name|definition PATH | old | instead | paths`";
                problems.push(Problem::at(LIST, line, message));
            }
        }
    }
    (entries, problems)
}

/// Rust, SQL and documents. Definitions, traces and data of tests and examples are not checked, and
/// neither is this file, whose tests contain the words.
fn is_checked(path: &str) -> bool {
    let is_document = ROOT_DOCUMENTS.contains(&path) || path.starts_with("docs/");
    let is_ours = path.starts_with("crates/") || path.starts_with("xtask/");
    match path.rsplit_once('.').map(|(_, kind)| kind) {
        Some("md") => is_document,
        Some("rs" | "sql") => is_ours && path != "xtask/src/tidy/retired_words.rs",
        _ => false,
    }
}

/// The words of a file, with the lines on which they stand.
struct FileWords {
    /// Parts of names in code, SQL, inline code and the path, in lower case.
    parts: Vec<(usize, String)>,
    /// The words of sentences in comments and documents.
    prose: Vec<(usize, String)>,
}

impl FileWords {
    fn of(file: &File) -> Self {
        let mut words = Self { parts: Vec::new(), prose: Vec::new() };
        words.add_names(1, &file.path);
        match &file.source {
            Some(source) => words.add_rust(file, source),
            None if file.is_kind("sql") => {
                for (index, line) in file.text.lines().enumerate() {
                    words.add_names(index + 1, line);
                }
            }
            None => {
                for (index, line) in file.text.lines().enumerate() {
                    words.add_prose(index + 1, line);
                    for code in line.split('`').skip(1).step_by(2) {
                        words.add_names(index + 1, code);
                    }
                }
            }
        }
        words
    }

    fn add_rust(&mut self, file: &File, source: &Source) {
        for (index, line) in source.code.lines().enumerate() {
            self.add_names(index + 1, line);
        }
        for comment in &source.comments {
            let first = source.line(comment.offset);
            for (index, line) in comment.text.lines().enumerate() {
                self.add_prose(first + index, line);
            }
        }
        if file.path.starts_with(SQL_IN_LITERALS) {
            for literal in &source.literals {
                let first = source.line(literal.offset);
                for (index, line) in literal.text.lines().enumerate() {
                    self.add_names(first + index, line);
                }
            }
        }
    }

    fn add_names(&mut self, line: usize, text: &str) {
        self.parts.extend(parts(text).map(|part| (line, part)));
    }

    fn add_prose(&mut self, line: usize, text: &str) {
        self.prose.extend(parts(text).map(|part| (line, part)));
    }

    /// The lines on which an entry is violated, each once.
    fn lines_with(&self, file: &File, entry: &Entry<'_>) -> BTreeSet<usize> {
        let is_it =
            |part: &str| part.strip_suffix('s').unwrap_or(part) == entry.word || part == entry.word;
        let matching = |words: &[(usize, String)]| -> Vec<usize> {
            words.iter().filter(|(_, part)| is_it(part)).map(|(line, _)| *line).collect()
        };
        match entry.scope {
            Scope::Word => matching(&self.parts).into_iter().chain(matching(&self.prose)).collect(),
            Scope::Part => matching(&self.parts).into_iter().collect(),
            Scope::Name => {
                let found = find_word(&file.text, entry.word).into_iter();
                found.map(|at| line_of(&file.text, at)).collect()
            }
            Scope::Definition(path) if file.path.starts_with(path) => {
                let Some(source) = &file.source else { return BTreeSet::new() };
                let found = source.find(entry.word).into_iter();
                let found = found.filter(|at| is_definition(&source.code, *at));
                found.map(|at| source.line(at)).collect()
            }
            Scope::Definition(_) => BTreeSet::new(),
        }
    }
}

/// The parts of all names in a text, in lower case: `nextSeatAt`, `next_seat_at` and `NEXT_SEAT`
/// have the part `seat`.
fn parts(text: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = Vec::new();
    let (mut part, mut was_lower) = (String::new(), false);
    for letter in text.chars() {
        let is_new_part = letter.is_uppercase() && was_lower;
        if (!letter.is_alphabetic() || is_new_part) && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        if letter.is_alphabetic() {
            part.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    parts.push(part);
    parts.into_iter().filter(|part| !part.is_empty())
}

fn is_definition(code: &str, at: usize) -> bool {
    let before = code.get(..at).unwrap_or_default().trim_end();
    let keyword = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
    keyword.is_some_and(|keyword| DEFINING.contains(&keyword))
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "# why\n\
        word | seat | node lease | docs/booking.md\n\
        part | kit | environment |\n\
        name | slotAt | scheduledAt |\n\
        definition crates/kernel | Ask | ConditionalWrite |\n";

    fn messages(path: &str, text: &str) -> Vec<String> {
        // The list has an exception, and an unused exception is a problem: this document uses it.
        let booking = ("docs/booking.md", "A seat is booked.");
        let repo = Repo::with_files(&[(LIST, WORDS), booking, (path, text)]);
        check(&repo).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_retired_word_is_found_in_every_spelling() {
        for text in [
            "fn next_seat() {}",
            "struct SeatRow;",
            "const SEATS: u8 = 1;",
            "let nextSeat = 1;",
            "// Takes a seat.\nfn f() {}",
            "//! Seats of nodes.",
        ] {
            let found = messages("crates/kernel/src/a.rs", text);
            assert_eq!(
                found,
                ["crates/kernel/src/a.rs:1: `seat` is retired: say node lease"],
                "{text}"
            );
        }
        assert_eq!(messages("crates/kernel/src/seat.rs", "fn f() {}").len(), 1);
        assert_eq!(messages("crates/store/src/a.sql", "\nSELECT seat FROM node").len(), 1);
        assert_eq!(messages("crates/store/src/a.rs", "const A: &str = \"FROM seat\";").len(), 1);
        assert_eq!(messages("README.md", "Each node has a seat.").len(), 1);
        assert_eq!(messages("docs/a.md", "```sql\nSELECT * FROM seat\n```\n").len(), 1);
    }

    #[test]
    fn data_and_longer_words_may_have_it() {
        assert_eq!(messages("crates/flow/tests/corpus/a.md", "throw Error(\"no seats\")"), [""; 0]);
        assert_eq!(messages("examples/booking.flow", "let seat = 1"), [""; 0]);
        assert_eq!(messages("crates/server/src/a.rs", "let a = \"a booked seat\";"), [""; 0]);
        assert_eq!(messages("crates/server/src/a.rs", "fn unseated() {}"), [""; 0]);
    }

    #[test]
    fn ordinary_words_are_retired_in_names_only() {
        assert_eq!(messages("docs/a.md", "A kit of tools."), [""; 0]);
        assert_eq!(messages("docs/a.md", "See `Kit::new`.").len(), 1);
        assert_eq!(messages("crates/kernel/src/a.rs", "// A kit of tools.\nstruct A;"), [""; 0]);
        assert_eq!(messages("crates/kernel/src/a.rs", "struct TurnKit;").len(), 1);
    }

    #[test]
    fn names_are_exact_and_definitions_are_per_crate() {
        assert_eq!(messages("crates/server/src/a.rs", "let a = \"slotAt\";").len(), 1);
        assert_eq!(messages("crates/server/src/a.rs", "let slot_at = 1;"), [""; 0]);
        assert_eq!(messages("crates/kernel/src/a.rs", "pub enum Ask {}").len(), 1);
        assert_eq!(messages("crates/kernel/src/a.rs", "fn f(a: Ask) {}"), [""; 0]);
        assert_eq!(messages("crates/server/src/a.rs", "pub enum Ask {}"), [""; 0]);
    }

    #[test]
    fn an_exception_that_is_not_needed_goes() {
        let repo = Repo::with_files(&[(LIST, WORDS), ("docs/booking.md", "A place is booked.")]);
        assert_eq!(check(&repo).len(), 1);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_a_problem() {
        for line in ["word | seat", "verb | take | fetch |", "name |  | x |"] {
            let repo = Repo::with_files(&[(LIST, line)]);
            assert_eq!(check(&repo).len(), 1, "{line}");
        }
    }
}
