//! Closing and ending: the outcome is fixed, and everything open is cancelled in the same turn.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use meantime_core::{ChildOutcome, Definition, Event, Json, Notation, Outcome};

use super::effect::accept;
use super::turn_builder::{TurnBuilder, TurnEnv};
use crate::history::{CancelCause, Record};
use crate::open::Key;
use crate::store::{ConditionalWrite, Phase, Write};

/// A definition and the notation that runs it.
pub(super) type Runnable = (Arc<dyn Notation>, Arc<Definition>);

impl TurnBuilder {
    /// Fixes the outcome; only children still have to end. The deadline no longer applies.
    pub(super) fn close(&mut self, outcome: Outcome) {
        self.end_suspension();
        self.cancel_everything(&outcome);
        if self.row.phase != Phase::Closing {
            self.records.push(Record::Closing);
        }
        self.row.phase = Phase::Closing;
        self.row.deadline_at = None;
        // The first outcome stays: a closing instance cannot change it.
        self.row.meta.outcome.get_or_insert(outcome);
    }

    /// Ends the instance. An ended instance never changes again.
    pub(super) fn end(&mut self, outcome: Outcome, env: &mut TurnEnv<'_>) {
        self.end_suspension();
        let outcome = self.row.meta.outcome.take().unwrap_or(outcome);
        self.cancel_everything(&outcome);
        let normal_end = matches!(outcome, Outcome::Completed { .. });
        self.row.phase = Phase::of(&outcome);
        self.row.ended_at = Some(env.now.engine);
        self.row.state = meantime_core::State::default();
        let (phase, code) = (self.row.phase.name().to_owned(), failure_code(&outcome));
        self.records.push(Record::Ended { phase, code });
        let instance = self.row.id;
        if self.row.open.children > 0 {
            let (only, reason) = (None, "its parent ended".to_owned());
            let seq = env.ids.next(env.now.engine);
            self.conditional_writes.push(ConditionalWrite::CancelChildren {
                instance,
                only,
                normal_end,
                reason,
                seq,
            });
            self.row.open.children = 0;
        }
        if let Some(root) = self.row.root_above() {
            self.writes.push(Write::LeaveTree { root });
        }
        if self.row.meta.signals {
            self.writes.push(Write::ClearSignals { instance });
        }
        if self.row.meta.incidents > 0 {
            self.writes.push(Write::ClearIncidents { instance });
            self.writes.push(Write::ClearHeld { instance });
            self.row.meta.incidents = 0;
            self.row.open.incidents.clear();
        }
        if let Some(lineage) = &self.row.meta.lineage {
            let key = lineage.parent;
            // A null context means that the notation could not be read. It is not passed on: the
            // next run gets the context of the run before.
            let context = lineage.hands_on.then(|| context_of(&outcome).clone());
            let context = context.filter(|context| !context.is_null());
            let event = Event::ChildDone { key, outcome: child_outcome(&outcome), context };
            self.notify(key.instance, event, env);
        }
        if let Some(audit) = &self.row.meta.started_by {
            let (channels, definition) = (audit.channels(), env.name_of(&self.row));
            self.conditional_writes.push(ConditionalWrite::Offer {
                channels,
                definition,
                accept: accept(1, env),
            });
        }
        self.row.meta.outcome = Some(outcome);
        self.touched = true;
    }

    /// The outcome of an instance whose notation did not end it after a cancel or its deadline.
    pub(super) fn forced_outcome(
        event: &Event,
        execution: Option<&meantime_core::Execution>,
        deadline: Option<meantime_core::Timestamp>,
        context: Json,
    ) -> Outcome {
        if let Event::Cancel { reason } = event {
            return Outcome::Cancelled { reason: reason.clone(), context };
        }
        Outcome::timed_out(execution, deadline, context)
    }

    /// The current context, for an end by the kernel: the context of the start, or what the
    /// notation reads from the state. Null if neither can be read.
    pub(super) fn context_now(&self, runnable: Option<&Runnable>) -> Json {
        if let Some(start) = self.start.as_ref().filter(|_| self.row.phase == Phase::Starting) {
            return start.context.clone().unwrap_or_default();
        }
        let Some((notation, definition)) = runnable else { return Json::null() };
        let look = AssertUnwindSafe(|| notation.inspect(definition, &self.row.state).variables);
        // A notation that has just faulted may panic here too.
        catch_unwind(look).unwrap_or_default()
    }

    /// Cancels everything open: timers and subscriptions always; tasks continue detached after a
    /// normal end.
    fn cancel_everything(&mut self, outcome: &Outcome) {
        let timers: Vec<Key> = self.row.open.timers.keys().copied().collect();
        let tasks: Vec<Key> = self.row.open.tasks.keys().copied().collect();
        let waits: Vec<Key> = self.row.open.subscriptions.keys().copied().collect();
        let cause = match outcome {
            Outcome::Completed { .. } => CancelCause::Detached,
            Outcome::Failed { .. } | Outcome::Cancelled { .. } => CancelCause::Ended,
        };
        for key in tasks {
            self.cancel_task(key, cause);
        }
        for key in timers {
            self.disarm(key, CancelCause::Ended);
        }
        for key in waits {
            self.unsubscribe(key);
        }
    }
}

fn failure_code(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed { failure, .. } => Some(failure.code.clone()),
        Outcome::Completed { .. } | Outcome::Cancelled { .. } => None,
    }
}

fn context_of(outcome: &Outcome) -> &Json {
    let (Outcome::Completed { context, .. }
    | Outcome::Failed { context, .. }
    | Outcome::Cancelled { context, .. }) = outcome;
    context
}

fn child_outcome(outcome: &Outcome) -> ChildOutcome {
    match outcome {
        Outcome::Completed { output, .. } => ChildOutcome::Completed(output.clone()),
        Outcome::Failed { failure, termination, .. } => {
            ChildOutcome::Failed { failure: failure.clone(), termination: *termination }
        }
        Outcome::Cancelled { .. } => ChildOutcome::Cancelled,
    }
}
