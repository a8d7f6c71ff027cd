//! The first turn: the initial state of a run, by the kind of its start.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{
    Attribute, Cx, Effect, Fault, Json, Start, StartCause, Status, Timestamp, Turn, Verdict,
};
use meantime_value::{Object, Value};

use super::run::Run;
use super::saved::{FrameData, ROOT_FRAME, RunRole, SavedRun, ScopeName};
use super::state::INVALID_INPUT;
use crate::definition::{Journey, Mismatch, Scope};
use crate::json;
use crate::settings::Settings;

/// The element at which a compensation starts.
pub(super) const COMPENSATION_ELEMENT: &str = "@compensation";

/// The element at which a guard starts, followed by its name.
pub(crate) const GUARD_ELEMENT_PREFIX: &str = "@guard/";

impl<'a> Run<'a> {
    /// Starts a run. An invalid start is rejected and nothing is written.
    pub(crate) fn start(
        journey: &'a Journey,
        settings: &'a Settings,
        start: &Start,
        cx: &'a Cx<'a>,
    ) -> Result<Turn, Fault> {
        let role = role_of(start)?;
        let Some(scope) = role.scope(journey) else {
            return Ok(refused("the definition has no such part"));
        };
        let mut ops = 0;
        let context = match initial_context(journey, start, &role, &mut ops)? {
            Ok(context) => context,
            Err(problem) => return Ok(refused_turn(problem, ops)),
        };
        let first = match (&role, &start.at) {
            (RunRole::Scheduled, Some(state)) if scope.states.contains_key(state) => state.as_str(),
            (RunRole::Scheduled, Some(_)) => return Ok(refused("there is no such state")),
            _ => scope.start.id.as_str(),
        };
        if let Some(missing) = missing_config(journey, settings) {
            return Ok(refused(&format!("`platform.config.{missing}` has no value")));
        }
        let mut run = Self::new(journey, settings, new_saved_run(role.clone()), cx);
        run.ops = ops;
        run.add_frame(None, ScopeName::Root, first, FrameData::Own(json::document(&context)?));
        if let Err(problem) = run.set_labels(start, &context)? {
            return Ok(refused(&problem));
        }
        run.apply_request_bindings(ROOT_FRAME, start.request_bindings.as_ref())?;
        if matches!(role, RunRole::Compensation(_)) {
            run.arm_compensation_timer();
        }
        run.run_ready_frames()?;
        run.finish(vec![Verdict::taken()])
    }

    /// Sets tags and attributes from the definition, the payload and the request.
    fn set_labels(&mut self, start: &Start, context: &Value) -> Result<Result<(), String>, Fault> {
        let request_bindings =
            start.request_bindings.as_ref().map(json::parse).transpose()?.unwrap_or_default();
        self.saved.traceparent =
            json::get(&request_bindings, &["traceparent".to_owned()]).and_then(json::string);
        let mut tags = self.journey.tags.clone();
        let mut attributes = BTreeMap::new();
        match &self.saved.role {
            RunRole::Main => {
                let bindings = &self.journey.metadata;
                for path in &bindings.tags.payload {
                    match label_text(context, path) {
                        Ok(text) => tags.extend(text),
                        Err(problem) => return Ok(Err(problem)),
                    }
                }
                for (name, path) in &bindings.attributes.payload {
                    match label_text(context, path) {
                        Ok(text) => attributes.extend(text.map(|text| (name.clone(), text))),
                        Err(problem) => return Ok(Err(problem)),
                    }
                }
                tags.extend(text_list(&request_bindings, "tags"));
                attributes.extend(text_pairs(&request_bindings, "attributes"));
            }
            RunRole::Scheduled => {
                attributes.insert("initiatedBy".to_owned(), "system".to_owned());
                let input = json::parse(&start.input)?;
                let subject = json::get(&input, &["subject".to_owned()]).and_then(json::string);
                attributes.extend(subject.map(|subject| ("subjectId".to_owned(), subject)));
            }
            RunRole::Compensation(outcome) => {
                let outcome = json::parse(outcome)?;
                let parent = json::get(&outcome, &["journeyId".to_owned()]).and_then(json::string);
                tags.extend(parent.map(|id| format!("compensationOf:{id}")));
            }
            RunRole::Guard(_) => {}
        }
        let mut seen = BTreeSet::new();
        tags.retain(|tag| seen.insert(tag.clone()));
        if let Err(problem) = self.check_labels(&tags, &attributes) {
            return Ok(Err(problem));
        }
        if !tags.is_empty() {
            self.push(Effect::AddTags(tags.clone()));
        }
        if !attributes.is_empty() {
            let pairs = attributes.clone().into_iter();
            let named = pairs.map(|(name, value)| Attribute { name, value });
            self.push(Effect::SetAttributes(named.collect()));
        }
        (self.saved.tags, self.saved.attributes) = (tags, attributes);
        Ok(Ok(()))
    }

    fn check_labels(
        &self,
        tags: &[String],
        attributes: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let limits = self.settings.metadata;
        if tags.len() > limits.instance_tags {
            return Err(format!("more than {} tags", limits.instance_tags));
        }
        if attributes.len() > limits.attributes {
            return Err(format!("more than {} attributes", limits.attributes));
        }
        let is_compensation = matches!(self.saved.role, RunRole::Compensation(_));
        let long_tag = tags.iter().find(|tag| tag.chars().count() > limits.tag_chars);
        if let Some(tag) = long_tag.filter(|_| !is_compensation) {
            return Err(format!("the tag `{tag}` has more than {} characters", limits.tag_chars));
        }
        let too_long = attributes.iter().find(|(name, value)| {
            name.chars().count() > limits.attribute_name_chars
                || value.chars().count() > limits.attribute_value_chars
        });
        match too_long {
            Some((name, _)) => Err(format!("the attribute `{name}` is too long")),
            None => Ok(()),
        }
    }
}

impl RunRole {
    /// The scope of the root frame.
    pub(super) fn scope<'a>(&self, journey: &'a Journey) -> Option<&'a Scope> {
        match self {
            Self::Main | Self::Scheduled => Some(&journey.main),
            Self::Compensation(_) => journey.compensation.as_ref().map(|it| &it.scope),
            Self::Guard(name) => journey.subjourneys.get(name).map(|it| &it.scope),
        }
    }
}

fn role_of(start: &Start) -> Result<RunRole, Fault> {
    let element = start.at.as_deref().unwrap_or_default();
    if let StartCause::Schedule { .. } = start.cause {
        return Ok(RunRole::Scheduled);
    }
    if element == COMPENSATION_ELEMENT {
        let input = json::parse(&start.input)?;
        let outcome = json::get(&input, &["outcome".to_owned()]).cloned().unwrap_or_default();
        return Ok(RunRole::Compensation(json::document(&outcome)?));
    }
    Ok(match element.strip_prefix(GUARD_ELEMENT_PREFIX) {
        Some(name) => RunRole::Guard(name.to_owned()),
        None => RunRole::Main,
    })
}

/// The initial context of a run.
fn initial_context(
    journey: &Journey,
    start: &Start,
    role: &RunRole,
    ops: &mut u64,
) -> Result<Result<Value, Json>, Fault> {
    let context = match role {
        RunRole::Scheduled => start.context.as_ref().unwrap_or(&start.input).clone(),
        RunRole::Compensation(_) => {
            let input = json::parse(&start.input)?;
            let context = json::get(&input, &["context".to_owned()]).cloned().unwrap_or_default();
            json::document(&context)?
        }
        RunRole::Main | RunRole::Guard(_) => start.input.clone(),
    };
    let context = if context.is_null() { Json::object([]) } else { context };
    let value = json::parse(&context)?;
    if json::object(&value).is_none() {
        return Ok(Err(Json::text("the input of a journey is an object")));
    }
    if *role == RunRole::Main
        && let Some(schema) = &journey.input
    {
        let checked = schema.check(&context, u64::MAX);
        *ops = checked.ops;
        if !checked.mismatches.is_empty() {
            return Ok(Err(Mismatch::list(&checked.mismatches)));
        }
    }
    Ok(Ok(value))
}

/// A required configuration value that this engine does not have; without it no run starts.
fn missing_config<'j>(journey: &'j Journey, settings: &Settings) -> Option<&'j str> {
    let missing = |(name, key): &(&String, &crate::definition::ConfigKey)| {
        key.required && !settings.config.contains_key(*name)
    };
    journey.config.iter().find(missing).map(|(name, _)| name.as_str())
}

/// The value of a tag or attribute: a text that is not empty, or a number or boolean as text.
fn label_text(context: &Value, path: &str) -> Result<Option<String>, String> {
    let names: Vec<String> = path.split('.').map(str::to_owned).collect();
    let Some(value) = json::get(context, &names) else { return Ok(None) };
    match value.bare() {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text.to_string()).filter(|text| !text.is_empty())),
        Value::Number(number) => Ok(Some(number.to_plain_string())),
        Value::Bool(value) => Ok(Some(value.to_string())),
        other => {
            let kind = if json::object(other).is_some() { "an object" } else { "a list" };
            Err(format!("`{path}` is {kind}, and cannot be a tag or an attribute"))
        }
    }
}

fn text_list(request_bindings: &Value, name: &str) -> Vec<String> {
    match json::get(request_bindings, &[name.to_owned()]) {
        Some(Value::Array(items)) => items.iter().filter_map(json::string).collect(),
        _ => Vec::new(),
    }
}

fn text_pairs(request_bindings: &Value, name: &str) -> Vec<(String, String)> {
    let object = json::get(request_bindings, &[name.to_owned()]).and_then(json::object);
    let entries = object.into_iter().flat_map(Object::entries);
    entries.filter_map(|it| Some((it.key.name().to_string(), json::string(&it.value)?))).collect()
}

fn new_saved_run(role: RunRole) -> SavedRun {
    SavedRun {
        role,
        frames: BTreeMap::new(),
        next_frame: ROOT_FRAME,
        activations: 0,
        attributes: BTreeMap::new(),
        tags: Vec::new(),
        pending_outcome: None,
        updated_at: Timestamp::default(),
        traceparent: None,
        cap: None,
        overdue: None,
    }
}

fn refused(problem: &str) -> Turn {
    refused_turn(Json::text(problem), 1)
}

fn refused_turn(problem: Json, ops: u64) -> Turn {
    let verdicts = vec![Verdict::Refused { code: INVALID_INPUT.to_owned(), problem }];
    let (state, effects) = (meantime_core::State::default(), Vec::new());
    Turn { state, effects, status: Status::Running, verdicts, ops: ops.max(1) }
}
