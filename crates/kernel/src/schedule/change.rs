//! Changes of a schedule: they take effect from now (S15).

use meantime_core::time::skipped;
use meantime_core::{
    Effect, Json, OccurrenceOutcome, ScheduleChange, ScheduleInput, ScheduleSpec, Timestamp,
};

use super::scheduler::{GRACE_MS, Scheduler};
use crate::command::{SCHEDULE_CHANGED, SCHEDULE_INVALID};

/// Why occurrences of a replaced rule have no run.
const CHANGED: &str = "the schedule was changed before they were run";

/// Why a change is refused: a code and a message.
pub(super) type Refused = (&'static str, String);

impl Scheduler<'_> {
    /// Applies the given settings; others, and the count of runs, stay.
    pub(super) fn change(&mut self, change: &ScheduleChange) -> Result<(), Refused> {
        let generation = self.saved.revision;
        if let Some(seen) = change.generation.filter(|seen| *seen != generation) {
            let text = format!("the schedule has generation {generation}, not {seen}");
            return Err((SCHEDULE_CHANGED, text));
        }
        let invalid = |problem| (SCHEDULE_INVALID, problem);
        let spec = self.saved.spec.changed(change).map_err(invalid)?;
        if let Some(problem) = spec.problem(self.limits()) {
            return Err(invalid(problem));
        }
        self.replace(spec, self.now());
        Ok(())
    }

    /// Replaces rule, limit and context of a binding; the count of runs stays (S7).
    pub(super) fn upsert(&mut self, mut spec: ScheduleSpec) {
        if !spec.anchored && !self.saved.spec.anchored {
            spec.rule = spec.rule.begun_as(&self.saved.spec.rule);
        }
        // Without a start, the rule begins when it was requested, which may be a little earlier
        // than now.
        let since = if spec.anchored { self.now() } else { spec.rule.begins().min(self.now()) };
        self.saved.generation += 1;
        if let ScheduleInput::Context(context) = &spec.input {
            self.saved.context = context.clone();
        }
        self.replace(spec, since);
    }

    fn replace(&mut self, spec: ScheduleSpec, since: Timestamp) {
        let differences = self.saved.spec.differences(&spec);
        if !differences.is_empty() {
            let (kind, data) = ("changed".to_owned(), Json::of(&differences).unwrap_or_default());
            self.push(Effect::Record { kind, data });
        }
        self.saved.revision += 1;
        if spec.rule != self.saved.spec.rule {
            self.leave_rule(since);
        }
        self.saved.spec = spec;
        self.rearm();
    }

    /// Occurrences that were due by the old rule are decided by it, and none before the change is
    /// decided again.
    fn leave_rule(&mut self, since: Timestamp) {
        if !self.saved.paused {
            self.take_up(GRACE_MS);
        }
        let (now, after) = (self.now(), self.saved.mark.unwrap_or(Timestamp::MIN));
        let (count, first, last) = skipped(&self.saved.spec.rule, after, now);
        if let (Some(first), Some(last)) = (first, last) {
            self.note(first.at, last.at, count, OccurrenceOutcome::Missed, CHANGED);
        }
        // An occurrence that was fired early is not repeated if the new rule has it too.
        let early = self.saved.mark.filter(|mark| *mark > now);
        if let Some(early) = early {
            self.filled(early.saturating_add_millis(1));
        }
        let decided = if early.is_some() { None } else { self.saved.mark };
        let before = Some(since.saturating_add_millis(-1));
        self.saved.mark = decided.max(last.map(|last| last.at)).max(before);
        self.saved.caught_up = 0;
    }

    /// Occurrences before an instant may have had their run.
    pub(super) fn filled(&mut self, to: Timestamp) {
        self.saved.filled_to = self.saved.filled_to.max(Some(to));
    }
}
