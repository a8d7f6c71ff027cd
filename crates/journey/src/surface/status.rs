//! `JourneyStatus` and `JourneyStartResponse`.

use std::collections::BTreeMap;

use meantime_core::{Definition, Json, Outcome};

use super::fields::AnswerFields;
use super::instance::{Instance, RunSnapshot, journey};
use super::links::{Links, href};
use crate::definition::{Journey, Phase, Projection, RESERVED_STATUS_FIELDS, Scope, StateBody};

/// The answer to an asynchronous start.
pub fn start_response(definition: &Definition, id: &str) -> Json {
    let mut fields = AnswerFields::default();
    fields.put_text("journeyId", id);
    fields.put_text("journeyName", &definition.name);
    fields.put_text("statusUrl", &href(id));
    if journey(definition).is_none_or(|it| it.links) {
        fields.put("_links", Links::new(id).result().into_json());
    }
    fields.into_json()
}

/// The status of an instance.
pub fn status(definition: &Definition, instance: &Instance<'_>) -> Json {
    fields(definition, instance).into_json()
}

/// The answer to a submission: the status, and the fields of the context that the step's response
/// declares.
pub fn submitted_status(definition: &Definition, instance: &Instance<'_>, step: &str) -> Json {
    let mut fields = fields(definition, instance);
    let projection = journey(definition).and_then(|journey| projection(journey, step));
    if let Some(projection) = projection {
        let context = instance.context_at(definition, step);
        fields.merge(&projection.output_var, &context, &RESERVED_STATUS_FIELDS);
    }
    fields.into_json()
}

/// Whether the instance compensates another one; such instances are not listed as journeys (JR5).
pub fn is_compensation(instance: &Instance<'_>) -> bool {
    match instance.snapshot() {
        RunSnapshot::Live(look) => look.is_compensation,
        RunSnapshot::Ended(summary) => summary.compensation_of.is_some(),
    }
}

/// Tags, and attributes as `name=value`, by which an instance can be searched.
pub fn labels(instance: &Instance<'_>) -> Vec<String> {
    let (tags, attributes) = match instance.snapshot() {
        RunSnapshot::Live(look) => (look.tags, look.attributes),
        RunSnapshot::Ended(summary) => (summary.tags, summary.attributes),
    };
    let named = attributes.into_iter().map(|(name, value)| format!("{name}={value}"));
    tags.into_iter().chain(named).collect()
}

fn fields(definition: &Definition, instance: &Instance<'_>) -> AnswerFields {
    let journey = journey(definition);
    let links = journey.is_none_or(|it| it.links);
    let mut fields = AnswerFields::default();
    fields.put_text("journeyId", instance.id);
    fields.put_text("journeyName", &definition.name);
    fields.put_text("phase", phase(instance.outcome).name());
    match instance.snapshot() {
        RunSnapshot::Live(look) => {
            fields.put_text("currentState", &look.current_state);
            fields.put_text("updatedAt", &look.updated_at.to_string());
            // A time after the deadline is never reached (D3).
            let due_at =
                look.due_at.map(|due| instance.deadline_at.map_or(due, |end| due.min(end)));
            if let Some(due_at) = due_at {
                fields.put_text("dueAt", &due_at.to_string());
            }
            put_labels(&mut fields, &look.tags, &look.attributes);
            if links {
                let mut links = Links::new(instance.id).result().steps(&look.steps);
                if journey.is_none_or(|it| it.cancellable) && !look.is_closing {
                    links = links.cancel();
                }
                fields.put("_links", links.into_json());
            }
        }
        RunSnapshot::Ended(summary) => {
            fields.put_text("currentState", &summary.current_state);
            fields.put_text("updatedAt", &summary.updated_at);
            put_labels(&mut fields, &summary.tags, &summary.attributes);
            if links {
                fields.put("_links", Links::new(instance.id).result().into_json());
            }
        }
    }
    fields
}

pub(super) fn put_labels(
    fields: &mut AnswerFields,
    tags: &[String],
    attributes: &BTreeMap<String, String>,
) {
    if !tags.is_empty() {
        let tags: Vec<Json> = tags.iter().map(|tag| Json::text(tag)).collect();
        fields.put("tags", Json::list(&tags));
    }
    if !attributes.is_empty() {
        let texts = attributes.iter().map(|(name, text)| (name.as_str(), Json::text(text)));
        let texts: Vec<(&str, Json)> = texts.collect();
        fields.put("attributes", Json::object(texts.iter().map(|(name, text)| (*name, text))));
    }
}

pub(super) const fn phase(outcome: Option<&Outcome>) -> Phase {
    match outcome {
        None => Phase::Running,
        Some(Outcome::Completed { .. }) => Phase::Succeeded,
        Some(Outcome::Failed { .. } | Outcome::Cancelled { .. }) => Phase::Failed,
    }
}

/// The response of a step in any scope.
fn projection<'j>(journey: &'j Journey, step: &str) -> Option<&'j Projection> {
    let scopes = std::iter::once(&journey.main)
        .chain(journey.subjourneys.values().map(|it| &it.scope))
        .chain(journey.compensation.iter().map(|it| &it.scope));
    scopes.into_iter().find_map(|scope| projection_in(scope, step))
}

fn projection_in<'j>(scope: &'j Scope, step: &str) -> Option<&'j Projection> {
    scope.states.values().find_map(|state| match &state.body {
        StateBody::Step(it) if state.id == step => it.response.as_ref(),
        StateBody::Parallel(parallel) => {
            parallel.branches.iter().find_map(|branch| projection_in(&branch.scope, step))
        }
        _ => None,
    })
}
