//! Every MUST of the decisions on deadlines (7), schedules (17) and timers (18) has a test that
//! names it. The statements are in `docs/internals/journey.md`.

#![expect(clippy::disallowed_methods, reason = "tests read their cases from files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_must_is_named_by_a_behaviour_or_a_diagnostic() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut named = BTreeSet::new();
    for directory in ["corpus", "diagnostics"] {
        for entry in fs::read_dir(tests.join(directory)).expect("the tests are there") {
            let text = fs::read_to_string(entry.expect("a file").path()).expect("a text");
            let rules = text.lines().filter_map(|line| line.strip_prefix("rules:"));
            named.extend(rules.flat_map(|it| it.split(',')).map(|it| it.trim().to_owned()));
        }
    }
    let page = tests.join("../../../docs/internals/journey.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let listed: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| M"))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(listed.len(), 21, "the page lists every MUST");
    let missing: Vec<&&str> =
        listed.iter().filter(|number| !named.contains(&format!("M{number}"))).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
}
