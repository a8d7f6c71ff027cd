//! Regular expressions with nested quantifiers on long texts.

use serde_json::json;

use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;
use super::{journey, process};

/// Patterns for which a backtracking engine tries very many paths.
pub(super) const PATTERNS: &[&str] = &[
    "^(a+)+$",
    "^(a|aa)+$",
    "^(a|a)*$",
    "^(a*)*b$",
    "(a+a+)+b",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(.*)(.*)(.*)(.*)(.*)x",
    "^(a?){40}a{40}$",
    "((a{1,9}){1,9}){1,9}b",
];

/// Patterns with lookaround or backreferences.
const FANCY: &[&str] = &[r"^(?=(a+))\1*b", r"^(a+)\1+b", r"(?<!b)(a+)+(?=c)", r"^(?:(a)|\1a)*b"];

pub(super) fn draft(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let length = choice.magnitude(30, 400_000);
    let times = choice.magnitude(1, 1_000);
    let input = json!({ "text": format!("{}!", "a".repeat(length)) });
    if choice.between(0, 2) == 0 {
        let pattern = *choice.one_of(PATTERNS);
        let call = match choice.between(0, 2) {
            0 => format!("matches(text, \"{pattern}\")"),
            1 => format!("string length(replace(text, \"{pattern}\", \"x\")) = i"),
            _ => format!("count(split(text, \"{pattern}\")) = i"),
        };
        let expression = format!("count(for i in 1..{times} return {call})");
        let (text, words) = process::evaluating(choice, name, &expression);
        let title = format!("FEEL, {pattern} on {length} letters, {times} times, {words}");
        return PoisonDefinition { title, media_type: process::MEDIA_TYPE, text, input };
    }
    let pattern = if choice.coin_flip() { *choice.one_of(PATTERNS) } else { *choice.one_of(FANCY) };
    let call = match choice.between(0, 3) {
        0 => format!("context.text matches /{pattern}/"),
        1 => format!("sizeOf(context.text scan /{pattern}/)"),
        2 => format!("sizeOf(context.text replace /{pattern}/ with \"x\")"),
        _ => format!("sizeOf(context.text splitBy /{pattern}/)"),
    };
    let expression = format!("sizeOf((1 to {times}) map ((i) -> ({call})))");
    let (text, words) = journey::evaluating(choice, name, &expression);
    let title = format!("DataWeave, {pattern} on {length} letters, {times} times, {words}");
    PoisonDefinition { title, media_type: journey::MEDIA_TYPE, text, input }
}
