//! The end of a frame: of a branch, of a call, or of the run with its outcome, its summary and its
//! compensation.

use meantime_core::{
    ChildSpec, Effect, EffectKey, Failure, Fault, Json, Outcome, ParentClose, Status,
};
use meantime_value::Value;

use super::run::{Run, root_state, state_mismatch};
use super::saved::{FrameId, PendingOutcome, ROOT_FRAME, RunRole, ScopeName};
use super::start::COMPENSATION_ELEMENT;
use super::state::{error_of, termination_name};
use super::transition::ScopeEnd;
use crate::definition::{Binding, CompensationMode, Phase};
use crate::json;

/// Code and reason of a cancelled run on its own API.
pub(crate) const CANCELLED_OUTCOME: (&str, &str) = ("JOURNEY_CANCELLED", "Cancelled by user");

/// The code of the incident of a compensation that takes too long.
const COMPENSATION_OVERDUE: &str = "COMPENSATION_OVERDUE";

/// The element name of the timer that limits a compensation.
const COMPENSATION_TIMER_ELEMENT: &str = "compensation";

impl Run<'_> {
    pub(super) fn end_frame(&mut self, id: FrameId, end: ScopeEnd) -> Result<(), Fault> {
        let frame = self.frame(id)?;
        let (scope, parent) = (frame.scope.clone(), frame.parent);
        match (scope, parent) {
            (ScopeName::Root, _) => self.end_run(end),
            (ScopeName::Branch(name), Some(parent)) => self.branch_ended(parent, &name, id, end),
            (ScopeName::Call(name), Some(parent)) => self.call_ended(parent, &name, id, end),
            (ScopeName::Branch(_) | ScopeName::Call(_), None) => {
                Err(state_mismatch("a frame belongs to nothing"))
            }
        }
    }

    /// The root scope has ended.
    pub(super) fn end_run(&mut self, end: ScopeEnd) -> Result<(), Fault> {
        let context = self.final_context()?;
        let context_json = json::document(&context)?;
        let outcome = match end {
            ScopeEnd::Succeeded { output } => {
                self.record_mismatches(self.journey.output.as_ref(), &output, "output")?;
                Outcome::Completed { output: json::document(&output)?, context: context_json }
            }
            ScopeEnd::Failed { failure, termination } => {
                Outcome::Failed { failure, termination, context: context_json }
            }
        };
        self.record_mismatches(self.journey.context.as_ref(), &context, "context")?;
        self.fix_outcome(outcome)
    }

    /// Decides the outcome and starts the compensation if there is one; a synchronous compensation
    /// runs before the outcome is published.
    pub(super) fn fix_outcome(&mut self, outcome: Outcome) -> Result<(), Fault> {
        self.summarise(&outcome)?;
        let mode = self.required_compensation(&outcome)?;
        self.status = Some(match mode {
            None => Status::Ended(outcome),
            Some(CompensationMode::Async) => {
                self.compensate(&outcome)?;
                Status::Ended(outcome)
            }
            Some(CompensationMode::Sync) => {
                let compensation = self.compensate(&outcome)?;
                self.saved.pending_outcome =
                    Some(PendingOutcome { outcome: outcome.clone(), compensation });
                Status::Closing(outcome)
            }
        });
        Ok(())
    }

    /// The synchronous compensation has ended. Its result does not change the outcome.
    pub(super) fn compensation_done(&mut self, key: EffectKey) -> bool {
        let ours = self.saved.pending_outcome.as_ref().is_some_and(|it| it.compensation == key);
        if ours && let Some(pending_outcome) = self.saved.pending_outcome.take() {
            self.status = Some(Status::Ended(pending_outcome.outcome));
        }
        ours
    }

    /// The compensation could not be started.
    pub(super) fn compensation_refused(&mut self, key: EffectKey) -> bool {
        self.compensation_done(key)
    }

    fn required_compensation(
        &mut self,
        outcome: &Outcome,
    ) -> Result<Option<CompensationMode>, Fault> {
        let journey = self.journey;
        let Some(compensation) = &journey.compensation else { return Ok(None) };
        if !matches!(self.saved.role, RunRole::Main | RunRole::Scheduled) {
            return Ok(None);
        }
        let Outcome::Completed { output, .. } = outcome else {
            return Ok(Some(compensation.mode));
        };
        for rule in &compensation.also_for {
            let Some(predicate) = rule else { return Ok(Some(compensation.mode)) };
            let extra = vec![
                (Binding::Output, json::parse(output)?),
                (Binding::Outcome, self.outcome_binding(outcome)),
            ];
            // A failing predicate counts as false: the run has succeeded and needs no compensation.
            if self.holds(ROOT_FRAME, predicate, extra)?.unwrap_or(false) {
                return Ok(Some(compensation.mode));
            }
        }
        Ok(None)
    }

    /// Starts the compensation: another instance of the same version, with its own time limit (D8).
    fn compensate(&mut self, outcome: &Outcome) -> Result<EffectKey, Fault> {
        let (Outcome::Completed { context, .. }
        | Outcome::Failed { context, .. }
        | Outcome::Cancelled { context, .. }) = outcome;
        let input = json::object_of([
            ("context", json::parse(context)?),
            ("outcome", self.outcome_binding(outcome)),
        ]);
        let input = json::document(&input)?;
        Ok(self.push(Effect::StartChild(ChildSpec {
            version: Some(self.cx.version),
            at: Some(COMPENSATION_ELEMENT.to_owned()),
            own_budget: true,
            parent_close: ParentClose::Abandon,
            ..ChildSpec::new(self.journey.name.clone(), COMPENSATION_ELEMENT, input)
        })))
    }

    /// `outcome`, as compensation sees it.
    fn outcome_binding(&self, outcome: &Outcome) -> Value {
        let (phase, kind, error) = match outcome {
            Outcome::Completed { .. } => (Phase::Succeeded, "Success", Value::Null),
            Outcome::Failed { failure, termination, .. } => {
                (Phase::Failed, termination_name(*termination), error_of(failure))
            }
            Outcome::Cancelled { .. } => {
                let failure = Failure::new(CANCELLED_OUTCOME.0, CANCELLED_OUTCOME.1);
                (Phase::Failed, "Cancel", error_of(&failure))
            }
        };
        json::object_of([
            ("phase", phase.name().into()),
            ("terminationKind", kind.into()),
            ("error", error),
            ("terminatedAtState", root_state(&self.saved).into()),
            ("journeyId", self.cx.instance.to_string().into()),
            ("journeyName", self.journey.name.as_str().into()),
        ])
    }

    /// Writes the summary that the journey's own API shows after the state was removed.
    fn summarise(&mut self, outcome: &Outcome) -> Result<(), Fault> {
        let compensates = match &self.saved.role {
            RunRole::Compensation(outcome) => {
                json::get(&json::parse(outcome)?, &["journeyId".to_owned()]).and_then(json::string)
            }
            _ => None,
        };
        let envelope = self.error_in_envelope(outcome)?;
        let summary = serde_json::json!({
            "currentState": root_state(&self.saved),
            "updatedAt": self.cx.now.to_string(),
            "tags": self.saved.tags,
            "attributes": self.saved.attributes,
            "outcomeId": self.classify(outcome)?,
            "compensationOf": compensates,
            "error": envelope.as_ref().map(Json::as_str),
        });
        self.push(Effect::Summary(Json::from(&summary)));
        Ok(())
    }

    /// The error of a journey in its custom envelope (`spec.errors.envelope`). APIs apply theirs to
    /// the answer. If the mapper fails, the usual error is kept and the history says why.
    fn error_in_envelope(&mut self, outcome: &Outcome) -> Result<Option<Json>, Fault> {
        let journey = self.journey;
        let Some(mapper) = journey.envelope.as_ref().filter(|_| journey.is_durable()) else {
            return Ok(None);
        };
        let Some(problem) = crate::surface::problem_of(outcome) else { return Ok(None) };
        let payload = json::object_of([("error", problem.clone())]);
        let extra = vec![(Binding::Error, problem), (Binding::Payload, payload)];
        match self.evaluate(ROOT_FRAME, mapper, extra)? {
            Ok(error) => Ok(Some(json::document(&error)?)),
            Err(error) => {
                let data = Json::object([("message", &Json::text(error.message()))]);
                self.push(Effect::Record { kind: "envelopeFailed".to_owned(), data });
                Ok(None)
            }
        }
    }

    /// The first matching rule of `spec.outcomes`; it is only a name and has no other effect.
    fn classify(&mut self, outcome: &Outcome) -> Result<Option<String>, Fault> {
        let (phase, output, error) = match outcome {
            Outcome::Completed { output, .. } => {
                (Phase::Succeeded, json::parse(output)?, Value::Null)
            }
            Outcome::Failed { failure, .. } => (Phase::Failed, Value::Null, error_of(failure)),
            Outcome::Cancelled { .. } => {
                let failure = Failure::new(CANCELLED_OUTCOME.0, CANCELLED_OUTCOME.1);
                (Phase::Failed, Value::Null, error_of(&failure))
            }
        };
        let journey = self.journey;
        for rule in journey.outcomes.iter().filter(|rule| rule.phase == phase) {
            let Some(predicate) = &rule.predicate else { return Ok(Some(rule.id.clone())) };
            let mut extra =
                vec![(Binding::Output, output.clone()), (Binding::Error, error.clone())];
            if phase == Phase::Failed {
                // Expressions may also read the error of the run as `context.error`.
                let context = self.context(ROOT_FRAME)?;
                let seen = json::put(&context, &["error".to_owned()], error.clone());
                extra.push((Binding::Context, seen));
            }
            if self.holds(ROOT_FRAME, predicate, extra)?.unwrap_or(false) {
                return Ok(Some(rule.id.clone()));
            }
        }
        Ok(None)
    }

    /// Arms the timer after which a compensation that still runs becomes an incident (JR5).
    pub(super) fn arm_compensation_timer(&mut self) {
        let due_at = self.cx.now.saturating_add_millis(self.settings.compensation_ms);
        let element = COMPENSATION_TIMER_ELEMENT.to_owned();
        self.saved.cap = Some(self.push(Effect::StartTimer { element, due_at }));
    }

    pub(super) fn compensation_overdue(&mut self) {
        let element = self.element_path(ROOT_FRAME);
        let failure = Failure::new(COMPENSATION_OVERDUE, "the compensation has not ended");
        self.saved.overdue = Some(self.push(Effect::Incident { element, failure }));
    }
}
