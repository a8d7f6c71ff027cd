//! The glossary explains every word of a public name: schemas, members, parameters and values of
//! the HTTP API, types and causes of history events, metrics, settings, limits and flags.
//!
//! Types and causes of history events are text in the API, so they are read from the code, and the
//! reference of the API must list each of them.
//!
//! Ordinary words need no explanation: `xtask/plain_words.txt` lists them. So a new word in a
//! public name is a decision that somebody makes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Problem;
use super::repo::Repo;

const GLOSSARY: &str = "docs/reference/glossary.md";
const OPENAPI: &str = "docs/reference/openapi.json";
const PLAIN_WORDS: &str = "xtask/plain_words.txt";

/// Whether a code span is a public name.
type IsName = fn(&str) -> bool;

/// Documents with tables of public names.
const TABLES: &[(&str, IsName)] = &[
    ("docs/operate/metrics.md", |name| name.starts_with("meantime_")),
    ("docs/reference/configuration.md", is_setting),
    ("docs/reference/limits.md", is_setting),
    ("docs/reference/cli.md", |name| name.starts_with("--")),
];

/// The reference with the tables of history types and causes.
const HTTP_API: &str = "docs/reference/http-api.md";

/// A slice of a long computation leaves no event in the history.
const NOT_RECORDED: &str = "continue";

/// The files whose string literals name them, with the function to read.
const HISTORY: &[(&str, &[&str])] = &[
    ("crates/core/src/event.rs", &["name"]),
    (
        "crates/server/src/wire/history.rs",
        &["from_record", "incident_raised", "edited", "cancelled", "start_cause"],
    ),
];

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let Some(glossary) = repo.file(GLOSSARY) else { return Vec::new() };
    let explained = explained(&glossary.text);
    let plain = repo.file(PLAIN_WORDS).map_or("", |file| &file.text);
    let plain: BTreeSet<&str> = plain
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect();
    let (mut problems, mut used) = (Vec::new(), BTreeSet::new());
    for (name, location) in public_names(repo) {
        for word in words(&name) {
            let forms = forms(&word);
            if forms.iter().any(|form| explained.contains(form)) {
                continue;
            }
            match forms.iter().find_map(|form| plain.get(form.as_str())) {
                Some(word) => {
                    used.insert(*word);
                }
                None => problems.push(Problem::new(
                    &location,
                    format!(
                        "{GLOSSARY} does not explain `{word}` of `{name}`: explain it there, take a \
                         word that is explained, or add it to {PLAIN_WORDS} if everybody knows it"
                    ),
                )),
            }
        }
    }
    problems.extend(unlisted(repo));
    problems.extend(plain.difference(&used).map(|word| {
        Problem::new(PLAIN_WORDS, format!("no public name needs `{word}`: remove it"))
    }));
    problems
}

/// The words of the terms: what is bold, in italics or code in the tables of the glossary.
fn explained(glossary: &str) -> BTreeSet<String> {
    let rows = glossary.lines().filter(|line| line.starts_with('|'));
    let rows = rows.map(|row| row.replace("**", "*")).collect::<Vec<_>>();
    let terms = rows.iter().flat_map(|row| {
        let emphasised = row.split('*').skip(1).step_by(2);
        emphasised.chain(code_spans(row))
    });
    terms.flat_map(words).flat_map(|word| forms(&word)).collect()
}

/// Public names, with where they are.
fn public_names(repo: &Repo) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    if let Some(file) = repo.file(OPENAPI)
        && let Ok(api) = serde_json::from_str::<Value>(&file.text)
    {
        names_of_api(&api, &mut names);
    }
    for (path, is_name) in TABLES {
        let Some(file) = repo.file(path) else { continue };
        for (index, line) in file.text.lines().enumerate().filter(|(_, it)| it.starts_with('|')) {
            let first_cell = line.split('|').nth(1).unwrap_or_default();
            for span in code_spans(first_cell).flat_map(str::split_whitespace) {
                // The labels of a metric and the value of a flag are not part of its name.
                let name = span.trim_start_matches('[').split(['{', '=', ']']).next();
                let name = name.unwrap_or_default();
                if is_name(name) {
                    names.entry(name.to_owned()).or_insert(format!("{path}:{}", index + 1));
                }
            }
        }
    }
    for (name, location) in history_names(repo) {
        names.entry(name).or_insert(location);
    }
    names
}

/// Types and causes of history events, with where they are.
fn history_names(repo: &Repo) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (path, functions) in HISTORY {
        let file = repo.rust().find(|(file, _)| file.path == *path);
        let Some((file, source)) = file else { continue };
        for function in *functions {
            let Some(start) = source.code.find(&format!("fn {function}(")) else { continue };
            let body = source.code.get(start..).unwrap_or_default();
            let line = source.code.get(..start).unwrap_or_default().rsplit('\n').next();
            let is_method = line.is_some_and(|line| line.starts_with(' '));
            let closing = if is_method { "\n    }\n" } else { "\n}\n" };
            let range = start..start + body.find(closing).unwrap_or(body.len());
            for literal in source.literals.iter().filter(|it| range.contains(&it.offset)) {
                // A cause may go on with a name or an instant.
                let name = literal.text.split(' ').next().unwrap_or_default();
                if name == NOT_RECORDED {
                    continue;
                }
                let location = format!("{}:{}", file.path, source.line(literal.offset));
                names.entry(name.to_owned()).or_insert(location);
            }
        }
    }
    names
}

/// Types and causes that the reference of the API does not list.
fn unlisted(repo: &Repo) -> Vec<Problem> {
    let reference = repo.file(HTTP_API).map_or("", |file| &file.text);
    let rows = reference.lines().filter(|line| line.starts_with('|'));
    let listed: BTreeSet<&str> =
        rows.flat_map(|row| code_spans(row.split('|').nth(1).unwrap_or_default())).collect();
    let names = history_names(repo).into_iter();
    let missing = names.filter(|(name, _)| !listed.contains(name.as_str()));
    let problem = |(name, location): (String, String)| {
        Problem::new(location, format!("{HTTP_API} does not list `{name}` of the history: add it"))
    };
    missing.map(problem).collect()
}

/// Names of schemas, members, operations, parameters and values.
fn names_of_api(value: &Value, names: &mut BTreeMap<String, String>) {
    let mut add = |name: &str| {
        names.entry(name.to_owned()).or_insert(OPENAPI.to_owned());
    };
    match value {
        Value::Object(object) => {
            for key in ["schemas", "properties"] {
                let members = object.get(key).and_then(Value::as_object);
                members.into_iter().flat_map(|it| it.keys()).for_each(|name| add(name));
            }
            let values = object.get("enum").and_then(Value::as_array);
            values.into_iter().flatten().filter_map(Value::as_str).for_each(&mut add);
            if let Some(id) = object.get("operationId").and_then(Value::as_str) {
                add(id);
            }
            if let (Some(name), Some(_)) =
                (object.get("name").and_then(Value::as_str), object.get("in"))
            {
                add(name);
            }
            // Examples show data of users.
            let parts = object.iter().filter(|(key, _)| !key.starts_with("example"));
            parts.for_each(|(_, part)| names_of_api(part, names));
        }
        Value::Array(items) => items.iter().for_each(|item| names_of_api(item, names)),
        _ => {}
    }
}

fn is_setting(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '.')
}

fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words of a name in snake case, kebab case or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphabetic() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A word, and what it may be the plural or the past of.
fn forms(word: &str) -> Vec<String> {
    let mut forms = vec![word.to_owned()];
    for ending in ["s", "es", "d", "ed"] {
        forms.extend(word.strip_suffix(ending).map(str::to_owned));
    }
    for ending in ["ies", "ied"] {
        forms.extend(word.strip_suffix(ending).map(|word| format!("{word}y")));
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: &str =
        "| **timer** | a wait that can *end*. The JSON field is `dueAt` |\n**seat** | no row |\n";

    fn messages(plain: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![(GLOSSARY, TERMS), (PLAIN_WORDS, plain)];
        all.extend(files);
        check(&Repo::with_files(&all)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_of_explained_and_plain_words_are_fine() {
        let metrics = "| `meantime_timers_total{kind}` | all timers of `seat` |\n";
        let api = r#"{"paths": {"/t": {"operationId": "getTimers", "in": "x", "name": "max"}},
            "schemas": {"Timer": {"properties": {"dueAt": {}, "ended": {}}, "example": {"properties": {"seat": 1}}}}}"#;
        let files = [("docs/operate/metrics.md", metrics), (OPENAPI, api)];
        assert_eq!(messages("# Known.\nmeantime total\nget max\n", &files), [""; 0]);
    }

    #[test]
    fn unknown_words_are_found_where_they_are() {
        let cases = [
            ("docs/operate/metrics.md", "\n| `meantime_seats` | x |\n", 2),
            ("docs/reference/configuration.md", "| `max_seats`, `max_timers` | x |\n", 1),
            ("docs/reference/limits.md", "| `seats` | x |\n", 1),
            ("docs/reference/cli.md", "| `serve [--seat=NAME]` | x |\n", 1),
        ];
        for (path, text, line) in cases {
            let plain = if path.contains("metrics") { "meantime" } else { "" };
            let plain = if path.contains("configuration") { "max" } else { plain };
            let found = messages(plain, &[(path, text)]);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(&format!("{path}:{line}: ")), "{found:?}");
        }
        for api in [
            r#"{"schemas": {"Seat": {}}}"#,
            r#"{"properties": {"seat": {}}}"#,
            r#"{"operationId": "seat"}"#,
            r#"[{"name": "seat", "in": "query"}]"#,
        ] {
            assert_eq!(messages("", &[(OPENAPI, api)]).len(), 1, "{api}");
        }
    }

    #[test]
    fn plain_words_that_no_name_has_are_found() {
        assert_eq!(messages("total", &[]).len(), 1);
    }
    #[test]
    fn values_and_history_types_are_public_names() {
        assert_eq!(messages("", &[(OPENAPI, r#"{"enum": ["seat", null]}"#)]).len(), 1);
        let code = "impl A {\n    fn other() { \"seat\" }\n    pub fn name(&self) {\n        \"timer\"\n    }\n\
            \n    fn last() { \"seat\" }\n}\n";
        let file = ("crates/core/src/event.rs", code);
        assert_eq!(messages("", &[file, (HTTP_API, "| `timer` | x |\n")]), [""; 0]);
        let found = messages("", &[file, (HTTP_API, "A `timer`.\n")]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/core/src/event.rs:4: "), "{found:?}");
        let wire = "fn cancelled() {\n    \"seat left\"\n}\nfn x() { \"house\" }\n";
        let found = messages("", &[("crates/server/src/wire/history.rs", wire)]);
        assert_eq!(found.len(), 2, "neither explained nor listed: {found:?}");
    }
}
