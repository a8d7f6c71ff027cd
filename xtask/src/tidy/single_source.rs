//! I7: the clock is read in exactly one file, and random bits come from exactly one file.
//!
//! All other code gets both as inputs. This makes simulation and repeatable tests possible.
//! Developer commands and the comparison with other engines are not part of the engine.

use super::Problem;
use super::repo::Repo;
use super::source::{Source, find_word};

/// Directories of code that is not part of the engine.
const EXEMPT: &[&str] = &["xtask/", "bench/peers/"];

struct SingleSource {
    what: &'static str,
    home: &'static str,
    /// Looked for in code.
    code: &'static [&'static str],
    /// Looked for in string literals.
    literals: &'static [&'static str],
    instead: &'static str,
}

const SINGLE_SOURCES: &[SingleSource] = &[
    SingleSource {
        what: "the clock",
        home: "crates/kernel/src/clock.rs",
        code: &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now"],
        literals: &[],
        instead: "take `now` from `Cx` or from the injected clock",
    },
    SingleSource {
        what: "a random source",
        home: "crates/kernel/src/random.rs",
        code: &["rand::", "getrandom", "thread_rng", "RandomState", "fastrand"],
        literals: &["/dev/random", "/dev/urandom"],
        instead: "take it from the injected random source",
    },
];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for input in SINGLE_SOURCES {
        let mut is_read_at_home = false;
        let is_of_engine = |path: &str| !EXEMPT.iter().any(|prefix| path.starts_with(prefix));
        for (file, source) in repo.rust().filter(|(file, _)| is_of_engine(&file.path)) {
            for (at, token) in uses_of(input, source) {
                if file.path == input.home {
                    is_read_at_home = true;
                } else if !source.is_test(at) {
                    let message =
                        format!("`{token}` outside {} (I7): {}", input.home, input.instead);
                    problems.push(Problem::at(&file.path, source.line(at), message));
                }
            }
        }
        if !is_read_at_home {
            let message = format!(
                "{} is to be read here and nowhere else (I7); if that has moved, move it in \
                 xtask/src/tidy/single_source.rs too",
                input.what
            );
            problems.push(Problem::new(input.home, message));
        }
    }
    problems
}

fn uses_of(input: &SingleSource, source: &Source) -> Vec<(usize, &'static str)> {
    let mut uses_of = Vec::new();
    for token in input.code {
        uses_of.extend(source.find(token).into_iter().map(|at| (at, *token)));
    }
    for token in input.literals {
        for literal in &source.literals {
            let found = find_word(&literal.text, token).into_iter();
            uses_of.extend(found.map(|at| (literal.offset + at, *token)));
        }
    }
    uses_of
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: (&str, &str) =
        ("crates/kernel/src/clock.rs", "fn now() { std::time::SystemTime::now() }");
    const RANDOM: (&str, &str) =
        ("crates/kernel/src/random.rs", "fn fill() { File::open(\"/dev/urandom\") }");

    fn with(path: &str, text: &str) -> Vec<Problem> {
        check(&Repo::with_files(&[CLOCK, RANDOM, (path, text)]))
    }

    #[test]
    fn both_homes_and_nothing_else_is_fine() {
        assert_eq!(with("crates/core/src/a.rs", "// SystemTime::now\nfn now() {}"), []);
    }

    #[test]
    fn a_second_reader_is_found() {
        let clock = with("crates/core/src/a.rs", "\nlet t = jiff::Timestamp::now();");
        assert_eq!(clock[0].location, "crates/core/src/a.rs:2");
        assert_eq!(with("crates/sim/src/a.rs", "let t = Instant::now();").len(), 1);
        assert_eq!(with("crates/store/src/a.rs", "let r = rand::random();").len(), 1);
        assert_eq!(with("crates/store/src/a.rs", "open(\"/dev/urandom\")").len(), 1);
    }

    #[test]
    fn tests_and_developer_commands_are_exempt() {
        let text = "#[cfg(test)]\nmod tests { fn a() { Instant::now(); } }";
        assert_eq!(with("crates/core/src/a.rs", text), []);
        assert_eq!(with("crates/core/tests/a.rs", "fn a() { Instant::now(); }"), []);
        assert_eq!(with("xtask/src/step.rs", "fn a() { Instant::now(); }"), []);
        assert_eq!(with("bench/peers/src/callers.rs", "fn a() { Instant::now(); }"), []);
    }

    #[test]
    fn a_home_that_reads_nothing_is_wrong_too() {
        assert_eq!(check(&Repo::with_files(&[CLOCK])).len(), 1);
        assert_eq!(check(&Repo::with_files(&[RANDOM])).len(), 1);
    }
}
