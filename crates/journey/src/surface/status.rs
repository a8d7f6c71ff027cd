//! `JourneyStatus` and `JourneyStartResponse`.

use meantime_core::{Definition, Json, Outcome};
use serde_json::{Map, Value, json};

use super::instance::{Instance, Seen, journey};
use super::links::{Links, href};
use crate::definition::{Body, Journey, Phase, Projection, STATUS_NAMES, Scope};

/// What an asynchronous start answers.
pub fn start_response(definition: &Definition, id: &str) -> Json {
    let mut fields = Map::new();
    fields.insert("journeyId".to_owned(), id.into());
    fields.insert("journeyName".to_owned(), definition.name.as_str().into());
    fields.insert("statusUrl".to_owned(), href(id).into());
    if journey(definition).is_none_or(|it| it.links) {
        fields.insert("_links".to_owned(), Links::new(id).result().into_value());
    }
    Json::of(&fields).unwrap_or_default()
}

/// How an instance stands.
pub fn status(definition: &Definition, instance: &Instance<'_>) -> Json {
    Json::of(&fields(definition, instance)).unwrap_or_default()
}

/// The answer to a submission: the status, and what the step's response shows of the context.
pub fn submitted_status(definition: &Definition, instance: &Instance<'_>, step: &str) -> Json {
    let mut fields = fields(definition, instance);
    let projection = journey(definition).and_then(|journey| projection(journey, step));
    if let Some(projection) = projection {
        let context = instance.context_at(definition, step);
        merge(&mut fields, &projection.output_var, &context, &STATUS_NAMES);
    }
    Json::of(&fields).unwrap_or_default()
}

/// Whether the instance compensates another one; such are not listed as journeys (JR5).
pub fn is_compensation(instance: &Instance<'_>) -> bool {
    match instance.seen() {
        Seen::Live(look) => look.is_compensation,
        Seen::Ended(summary) => summary.compensation_of.is_some(),
    }
}

/// Tags, and attributes as `name=value`: what an instance can be found by.
pub fn labels(instance: &Instance<'_>) -> Vec<String> {
    let (tags, attributes) = match instance.seen() {
        Seen::Live(look) => (look.tags, look.attributes),
        Seen::Ended(summary) => (summary.tags, summary.attributes),
    };
    let named = attributes.into_iter().map(|(name, value)| format!("{name}={value}"));
    tags.into_iter().chain(named).collect()
}

fn fields(definition: &Definition, instance: &Instance<'_>) -> Map<String, Value> {
    let journey = journey(definition);
    let links = journey.is_none_or(|it| it.links);
    let mut fields = Map::new();
    fields.insert("journeyId".to_owned(), instance.id.into());
    fields.insert("journeyName".to_owned(), definition.name.as_str().into());
    fields.insert("phase".to_owned(), phase(instance.outcome).name().into());
    match instance.seen() {
        Seen::Live(look) => {
            fields.insert("currentState".to_owned(), look.current_state.into());
            fields.insert("updatedAt".to_owned(), look.updated_at.to_string().into());
            if let Some(due_at) = look.due_at {
                fields.insert("dueAt".to_owned(), due_at.to_string().into());
            }
            put_labels(&mut fields, &look.tags, &json!(look.attributes));
            if links {
                let mut links = Links::new(instance.id).result().steps(&look.steps);
                if journey.is_none_or(|it| it.cancellable) && !look.is_closing {
                    links = links.cancel();
                }
                fields.insert("_links".to_owned(), links.into_value());
            }
        }
        Seen::Ended(summary) => {
            fields.insert("currentState".to_owned(), summary.current_state.into());
            fields.insert("updatedAt".to_owned(), summary.updated_at.into());
            put_labels(&mut fields, &summary.tags, &json!(summary.attributes));
            if links {
                let links = Links::new(instance.id).result();
                fields.insert("_links".to_owned(), links.into_value());
            }
        }
    }
    fields
}

pub(super) fn put_labels(fields: &mut Map<String, Value>, tags: &[String], attributes: &Value) {
    if !tags.is_empty() {
        fields.insert("tags".to_owned(), json!(tags));
    }
    if attributes.as_object().is_some_and(|it| !it.is_empty()) {
        fields.insert("attributes".to_owned(), attributes.clone());
    }
}

/// Puts the properties of an object in the context at the top level; what is there stays, and
/// names of the answer's own are not given away when it has no use for them.
pub(super) fn merge(fields: &mut Map<String, Value>, var: &str, context: &Json, reserved: &[&str]) {
    let context: Value = context.read().unwrap_or_default();
    let properties = context.get(var).and_then(Value::as_object).into_iter().flatten();
    for (name, value) in properties.filter(|(name, _)| !reserved.contains(&name.as_str())) {
        fields.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

pub(super) const fn phase(outcome: Option<&Outcome>) -> Phase {
    match outcome {
        None => Phase::Running,
        Some(Outcome::Completed { .. }) => Phase::Succeeded,
        Some(Outcome::Failed { .. } | Outcome::Cancelled { .. }) => Phase::Failed,
    }
}

/// The response of a step, wherever it is.
fn projection<'j>(journey: &'j Journey, step: &str) -> Option<&'j Projection> {
    let scopes = std::iter::once(&journey.main)
        .chain(journey.subjourneys.values().map(|it| &it.scope))
        .chain(journey.compensation.iter().map(|it| &it.scope));
    scopes.into_iter().find_map(|scope| projection_in(scope, step))
}

fn projection_in<'j>(scope: &'j Scope, step: &str) -> Option<&'j Projection> {
    scope.states.values().find_map(|state| match &state.body {
        Body::Step(it) if state.id == step => it.response.as_ref(),
        Body::Parallel(parallel) => {
            parallel.branches.iter().find_map(|branch| projection_in(&branch.scope, step))
        }
        _ => None,
    })
}
