//! Journeys around an expression or a schema.

use serde_json::{Map, Value, json};

use super::seeded_choice::SeededChoice;

pub(super) const MEDIA_TYPE: &str = "application/yaml";

/// A journey that evaluates an expression and ends. One that sleeps first is stored before the
/// costly evaluation, and repeats it after a restart.
pub(super) fn evaluating(
    choice: &mut SeededChoice,
    name: &str,
    expression: &str,
) -> (String, &'static str) {
    let target = json!({ "kind": "var" });
    let transform = json!({
        "mapper": { "lang": "dataweave", "expr": expression },
        "target": target,
        "resultVar": "result",
    });
    let work = json!({ "type": "transform", "transform": transform, "next": "done" });
    let (sleeps, words) = sleeping(choice);
    (text(name, sleeps, Some(work), Map::new()), words)
}

/// A journey that ends, with additional fields in its `spec`.
pub(super) fn ending(name: &str, sleeps: bool, spec: Map<String, Value>) -> String {
    text(name, sleeps, None, spec)
}

/// Whether an instance sleeps before it works, and how the title says it.
pub(super) fn sleeping(choice: &mut SeededChoice) -> (bool, &'static str) {
    if choice.coin_flip() { (true, "after a second") } else { (false, "at once") }
}

fn text(name: &str, sleeps: bool, work: Option<Value>, mut spec: Map<String, Value>) -> String {
    let mut states = Map::new();
    let after_sleep = if work.is_some() { "work" } else { "done" };
    if sleeps {
        let nap = json!({ "type": "timer", "timer": { "duration": "PT1S" }, "next": after_sleep });
        states.insert("nap".to_owned(), nap);
    }
    states.extend(work.map(|work| ("work".to_owned(), work)));
    states.insert("done".to_owned(), json!({ "type": "succeed" }));
    spec.insert("lifecycle".to_owned(), json!({ "startMode": "async" }));
    spec.insert("start".to_owned(), if sleeps { "nap" } else { after_sleep }.into());
    spec.insert("states".to_owned(), states.into());
    let metadata = json!({ "name": name, "version": "1.0.0" });
    json!({ "apiVersion": "v1", "kind": "Journey", "metadata": metadata, "spec": spec }).to_string()
}
