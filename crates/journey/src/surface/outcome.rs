//! `JourneyOutcome`: how a run ended.

use meantime_core::{Definition, Json, Outcome};

use super::fields::{AnswerFields, member};
use super::instance::{EndedRun, Instance, RunSnapshot, journey};
use super::links::Links;
use super::status::{phase, put_labels};
use crate::definition::RESERVED_OUTCOME_FIELDS;
use crate::machine::CANCELLED_OUTCOME;

/// The outcome; none while the run is active.
pub fn outcome(definition: &Definition, instance: &Instance<'_>) -> Option<Json> {
    let ended = instance.outcome?;
    let summary = match instance.snapshot() {
        RunSnapshot::Ended(summary) => summary,
        RunSnapshot::Live(_) => EndedRun::default(),
    };
    let journey = journey(definition);
    let mut fields = AnswerFields::default();
    fields.put_text("journeyId", instance.id);
    fields.put_text("journeyName", &definition.name);
    fields.put_text("phase", phase(Some(ended)).name());
    match ended {
        Outcome::Completed { output, .. } => {
            fields.put_text("status", &status_of(output));
            fields.put("output", output.clone());
        }
        Outcome::Failed { failure, .. } => {
            fields.put_text("status", &failure.code);
            fields.put("error", error(&failure.code, &failure.message));
        }
        Outcome::Cancelled { .. } => {
            fields.put_text("status", CANCELLED_OUTCOME.0);
            fields.put("error", error(CANCELLED_OUTCOME.0, CANCELLED_OUTCOME.1));
        }
    }
    let enveloped = summary.error.as_deref().and_then(|text| Json::parse(text).ok());
    if let Some(error) = enveloped {
        fields.put("error", error);
    }
    put_labels(&mut fields, &summary.tags, &summary.attributes);
    if let Some(id) = summary.outcome_id {
        fields.put_text("outcomeId", &id);
    }
    if journey.is_none_or(|it| it.links) {
        fields.put("_links", Links::new(instance.id).into_json());
    }
    if let Some(response) = journey.and_then(|it| it.response.as_ref()) {
        fields.merge(&response.output_var, &instance.context(), &RESERVED_OUTCOME_FIELDS);
    }
    Some(fields.into_json())
}

fn error(code: &str, reason: &str) -> Json {
    Json::object([("code", &Json::text(code)), ("reason", &Json::text(reason))])
}

/// The status in the output, or the default for a success.
fn status_of(output: &Json) -> String {
    let status = member(output, "status").and_then(|it| it.read::<String>().ok());
    status.filter(|it| !it.is_empty()).unwrap_or_else(|| "SUCCEEDED".to_owned())
}
