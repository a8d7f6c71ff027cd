//! The shorthand for journeys in scenarios.
//!
//! A first line `journey NAME` or `api NAME`, optionally with a version, replaces the header, and
//! the rest is `spec`. `mapper: = EXPR` and `predicate: = EXPR`, to the end of the line, replace an
//! expression in `DataWeave`. All other lines are unchanged.

/// The complete source of a journey.
pub(super) fn journey(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let words: Vec<&str> = first.split_whitespace().collect();
    let (kind, name, version) = match words[..] {
        ["journey", name] => ("Journey", name, "1.0.0"),
        ["journey", name, version] => ("Journey", name, version),
        ["api", name] => ("Api", name, "1.0.0"),
        _ => return expressions(text),
    };
    let metadata = format!("metadata: {{name: {name}, version: {version}}}");
    let spec: Vec<String> = rest.lines().map(|line| format!("  {line}")).collect();
    let header = format!("apiVersion: v1\nkind: {kind}\n{metadata}\nspec:\n");
    expressions(&format!("{header}{}\n", spec.join("\n")))
}

fn expressions(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let keys = ["mapper: = ", "predicate: = "];
        match keys.iter().find_map(|key| line.split_once(key).map(|it| (key, it))) {
            Some((key, (before, expression))) => {
                let (key, expression) = (&key[..key.len() - 2], expression.replace('\'', "''"));
                format!("{before}{key}{{lang: dataweave, expr: '{expression}'}}")
            }
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}
