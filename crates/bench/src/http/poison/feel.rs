//! FEEL loops within loops.

use serde_json::json;

use super::process;
use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;

pub(super) fn draft(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let n = choice.magnitude(100, 4_000);
    let expression = match choice.between(0, 8) {
        0 => format!("sum(for i in 1..{n}, j in 1..{n} return i * j)"),
        1 => format!("some i in 1..{n}, j in 1..{n} satisfies i + j = 0"),
        2 => format!("every i in 1..{n} satisfies every j in 1..{n} satisfies i + j > 0"),
        3 => {
            let list = format!("for i in 1..{n} return modulo(i * 7919, {n})");
            format!("count(sort({list}, function(a, b) a < b))")
        }
        4 => format!("count(distinct values(for i in 1..{n} return modulo(i * 31, {n})))"),
        5 => format!("string length(string join(for i in 1..{} return string(i), \",\"))", n * 20),
        6 => format!("count(for i in 1..{n} return if i = 1 then 1 else sum(partial))"),
        7 => format!("count(for i in 1..{n} return (for j in 1..{n} return j)[item > i])"),
        _ => format!("string length(string(product(for i in 1..{n} return i ** 9)))"),
    };
    let (text, words) = process::evaluating(choice, name, &expression);
    let title = format!("{expression}, {words}");
    PoisonDefinition { title, media_type: process::MEDIA_TYPE, text, input: json!({}) }
}
