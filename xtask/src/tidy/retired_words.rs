//! Words that the project has retired do not come back, neither in names nor in documents.
//!
//! `xtask/retired_words.txt` lists them, with the replacement and the files where a word may stay.
//! Checked are Rust, SQL, the SDKs, documents in every directory, and the list of mutants. In Rust
//! that includes string literals outside tests, because help texts and messages are written for
//! people. Data of examples and corpora may have an exception: a definition may still book a seat.

use std::collections::BTreeSet;

use super::Problem;
use super::repo::{File, Repo};
use super::source::{Source, find_word};

const LIST: &str = "xtask/retired_words.txt";

/// The only document that may name what was renamed.
const CHANGELOG: &str = "CHANGELOG.md";

/// Names of rules and tests, and lines of code.
const MUTANTS: &str = "xtask/mutants.txt";

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
    /// Several words of a sentence, in this order.
    Phrase,
    /// Exactly this identifier, in files whose path starts with this prefix.
    Identifier(&'a str),
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
                    None if scope == "phrase" => Some(Scope::Phrase),
                    Some(("identifier", path)) => Some(Scope::Identifier(path.trim())),
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
                let message = "write `word|part|name|phrase|identifier PATH|definition PATH | old | \
                               instead | paths`";
                problems.push(Problem::at(LIST, line, message));
            }
        }
    }
    (entries, problems)
}

/// Definitions, models and data of tests and examples are not checked, and neither is this file,
/// whose tests contain the words.
fn is_checked(path: &str) -> bool {
    let is_sdk = path.starts_with("sdks/");
    match path.rsplit_once('.').map(|(_, kind)| kind) {
        Some("md") => path != CHANGELOG,
        Some("rs") => path != "xtask/src/tidy/retired_words.rs",
        Some("sql") => true,
        Some("py" | "ts" | "mjs") => is_sdk || path.starts_with("examples/"),
        _ => path == MUTANTS,
    }
}

/// The words of a file, with the lines on which they stand.
struct FileWords {
    /// Parts of names in code, SQL, inline code and the path, in lower case.
    parts: Vec<(usize, String)>,
    /// The words of sentences in comments, documents and messages.
    prose: Vec<(usize, String)>,
}

impl FileWords {
    fn of(file: &File) -> Self {
        let mut words = Self { parts: Vec::new(), prose: Vec::new() };
        words.add_names(1, &file.path);
        match &file.source {
            Some(source) => words.add_rust(file, source),
            None if file.is_kind("md") => {
                // The sources and traces of tests are data.
                let has_data = file.path.contains("/tests/") || file.path.contains("/scenarios/");
                let mut is_block = false;
                for (index, line) in file.text.lines().enumerate() {
                    is_block ^= line.trim_start().starts_with("```");
                    if is_block && has_data {
                        continue;
                    }
                    words.add_prose(index + 1, line);
                    for code in line.split('`').skip(1).step_by(2) {
                        words.add_names(index + 1, code);
                    }
                }
            }
            None => {
                for (index, line) in file.text.lines().enumerate() {
                    words.add_names(index + 1, line);
                    words.add_prose(index + 1, line);
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
        let is_sql = file.path.starts_with(SQL_IN_LITERALS);
        for literal in source.literals.iter().filter(|it| !source.is_test(it.offset)) {
            let first = source.line(literal.offset);
            for (index, line) in literal.text.lines().enumerate() {
                self.add_prose(first + index, line);
                if is_sql {
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
            Scope::Phrase => self.lines_with_phrase(entry.word),
            Scope::Identifier(path) => {
                let code = file.source.as_ref().filter(|_| file.path.starts_with(path));
                let found = code.map(|source| source.find(entry.word)).unwrap_or_default();
                found.into_iter().map(|at| line_of(&file.text, at)).collect()
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

impl FileWords {
    /// The lines on which a phrase begins; it may go on in the next line.
    fn lines_with_phrase(&self, phrase: &str) -> BTreeSet<usize> {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        let windows = self.prose.windows(phrase.len());
        let is_it = |window: &&[(usize, String)]| {
            let lines = (window.first().map(|it| it.0), window.last().map(|it| it.0));
            let (Some(first), Some(last)) = lines else { return false };
            let is_near = (first..=first + 1).contains(&last);
            is_near && window.iter().map(|(_, word)| word.as_str()).eq(phrase.iter().copied())
        };
        windows.filter(is_it).filter_map(|window| Some(window.first()?.0)).collect()
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
        phrase | under way | in flight |\n\
        identifier crates/kernel | bound | request_bindings |\n\
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
        assert_eq!(messages("examples/booking.flow", "let seat = 1"), [""; 0]);
        let behaviour = |title: &str| format!("# {title}\n\n```flow\nthrow \"no seats\"\n```\n");
        let path = "crates/flow/tests/corpus/a.md";
        assert_eq!(messages(path, &behaviour("Booked")), [""; 0]);
        assert_eq!(messages(path, &behaviour("No seats")).len(), 1, "titles are ours");
        let test = "#[cfg(test)]\nmod tests {\n    const A: &str = \"a booked seat\";\n}\n";
        assert_eq!(messages("crates/server/src/a.rs", test), [""; 0]);
        assert_eq!(messages("crates/server/tests/a.rs", "const A: &str = \"seat\";"), [""; 0]);
        assert_eq!(messages("CHANGELOG.md", "`seat` is `node`"), [""; 0]);
        assert_eq!(messages("crates/server/src/a.rs", "fn unseated() {}"), [""; 0]);
    }

    #[test]
    fn messages_sdks_mutants_and_documents_everywhere_are_checked() {
        for (path, text) in [
            ("crates/cli/src/a.rs", "const HELP: &str = \"Take a seat\";"),
            ("sdks/python/src/meantime/task.py", "def seat(self):"),
            ("sdks/typescript/src/a.ts", "// a seat"),
            ("sdks/python/README.md", "a seat"),
            ("examples/bpmn/workers.py", "seat = 1"),
            ("SECURITY.md", "a seat"),
            ("crates/sim/scenarios/README.md", "a seat"),
            (MUTANTS, "mutant: seat-is-lost"),
        ] {
            assert_eq!(messages(path, text).len(), 1, "{path}");
        }
    }

    #[test]
    fn phrases_are_found_across_lines_and_identifiers_in_code_only() {
        assert_eq!(messages("docs/a.md", "Two are under way.").len(), 1);
        assert_eq!(messages("docs/a.md", "Two are under\nway.").len(), 1);
        assert_eq!(messages("docs/a.md", "Under the way."), [""; 0]);
        assert_eq!(messages("docs/a.md", "under\n\n\nway"), [""; 0]);
        assert_eq!(messages("crates/kernel/src/a.rs", "let bound = 1;").len(), 1);
        assert_eq!(messages("crates/kernel/src/a.rs", "let rebound = 1;\n// bound"), [""; 0]);
        assert_eq!(messages("crates/feel/src/a.rs", "let bound = 1;"), [""; 0]);
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
