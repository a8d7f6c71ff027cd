//! `JourneyOutcome`: how a run ended.

use meantime_core::{Definition, Json, Outcome};
use serde_json::{Map, Value, json};

use super::instance::{Instance, Seen, Summary, journey};
use super::links::Links;
use super::status::{merge, phase, put_labels};
use crate::definition::OUTCOME_NAMES;
use crate::machine::CANCELLED;

/// The outcome; nothing while the run goes on.
pub fn outcome(definition: &Definition, instance: &Instance<'_>) -> Option<Json> {
    let ended = instance.outcome?;
    let summary = match instance.seen() {
        Seen::Ended(summary) => summary,
        Seen::Live(_) => Summary::default(),
    };
    let journey = journey(definition);
    let mut fields = Map::new();
    fields.insert("journeyId".to_owned(), instance.id.into());
    fields.insert("journeyName".to_owned(), definition.name.as_str().into());
    fields.insert("phase".to_owned(), phase(Some(ended)).name().into());
    match ended {
        Outcome::Completed { output, .. } => {
            let output: Value = output.read().unwrap_or_default();
            fields.insert("status".to_owned(), status_of(&output).into());
            fields.insert("output".to_owned(), output);
        }
        Outcome::Failed { failure, .. } => {
            fields.insert("status".to_owned(), failure.code.as_str().into());
            let error = json!({ "code": failure.code, "reason": failure.message });
            fields.insert("error".to_owned(), error);
        }
        Outcome::Cancelled { .. } => {
            fields.insert("status".to_owned(), CANCELLED.0.into());
            let error = json!({ "code": CANCELLED.0, "reason": CANCELLED.1 });
            fields.insert("error".to_owned(), error);
        }
    }
    put_labels(&mut fields, &summary.tags, &json!(summary.attributes));
    if let Some(id) = summary.outcome_id {
        fields.insert("outcomeId".to_owned(), id.into());
    }
    if journey.is_none_or(|it| it.links) {
        fields.insert("_links".to_owned(), Links::new(instance.id).into_value());
    }
    if let Some(response) = journey.and_then(|it| it.response.as_ref()) {
        merge(&mut fields, &response.output_var, &instance.context(), &OUTCOME_NAMES);
    }
    Some(Json::of(&fields).unwrap_or_default())
}

/// What the output says of itself, else that all went well.
fn status_of(output: &Value) -> String {
    let status = output.get("status").and_then(Value::as_str).filter(|it| !it.is_empty());
    status.unwrap_or("SUCCEEDED").to_owned()
}
