//! Both engines: what they match, that they agree, and that neither exceeds its budget.

use proptest::prelude::*;

use super::backtrack::BacktrackingMatcher;
use super::expression::{MatchTooCostly, Pattern, PatternMatch};
use super::linear::LinearMatcher;

/// More operations than any of these matches needs.
const OPS: u64 = 1_000_000;

fn ops() -> u64 {
    OPS
}

fn is_match(pattern: &str, text: &str) -> bool {
    Pattern::new(pattern).unwrap().is_match(text, &mut ops()).unwrap()
}

fn spans(pattern: &str, text: &str) -> Vec<(usize, usize)> {
    let found = Pattern::new(pattern).unwrap();
    let found = found.matches(text, &mut ops()).unwrap();
    found.iter().map(PatternMatch::span).collect()
}

#[test]
fn java_dialect() {
    assert!(!is_match(r"\d", "१"), "digits are ASCII");
    assert!(is_match(r"^[\w.]+$", "a_1.b"));
    assert!(is_match(r"\Qa.c\E", "xa.cx"));
    assert!(!is_match(r"\Qa.c\E", "abc"));
    assert!(is_match(r"^\p{Alpha}+\p{Punct}$", "abc!"));
    assert!(is_match(r"[^\p{L}]", "1"));
    assert!(is_match(r"a\/b", "a/b"));
    assert!(is_match("[.](?=b)", "a.b"));
    assert!(is_match("[[a-z]&&[^b]]", "a"));
}

#[test]
fn the_whole_text_must_match() {
    let pattern = Pattern::new("a|ab").unwrap();
    let whole = |text| pattern.match_whole(text, &mut ops()).unwrap().is_some();
    assert!(whole("ab"));
    assert!(!whole("abc"));
    assert!(!whole("ab\n"));
    assert!(Pattern::new("(").is_err());
}

#[test]
fn look_around_and_references() {
    assert!(is_match(r"^(?=.*[A-Z])(?=.*\d).{4,}$", "abC1"));
    assert!(!is_match(r"^(?=.*[A-Z])(?=.*\d).{4,}$", "abc1"));
    assert_eq!(spans(r"(\w)\1", "aabbc"), [(0, 2), (2, 4)]);
    assert_eq!(spans(r"(?<=€)\d+", "€12 13 €4"), [(3, 5), (12, 13)]);
    assert_eq!(spans(r"(?<!a)b", "ab bb"), [(3, 4), (4, 5)]);
    assert_eq!(spans(r"(?!b)\w", "abc"), [(0, 1), (2, 3)]);
    assert_eq!(spans(r"(?>a*)ab", "aaab"), []);
    assert_eq!(spans(r"(?i)(a)\1", "aA"), [(0, 2)]);
    assert_eq!(spans(r"(?=(a+))a*b\1", "baaabac"), [(3, 6)]);
    assert_eq!(spans(r"(?:(?=a)|b)*?c", "bbc"), [(0, 3)]);
}

#[test]
fn empty_matches_advance() {
    assert_eq!(spans("x*", "axb"), [(0, 0), (1, 2), (3, 3)]);
    assert_eq!(spans("", "é"), [(0, 0), (2, 2)]);
    assert_eq!(spans("(?=b)", "abb"), [(1, 1), (2, 2)]);
}

/// Each of these needs more operations than it has, and fails with that error.
#[test]
fn no_pattern_outruns_its_operations() {
    let text = "a".repeat(100_000);
    for pattern in [
        r"^(?:(a|aa)+)\1b$",
        r"(?=(a*)*b)",
        r"(a*)*\1b",
        r"(?<=(a+)+b)c",
        r"(?:.*[^a]|a)(?!a)b",
        // One search is linear, but each of the hundred thousand searches reads all the rest.
        r"a*[^a]|a",
        r"[a-z]{500}$|a",
        r"(?:ax?){3000}z",
    ] {
        let pattern = Pattern::new(pattern).unwrap();
        let mut ops = OPS;
        assert_eq!(
            pattern.matches(&text, &mut ops).err(),
            Some(MatchTooCostly),
            "{}",
            pattern.source()
        );
        assert_eq!(ops, 0);
    }
}

#[test]
fn large_patterns_are_refused() {
    for pattern in [r"(?:(?:a{1000}){1000}){1000}", r"(?=(?:a{900}){900})b"] {
        assert!(Pattern::new(pattern).is_err(), "{pattern}");
    }
    assert!(Pattern::new(&"a".repeat(100_000)).is_err());
    assert!(Pattern::new(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))).is_err());
}

/// Expressions that both engines can match.
fn simple() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("é".to_owned()),
        Just(".".to_owned()),
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just("\\b".to_owned()),
        Just("^".to_owned()),
        Just("$".to_owned()),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|all| all.concat()),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|all| format!("({})", all.join("|"))),
            (inner.clone(), prop::sample::select(vec!["?", "{1,3}", "{2}", "??"]))
                .prop_map(|(it, count)| format!("(?:{it}){count}")),
            // For loops over empty matches, engines differ in which groups they set.
            prop::sample::select(vec!["a*", "[ab]+", ".*?", "b+?"]).prop_map(str::to_owned),
        ]
    })
}

proptest! {
    #[test]
    fn both_engines_find_the_same(pattern in simple(), text in "[abé\n ]{0,12}") {
        let linear = LinearMatcher::new(&pattern).unwrap().unwrap();
        let hard = BacktrackingMatcher::new(&pattern).unwrap();
        let mut scan = linear.scan();
        for from in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            prop_assert_eq!(
                linear.find(&mut scan, &text, from, &mut ops()).unwrap(),
                hard.find(&text, from, &mut ops()).unwrap()
            );
        }
        prop_assert_eq!(
            linear.match_whole(&text, &mut ops()).unwrap(),
            hard.match_whole(&text, &mut ops()).unwrap()
        );
    }
}
