//! Nothing is left undone without an issue, no test is switched off, and no test sleeps.

use super::Problem;
use super::repo::{File, Repo};
use super::source::{Source, find_word};

const COMMENT_MARKERS: &[&str] = &["TODO", "FIXME"];
const UNFINISHED_MACROS: &[&str] = &["todo!", "unimplemented!"];
const SLEEP_CALLS: &[&str] = &["thread::sleep", "time::sleep", "time::sleep_until"];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &repo.files {
        if let Some(source) = &file.source {
            rust(file, source, &mut problems);
        } else if ["md", "sql", "toml", "yaml", "yml", "py", "ts", "svelte", "sh"]
            .iter()
            .any(|extension| file.is_kind(extension))
        {
            comment(&file.path, 1, &file.text, &mut problems);
        }
    }
    problems
}

fn rust(file: &File, source: &Source, problems: &mut Vec<Problem>) {
    for span in &source.comments {
        comment(&file.path, source.line(span.offset), &span.text, problems);
    }
    let mut found = |tokens: &[&str], tests_only: bool, instead: &str| {
        for token in tokens {
            for at in source.find(token) {
                if !tests_only || source.is_test(at) {
                    let message = format!("`{token}`: {instead}");
                    problems.push(Problem::at(&file.path, source.line(at), message));
                }
            }
        }
    };
    found(
        UNFINISHED_MACROS,
        false,
        "finish it, or refuse the case with an error that has a code (I9)",
    );
    found(
        &["#[ignore"],
        false,
        "repair the test or delete it; a slow one belongs to the `slow` profile of nextest",
    );
    // Benches measure real time, so they may sleep.
    if file.path.split('/').any(|part| part == "benches") {
        return;
    }
    found(
        SLEEP_CALLS,
        true,
        "a test waits for an event or moves the simulated clock, it never sleeps",
    );
}

/// A marker with an issue id, `TODO(#12)`, is allowed; so is one in backquotes, which is a
/// quotation.
fn comment(path: &str, first_line: usize, text: &str, problems: &mut Vec<Problem>) {
    for (number, line) in text.lines().enumerate() {
        for marker in COMMENT_MARKERS {
            for at in find_word(line, marker) {
                let (before, after) = line.split_at(at);
                let is_quoted = before.matches('`').count() % 2 == 1;
                let rest = after.strip_prefix(marker).unwrap_or_default();
                if !is_quoted && !has_issue(rest) {
                    let message = format!(
                        "`{marker}` without an issue: do it now, or write it as `{marker}(#12)`"
                    );
                    problems.push(Problem::at(path, first_line + number, message));
                }
            }
        }
    }
}

fn has_issue(rest: &str) -> bool {
    rest.strip_prefix("(#").is_some_and(|id| id.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Repo::with_files(&[(path, text)])).len()
    }

    #[test]
    fn a_marker_needs_an_issue() {
        assert_eq!(count("crates/core/src/a.rs", "// TODO: later"), 1);
        assert_eq!(count("docs/a.md", "one\n\nFIXME later"), 1);
        assert_eq!(count("crates/core/src/a.rs", "// TODO(#12): later"), 0);
        assert_eq!(count("docs/a.md", "a `TODO` needs an issue"), 0);
        assert_eq!(count("crates/core/src/a.rs", "let a = \"TODO\";"), 0);
    }

    #[test]
    fn unfinished_code_is_found() {
        assert_eq!(count("crates/core/src/a.rs", "fn a() { todo!() }"), 1);
        assert_eq!(count("crates/core/src/a.rs", "fn a() { unimplemented!(\"x\") }"), 1);
    }

    #[test]
    fn a_test_is_never_switched_off() {
        assert_eq!(count("crates/core/tests/a.rs", "#[test]\n#[ignore]\nfn a() {}"), 1);
        assert_eq!(count("crates/core/tests/a.rs", "#[test]\n#[ignore = \"x\"]\nfn a() {}"), 1);
    }

    #[test]
    fn a_test_never_sleeps() {
        assert_eq!(count("crates/core/tests/a.rs", "fn a() { std::thread::sleep(d) }"), 1);
        assert_eq!(count("crates/core/tests/a.rs", "fn a() { tokio::time::sleep(d).await }"), 1);
        assert_eq!(count("crates/kernel/src/driver.rs", "fn a() { tokio::time::sleep(d) }"), 0);
    }
}
