//! JSON schemas with many paths, many items or costly patterns.

use serde_json::{Map, Value, json};

use super::journey;
use super::regex::PATTERNS;
use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;

/// A schema with the document for which it costs most.
struct Shape {
    title: String,
    definitions: Map<String, Value>,
    schema: Value,
    data: Value,
}

/// A journey that validates a document at its start or at its end.
pub(super) fn draft(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let shape = match choice.between(0, 5) {
        0 => paths(choice),
        1 => nested(choice),
        2 => recursive(choice),
        3 => unique(choice),
        4 => pattern(choice),
        _ => items(choice),
    };
    let Shape { title, definitions, schema, data } = shape;
    let schema =
        json!({ "$defs": definitions, "type": "object", "properties": { "data": schema } });
    // Only what is checked at the end can come after a sleep.
    let section = *choice.one_of(&["input", "output", "context"]);
    let (sleeps, words) = if section == "input" { (false, "") } else { journey::sleeping(choice) };
    let mut spec = Map::new();
    spec.insert(section.to_owned(), json!({ "schema": schema }));
    PoisonDefinition {
        title: format!("{title}, of the {section} {words}").trim_end().to_owned(),
        media_type: journey::MEDIA_TYPE,
        text: journey::ending(name, sleeps, spec),
        input: json!({ "data": data }),
    }
}

fn reference(number: usize) -> Value {
    json!({ "$ref": format!("#/$defs/a{number}") })
}

/// Each level refers to the next one several times: the number of paths is width to the power of
/// depth.
fn levels(
    choice: &mut SeededChoice,
    depth: usize,
    width: usize,
) -> (Map<String, Value>, &'static str) {
    let (word, leaf) = *choice.one_of(&[
        ("anyOf", r#"{"const":"never"}"#),
        ("oneOf", r#"{"const":"never"}"#),
        ("allOf", r#"{"type":["string","integer"]}"#),
    ]);
    let mut definitions = Map::new();
    for level in 0..depth {
        let next = vec![reference(level + 1); width];
        definitions.insert(format!("a{level}"), json!({ word: next }));
    }
    let leaf = serde_json::from_str(leaf).unwrap_or_default();
    definitions.insert(format!("a{depth}"), leaf);
    (definitions, word)
}

fn paths(choice: &mut SeededChoice) -> Shape {
    let (depth, width) = (choice.between(10, 45), choice.between(2, 3));
    let (definitions, word) = levels(choice, depth, width);
    let title = format!("{word} of {width}, {depth} levels of references");
    Shape { title, definitions, schema: reference(0), data: json!("x") }
}

/// Like [`levels`] without references: the text itself grows.
fn nested(choice: &mut SeededChoice) -> Shape {
    let (depth, word) = (choice.between(5, 10), *choice.one_of(&["anyOf", "oneOf"]));
    let mut schema = json!({ "const": "never" });
    for _ in 0..depth {
        schema = json!({ word: [schema, schema] });
    }
    let count = choice.magnitude(100, 5_000);
    let data = (0..count).collect::<Vec<_>>();
    let title = format!("{count} items, {word} within {word}, {depth} levels");
    let schema = json!({ "type": "array", "contains": schema });
    Shape { title, definitions: Map::new(), schema, data: json!(data) }
}

/// A schema that refers to itself twice, with a document that is equally deep.
fn recursive(choice: &mut SeededChoice) -> Shape {
    let (depth, word) = (choice.between(10, 60), *choice.one_of(&["anyOf", "oneOf", "allOf"]));
    let deeper = json!({ "properties": { "n": reference(0) }, "not": { "required": ["leaf"] } });
    let mut definitions = Map::new();
    definitions.insert("a0".to_owned(), json!({ word: [deeper, deeper] }));
    let mut data = json!({ "leaf": 1 });
    for _ in 0..depth {
        data = json!({ "n": data });
    }
    let title = format!("{word} of itself twice, a document of {depth} levels");
    Shape { title, definitions, schema: reference(0), data }
}

/// Items that differ only in their last part.
fn unique(choice: &mut SeededChoice) -> Shape {
    let (count, width) = (choice.magnitude(1_000, 5_000), choice.between(1, 8));
    let item = |number: usize| {
        let same = (0..width).map(|_| json!({ "same": "for all" }));
        same.chain([json!(number)]).collect::<Vec<_>>()
    };
    let data: Vec<_> = (0..count).map(item).collect();
    let title = format!("{count} unique items of {} parts", width + 1);
    let schema = json!({ "type": "array", "uniqueItems": true });
    Shape { title, definitions: Map::new(), schema, data: json!(data) }
}

fn pattern(choice: &mut SeededChoice) -> Shape {
    let (pattern, length) = (*choice.one_of(PATTERNS), choice.magnitude(100, 100_000));
    let title = format!("pattern {pattern} on {length} letters");
    let schema = json!({ "type": "string", "pattern": pattern });
    let data = json!(format!("{}!", "a".repeat(length)));
    Shape { title, definitions: Map::new(), schema, data }
}

/// A moderate number of paths for each of many items.
fn items(choice: &mut SeededChoice) -> Shape {
    let (count, depth) = (choice.magnitude(100, 10_000), choice.between(6, 14));
    let (definitions, word) = levels(choice, depth, 2);
    let title = format!("{count} items, {word} of 2, {depth} levels of references");
    let schema = json!({ "type": "array", "items": reference(0) });
    let data = (0..count).collect::<Vec<_>>();
    Shape { title, definitions, schema, data: json!(data) }
}
