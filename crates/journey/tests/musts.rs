//! Every requirement has a test that names it: every statement of the decisions on deadlines (7),
//! schedules (17) and timers (18), listed in `docs/internals/journey.md`, and every rule for
//! definitions.

#![expect(clippy::disallowed_methods, reason = "tests read their cases from files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_statement_is_named_by_a_behaviour_or_a_diagnostic() {
    let named = named();
    let page = tests().join("../../../docs/internals/journey.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let listed: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| M") || line.starts_with("| A"))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    let musts = listed.iter().filter(|number| number.starts_with('M')).count();
    assert_eq!((musts, listed.len()), (21, 58), "the page lists every statement");
    let missing: Vec<&&str> = listed.iter().filter(|number| !named.contains(**number)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
}

/// Rules that apply at run time are named by behaviours; all others by a diagnostic with its
/// position.
#[test]
fn every_rule_for_definitions_is_shown_and_every_problem_says_what_to_do() {
    let mut shown = named();
    for path in files("diagnostics") {
        let text = fs::read_to_string(&path).expect("a text");
        let mut lines = text.lines().skip_while(|line| *line != "```diagnostics").peekable();
        while let Some(line) = lines.next() {
            let mut words = line.split(' ');
            let (code, severity) = (words.next().unwrap_or_default(), words.next());
            if !matches!(severity, Some("error" | "warning")) {
                continue;
            }
            shown.insert(code.to_owned());
            let has_help = lines.peek().is_some_and(|next| next.starts_with("    help: "));
            assert!(has_help, "{}: {line}", path.display());
        }
    }
    let rules = (1..=61).map(|number| format!("J{number:03}"));
    let missing: Vec<String> = rules.filter(|rule| !shown.contains(rule)).collect();
    assert!(missing.is_empty(), "nothing shows {missing:?}");
}

/// The numbers in all lines `rules:`.
fn named() -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for path in files("corpus").into_iter().chain(files("diagnostics")) {
        let text = fs::read_to_string(path).expect("a text");
        let rules = text.lines().filter_map(|line| line.strip_prefix("rules:"));
        named.extend(rules.flat_map(|it| it.split(',')).map(|it| it.trim().to_owned()));
    }
    named
}

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(tests().join(directory)).expect("the tests are there");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}
