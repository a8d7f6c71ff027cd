//! APIs and read guards: expressions that are evaluated to answer a request, after its run.

use serde_json::{Value, json};

use super::super::connection::json_request;
use super::seeded_choice::SeededChoice;
use super::variant::{Kind, PoisonVariant, VariantDefinition};
use super::{journey, mapper};

/// The most rules that an API may have.
const MAX_RULES: usize = 100;

pub(super) fn variant(choice: &mut SeededChoice, label: String, name: String) -> PoisonVariant {
    let (costly, expression) = mapper::expression(choice);
    let expression = json!({ "lang": "dataweave", "expr": expression });
    let (words, kind, spec) = match choice.between(0, 3) {
        0 => predicates(choice, &expression),
        1 => ("a status".to_owned(), "Api", status(&expression)),
        2 => ("an envelope".to_owned(), "Api", envelope(&expression)),
        _ => ("a read guard".to_owned(), "Journey", guard(&expression)),
    };
    let metadata = json!({ "name": name, "version": "1.0.0" });
    let text = json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec });
    let reads_journey = kind == "Journey";
    let path =
        if reads_journey { format!("/journeys/{name}/start") } else { format!("/apis/{name}") };
    PoisonVariant {
        kind: Kind::Api,
        label,
        title: format!("{words}: {costly}"),
        definition: Some(VariantDefinition {
            name,
            media_type: journey::MEDIA_TYPE,
            text: text.to_string(),
        }),
        requests: vec![json_request(&path, "{}")],
        reads_journey,
        clients: *choice.one_of(&[2, 4, 8, 16]),
        at_most: 200,
    }
}

/// Rules of which none matches, because a number is not true.
fn predicates(choice: &mut SeededChoice, expression: &Value) -> (String, &'static str, Value) {
    let count = choice.magnitude(1, MAX_RULES);
    let when = json!({ "phase": "SUCCEEDED", "predicate": expression });
    let rules = vec![json!({ "when": when, "status": 299 }); count];
    (format!("{count} predicates"), "Api", api(&json!({ "rules": rules }), "succeed"))
}

fn status(expression: &Value) -> Value {
    let rule = json!({ "when": { "phase": "SUCCEEDED" }, "statusExpr": expression });
    api(&json!({ "rules": [rule] }), "succeed")
}

fn envelope(expression: &Value) -> Value {
    let mut spec = api(&json!({ "default": { "FAILED": 200 } }), "fail");
    spec["errors"] = json!({ "envelope": { "format": "custom", "mapper": expression } });
    spec
}

fn api(responses: &Value, end: &str) -> Value {
    let done = match end {
        "fail" => json!({ "type": "fail", "errorCode": "POISON", "reason": "on purpose" }),
        _ => json!({ "type": "succeed" }),
    };
    json!({
        "bindings": { "http": { "apiResponses": responses } },
        "start": "done",
        "states": { "done": done },
    })
}

/// A journey that waits, and whose status is read.
fn guard(expression: &Value) -> Value {
    let transform =
        json!({ "mapper": expression, "target": { "kind": "var" }, "resultVar": "result" });
    let allow = json!({ "mapper": { "lang": "dataweave", "expr": "{allowed: true}" } });
    json!({
        "access": { "read": { "guardRef": "owner" } },
        "subjourneys": { "owner": { "start": "work", "states": {
            "work": { "type": "transform", "transform": transform, "next": "allow" },
            "allow": { "type": "transform", "transform": allow, "next": "done" },
            "done": { "type": "succeed" },
        } } },
        "lifecycle": { "startMode": "async" },
        "start": "ask",
        "states": { "ask": {
            "type": "wait", "wait": { "channel": "manual", "input": { "schema": {} } }, "next": "ask",
        } },
    })
}
