//! `access.read.guardRef`: a subjourney that decides whether a caller may read.

use meantime_core::{Definition, Outcome, Start, StartCause};
use meantime_value::Value;

use super::instance::{Instance, journey};
use crate::json;
use crate::machine::GUARD_ELEMENT_PREFIX;

/// The start of the guard, on a copy of the context; none if reading is not guarded.
pub fn guard_start(definition: &Definition, instance: &Instance<'_>) -> Option<Start> {
    let guard = &journey(definition)?.guard.as_ref()?.id;
    let start = Start::new(StartCause::Api, instance.context());
    Some(Start { at: Some(format!("{GUARD_ELEMENT_PREFIX}{guard}")), ..start })
}

/// Whether the guard allowed access: only an output with `allowed: true` does.
pub fn guard_allows(outcome: &Outcome) -> bool {
    let Outcome::Completed { output, .. } = outcome else { return false };
    // An output that is not an object or cannot be parsed denies access.
    json::parse(output).is_ok_and(|output| {
        matches!(json::get(&output, &["allowed".to_owned()]), Some(Value::Bool(true)))
    })
}
