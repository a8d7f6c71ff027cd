//! Converts events to settlements of awaitables.

use meantime_core::{
    Answer, ChildOutcome, EffectKey, Event, Failure, Json, TaskCause, TaskOutcome, Thrown,
};
use meantime_script::{EffectKind, Machine, Settlement};

/// The effect that an event ends, and its result; `None` for events that end none.
pub(crate) fn settlement(event: &Event, machine: &Machine<'_>) -> Option<(EffectKey, Settlement)> {
    let key = event.key()?;
    let with = match event {
        Event::TaskDone { outcome: TaskOutcome::Completed(output), .. } => {
            Settlement::Done(output.clone())
        }
        Event::TaskDone { outcome: TaskOutcome::Failed { failure, cause, thrown }, .. } => {
            let name = match (cause, machine.kind_of(key)) {
                (_, Some(EffectKind::Http)) => "HttpError",
                (TaskCause::Timeout | TaskCause::Deadline, _) => "TaskTimeout",
                (TaskCause::Reported | TaskCause::LeaseExpired, _) => "TaskError",
            };
            failed_settlement(name, &prefer_thrown(failure, thrown.as_ref()))
        }
        Event::TimerFired { .. } => Settlement::Done(Json::null()),
        Event::Signal { payload, .. } | Event::Message { payload, .. } => {
            Settlement::Done(payload.clone())
        }
        Event::ChildDone { outcome, .. } => match outcome {
            ChildOutcome::Completed(output) => Settlement::Done(output.clone()),
            ChildOutcome::Failed { failure, .. } => failed_settlement("ChildError", failure),
            ChildOutcome::Cancelled => failed_settlement(
                "ChildError",
                &Failure::new("CANCELLED", "the child was cancelled"),
            ),
        },
        Event::ChildRaised { raised, .. } => failed_settlement("ChildError", raised),
        Event::EffectDone { answer: Answer::Conflict { code }, .. } => {
            failed_settlement("ChildError", &Failure::new(code, conflict_message(code)))
        }
        _ => return None,
    };
    Some((key, with))
}

/// A business error thrown by a worker replaces the failure of its task.
fn prefer_thrown(failure: &Failure, thrown: Option<&Thrown>) -> Failure {
    match thrown {
        None => failure.clone(),
        Some(thrown) => Failure {
            data: thrown.variables.clone(),
            ..Failure::new(&thrown.code, &failure.message)
        },
    }
}

fn failed_settlement(name: &'static str, failure: &Failure) -> Settlement {
    Settlement::Failed {
        name,
        code: failure.code.clone(),
        message: failure.message.clone(),
        data: failure.data.clone(),
    }
}

/// The text of a conflict.
fn conflict_message(code: &str) -> String {
    match code {
        "unknown_definition" => "there is no workflow of this name".to_owned(),
        "definition_paused" => "the workflow is paused by an operator".to_owned(),
        "key_taken" => "a running instance of this workflow has this key".to_owned(),
        "child_depth" => "children are nested too deeply".to_owned(),
        "tree_limit" => "too many instances live below the same root".to_owned(),
        "tree_ending" => "the root of the tree has ended, and so does its tree".to_owned(),
        other => format!("the child could not be started: {other}"),
    }
}
