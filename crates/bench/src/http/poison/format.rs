//! Formats of numbers and dates with very long patterns.

use serde_json::json;

use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;
use super::{journey, script};

pub(super) fn draft(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let times = choice.magnitude(1, 2_000);
    if choice.between(0, 3) == 0 {
        return in_script(choice, times);
    }
    let (head, part, tail, value) = *choice.one_of(&[
        ("", "0", "", "12345.678"),
        ("", "#", "", "12345.678"),
        ("#,##0.", "0", "", "12345.678"),
        ("0.", "#", "", "1 / 3"),
        ("#,", "0", ".00", "12345.678"),
        ("", "0", "E0", "12345.678"),
        ("", "yyyy-MM-dd'T'HH:mm:ss.SSS", "", "now()"),
        ("", "EEEE MMMM ", "", "now()"),
        ("", "'text' ", "", "now()"),
        ("", "HHmmss", "", "now()"),
        ("", "zzzz VV xxx ", "", "now()"),
    ]);
    let length = choice.magnitude(200, 65_536);
    let format = format!("{head}{}{tail}", part.repeat(length / part.len() + 1));
    let call = match choice.between(0, 2) {
        0 if value != "now()" => format!("(\"1\" as Number {{format: \"{format}\"}}) default 0"),
        _ => format!("sizeOf(({value}) as String {{format: \"{format}\"}})"),
    };
    let expression = format!("sum((1 to {times}) map ((i) -> ({call})))");
    let (text, words) = journey::evaluating(choice, name, &expression);
    let length = format.len();
    PoisonDefinition {
        title: format!(
            "DataWeave, {head}{part}…{tail} in {length} letters, {times} times, {words}"
        ),
        media_type: journey::MEDIA_TYPE,
        text,
        input: json!({}),
    }
}

fn in_script(choice: &mut SeededChoice, times: usize) -> PoisonDefinition {
    let length = choice.magnitude(200, 100_000);
    let call = match choice.between(0, 3) {
        0 => format!("Time.format(Time.now(), \"yyyy-MM-dd \".repeat({}))", length / 11),
        1 => format!("Time.format(Time.now(), \"HH:mm \".repeat({}), \"Asia/Tokyo\")", length / 6),
        2 => format!("\"x\".padStart({length}, \"ab\")"),
        _ => format!("(String(i) + (i / 3).toFixed(20)).padEnd({length})"),
    };
    let (begin, words) = script::beginning(choice);
    let body = format!("for (let i = 0; i < {times}; i++) {{ size = size + {call}.length }}");
    PoisonDefinition {
        title: format!("flow, {call} {times} times, {words}"),
        media_type: script::MEDIA_TYPE,
        text: format!("{begin}let size = 0\n{body}\nreturn size\n"),
        input: json!({}),
    }
}
