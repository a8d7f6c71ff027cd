//! `DataWeave` mappers that loop, sort, recurse and join.

use serde_json::json;

use super::journey;
use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;

pub(super) fn draft(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let (title, expression) = expression(choice);
    let (text, words) = journey::evaluating(choice, name, &expression);
    PoisonDefinition {
        title: format!("{title}, {words}"),
        media_type: journey::MEDIA_TYPE,
        text,
        input: json!({}),
    }
}

/// A costly expression whose result is a number, and how the title says it.
pub(super) fn expression(choice: &mut SeededChoice) -> (String, String) {
    match choice.between(0, 4) {
        0 => recursion(choice),
        1 => texts(choice),
        2 => digits(choice),
        _ => loops(choice),
    }
}

/// Nested loops, each level with a shape of its own.
fn loops(choice: &mut SeededChoice) -> (String, String) {
    let depth = choice.between(1, 4);
    let (mut expression, mut title) = ("1".to_owned(), Vec::new());
    let mut steps = choice.magnitude(200_000, 50_000_000);
    for level in 0..depth {
        let count = if level + 1 == depth { steps } else { choice.magnitude(3, 400) };
        let count = count.clamp(2, 1_000_000);
        steps /= count.max(1);
        let (word, looped) = one_loop(choice, level, count, &expression);
        expression = looped;
        title.insert(0, format!("{word} {count}"));
    }
    (title.join(" of "), expression)
}

/// A loop whose result is a number, around an inner expression.
fn one_loop(
    choice: &mut SeededChoice,
    level: usize,
    n: usize,
    inner: &str,
) -> (&'static str, String) {
    let i = format!("i{level}");
    match choice.between(0, 6) {
        0 => ("map", format!("sum((1 to {n}) map (({i}) -> {i} + {inner}))")),
        1 => {
            ("filter", format!("sizeOf((1 to {n}) filter (({i}) -> (({i} + {inner}) mod 2) == 0))"))
        }
        2 => ("orderBy", format!("((1 to {n}) orderBy (({i}) -> -({i} + {inner})))[0]")),
        3 => ("reduce", format!("((1 to {n}) reduce (({i}, a{level} = 0) -> a{level} + {inner}))")),
        4 => (
            "distinctBy",
            format!("sizeOf((1 to {n}) distinctBy (({i}) -> ({i} + {inner}) mod 1009))"),
        ),
        5 => ("groupBy", format!("sizeOf((1 to {n}) groupBy (({i}) -> ({i} + {inner}) mod 13))")),
        _ => ("flatten", format!("sizeOf(flatten((1 to {n}) map (({i}) -> [{i}, {inner}])))")),
    }
}

/// A function that calls itself twice.
fn recursion(choice: &mut SeededChoice) -> (String, String) {
    let n = choice.between(18, 40);
    let function = "fun f(n) = if (n < 2) n else f(n - 1) + f(n - 2)";
    (format!("recursion, {n} levels"), format!("%dw 2.0\n{function}\n---\nf({n})"))
}

/// Texts that grow, are split and joined.
fn texts(choice: &mut SeededChoice) -> (String, String) {
    let n = choice.magnitude(1_000, 100_000);
    match choice.between(0, 2) {
        0 => {
            let grown = "reduce ((i, a = \"\") -> a ++ \"some text \")";
            (format!("a text that grows {n} times"), format!("sizeOf((1 to {n}) {grown})"))
        }
        1 => {
            let joined = format!("((1 to {n}) map (\"item\" ++ $)) joinBy \",\"");
            (format!("{n} texts joined and cut"), format!("sizeOf(({joined}) splitBy \",\")"))
        }
        _ => {
            let found = format!("filter ((i) -> (1 to {n}) contains -i)");
            (format!("{n} looked for among {n}"), format!("sizeOf((1 to {n}) {found})"))
        }
    }
}

/// Numbers with very many digits.
fn digits(choice: &mut SeededChoice) -> (String, String) {
    let (n, base) = (choice.magnitude(100, 20_000), choice.between(2, 999_999));
    let expression = format!("(1 to {n}) reduce ((i, a = 1) -> a * {base})");
    (format!("{base} to the power of {n}"), expression)
}
