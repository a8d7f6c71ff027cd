//! Decides occurrences: started, skipped, missed or waiting. Each of them gets a ledger row (S4,
//! S5).

use std::collections::BTreeMap;

use meantime_core::time::{occurrences, skipped, skipped_at_most};
use meantime_core::{
    CatchUp, ChildSpec, Cx, Effect, EffectKey, Json, Limits, Occurrence, OccurrenceOutcome,
    Overlap, ParentClose, ScheduleInput, ScheduleSpec, Timestamp,
};

use super::saved::{Run, Saved};
use crate::command::DEFINITION_PAUSED;

/// An occurrence that is decided within this time is not late.
pub(super) const GRACE_MS: i64 = 60_000;

/// How many runs one turn starts during catch-up or backfill; the rest follows in later turns, so
/// that other instances get turns in between.
const STARTS_PER_TURN: usize = 50;

/// The conflict code of the commit if an occurrence has had its run.
const OCCURRENCE_TAKEN: &str = "occurrence_taken";

/// One turn of a schedule.
pub(super) struct Scheduler<'a> {
    pub(super) saved: Saved,
    cx: &'a Cx<'a>,
    effects: Vec<Effect>,
    pub(super) end: End,
    /// There is more to do than one turn should do.
    pub(super) more: bool,
}

/// Whether a schedule ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It continues.
    No,
    /// No occurrence is left.
    Complete,
    /// It was cancelled, with a reason.
    Cancelled(String),
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(saved: Saved, cx: &'a Cx<'a>) -> Self {
        Self { saved, cx, effects: Vec::new(), end: End::No, more: false }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.cx.now
    }

    /// Every start is an effect, and each may come with a ledger row or a timer.
    pub(super) fn starts_per_turn(&self) -> usize {
        STARTS_PER_TURN.min(self.cx.limits.effects_per_turn / 2).max(1)
    }

    pub(super) fn limits(&self) -> &'a Limits {
        self.cx.limits
    }

    pub(super) fn finish(self) -> (Saved, Vec<Effect>, End, bool) {
        (self.saved, self.effects, self.end, self.more)
    }

    /// Arms the timer again if another occurrence comes next. The timer of the same occurrence
    /// stays, because an operator may have moved or frozen it.
    pub(super) fn rearm(&mut self) {
        let is_due = !self.saved.paused && !self.is_full();
        let next = self.saved.next().filter(|_| is_due).map(|next| next.at);
        if next.is_none() || next != self.saved.timer.map(|(_, scheduled_at)| scheduled_at) {
            self.arm();
        }
    }

    /// Arms the timer of the next occurrence, unless none is left.
    pub(super) fn arm(&mut self) {
        self.disarm();
        if self.end != End::No || self.saved.paused {
            return;
        }
        if self.is_full() {
            self.end_if_over();
        } else if let Some(next) = self.saved.next() {
            self.arm_at(next.at, next.at);
        } else {
            self.end_if_over();
        }
    }

    fn arm_at(&mut self, due_at: Timestamp, scheduled_at: Timestamp) {
        let key = self.push(Effect::StartTimer { element: "occurrence".to_owned(), due_at });
        self.saved.timer = Some((key, scheduled_at));
    }

    fn disarm(&mut self) {
        if let Some((key, _)) = self.saved.timer.take() {
            self.push(Effect::CancelTimer { key });
        }
    }

    /// The timer of an occurrence has fired.
    pub(super) fn fired(&mut self, key: EffectKey) -> bool {
        let Some((_, scheduled_at)) = self.saved.timer.take_if(|(timer, _)| *timer == key) else {
            return false;
        };
        if scheduled_at > self.cx.now {
            // An operator moved it or fired it: the occurrence is decided early, and is used up.
            self.saved.mark = Some(scheduled_at);
            self.run(scheduled_at);
        } else {
            self.take_up(GRACE_MS);
        }
        self.arm();
        true
    }

    /// Decides all occurrences up to now.
    pub(super) fn take_up(&mut self, grace_ms: i64) {
        let (now, after) = (self.cx.now, self.saved.mark.unwrap_or(Timestamp::MIN));
        let (count, first, last) = skipped(&self.saved.spec.rule, after, now);
        let (Some(first), Some(last)) = (first, last) else { return };
        if self.saved.spec.catch_up == CatchUp::All && count > 1 {
            self.catch_up(count);
            return;
        }
        self.saved.mark = Some(last.at);
        self.saved.caught_up = 0;
        let is_late = now.saturating_since(last.at) > grace_ms;
        let runs = self.saved.spec.catch_up != CatchUp::Skip || !is_late;
        let missed = if runs { count - 1 } else { count };
        if missed > 0 {
            let until = if runs { self.before(last.at, first.at) } else { last.at };
            let reason =
                if runs { "covered by one late run" } else { "the engine was not running" };
            self.note(first.at, until, missed, OccurrenceOutcome::Missed, reason);
        }
        if runs {
            self.run(last.at);
        }
    }

    /// Starts missed occurrences one after the other, limited in total and per turn.
    fn catch_up(&mut self, count: u64) {
        let now = self.cx.now;
        let allowed = self.cx.limits.catch_up_runs.saturating_sub(self.saved.caught_up);
        if count > allowed {
            // The oldest ones are skipped, in one ledger row.
            let after = self.saved.mark.unwrap_or(Timestamp::MIN);
            let given_up = count - allowed;
            let (_, first, last) = skipped_at_most(&self.saved.spec.rule, after, now, given_up);
            let (first, last) = (first.map_or(now, |it| it.at), last.map_or(now, |it| it.at));
            self.note(
                first,
                last,
                given_up,
                OccurrenceOutcome::Missed,
                "more than may be caught up",
            );
            self.saved.mark = Some(last);
        }
        let after = self.saved.mark.unwrap_or(Timestamp::MIN);
        let rule = self.saved.spec.rule.clone();
        let mut due = occurrences(&rule, after).take_while(|it| it.at <= now);
        for scheduled_at in due.by_ref().take(self.starts_per_turn()) {
            self.saved.mark = Some(scheduled_at.at);
            self.saved.caught_up += 1;
            self.run_in_line(scheduled_at.at);
        }
        if due.next().is_none() {
            // The next missed occurrences are another burst.
            self.saved.caught_up = 0;
        }
    }

    /// Decides the run of an occurrence: now, later, or not at all.
    fn run(&mut self, scheduled_at: Timestamp) {
        let spec = &self.saved.spec;
        let queues = spec.evolves() || spec.overlap == Overlap::QueueOne;
        if self.is_full() {
            self.note(
                scheduled_at,
                scheduled_at,
                1,
                OccurrenceOutcome::Skipped,
                "all runs are used up",
            );
        } else if self.saved.running.is_empty() || (!queues && spec.overlap == Overlap::Allow) {
            self.start(scheduled_at);
        } else if queues {
            // Occurrences that pass during a run collapse into one (S5).
            let collapsed = std::mem::replace(&mut self.saved.waiting, vec![scheduled_at]);
            for scheduled_at in collapsed {
                self.note(
                    scheduled_at,
                    scheduled_at,
                    1,
                    OccurrenceOutcome::Skipped,
                    "the run before was still going",
                );
            }
        } else if spec.overlap == Overlap::CancelPrevious {
            let running: Vec<EffectKey> = self.saved.running.iter().map(|run| run.key).collect();
            for key in running {
                self.push(Effect::CancelChild { key });
            }
            self.start(scheduled_at);
        } else {
            self.note(
                scheduled_at,
                scheduled_at,
                1,
                OccurrenceOutcome::Skipped,
                "the run before was still going",
            );
        }
    }

    /// A run that must not be collapsed with others: it waits if it has to.
    fn run_in_line(&mut self, scheduled_at: Timestamp) {
        if self.is_full() {
            self.note(
                scheduled_at,
                scheduled_at,
                1,
                OccurrenceOutcome::Skipped,
                "all runs are used up",
            );
        } else if self.saved.running.is_empty() || self.saved.overlaps() {
            self.start(scheduled_at);
        } else {
            self.saved.waiting.push(scheduled_at);
        }
    }

    pub(super) fn start(&mut self, scheduled_at: Timestamp) {
        let spec = &self.saved.spec;
        let (input, context) = match &spec.input {
            ScheduleInput::Input(input) => (input.clone(), None),
            ScheduleInput::Context(_) => (whom(spec), Some(self.saved.context.clone())),
        };
        let child = ChildSpec {
            version: Some(spec.version),
            at: spec.start.clone(),
            context,
            scheduled_at: Some(scheduled_at),
            // Runs continue after the end of their schedule (S10).
            parent_close: ParentClose::Abandon,
            ..ChildSpec::new(spec.definition.clone(), "run", input)
        };
        let key = self.push(Effect::StartChild(child));
        let generation = self.saved.generation;
        self.saved.running.push(Run { key, scheduled_at, generation, manual: false });
    }

    /// A run has ended: it counts, passes its context on, and makes room for a waiting one.
    pub(super) fn run_ended(&mut self, key: EffectKey, context: Option<Json>) -> bool {
        let Some(index) = self.saved.running.iter().position(|run| run.key == key) else {
            return false;
        };
        let run = self.saved.running.remove(index);
        self.saved.finished += 1;
        if let Some(context) = context.filter(|_| run.generation == self.saved.generation) {
            self.saved.context = context;
        }
        self.make_room();
        true
    }

    /// A run could not be started; the commit gave the reason.
    pub(super) fn run_refused(&mut self, key: EffectKey, code: &str) -> bool {
        let Some(index) = self.saved.running.iter().position(|run| run.key == key) else {
            return false;
        };
        let run = self.saved.running.remove(index);
        if code == OCCURRENCE_TAKEN && run.manual {
            // A run that an operator triggers has no occurrence of the rule, so the next free
            // instant is used.
            self.start_manually(run.scheduled_at.saturating_add_millis(1));
            return true;
        }
        if code == DEFINITION_PAUSED {
            let (at, reason) = (run.scheduled_at, "its definition is paused");
            self.note(at, at, 1, OccurrenceOutcome::Missed, reason);
        } else if code != OCCURRENCE_TAKEN {
            // An occurrence that is taken has its ledger row already.
            self.note(run.scheduled_at, run.scheduled_at, 1, OccurrenceOutcome::Failed, code);
        }
        self.make_room();
        true
    }

    /// A run has ended or was refused: another one may take its place.
    fn make_room(&mut self) {
        self.start_waiting();
        if self.saved.timer.is_none() && !self.saved.paused {
            self.arm();
        } else {
            self.end_if_over();
        }
    }

    /// Starts the occurrence that has waited longest, if no run is in progress. Not while paused.
    fn start_waiting(&mut self) {
        let is_free = |saved: &Saved| !saved.paused && saved.running.is_empty();
        while is_free(&self.saved) && !self.saved.waiting.is_empty() {
            let scheduled_at = self.saved.waiting.remove(0);
            if self.is_full() {
                self.note(
                    scheduled_at,
                    scheduled_at,
                    1,
                    OccurrenceOutcome::Skipped,
                    "all runs are used up",
                );
            } else {
                self.start(scheduled_at);
            }
        }
    }

    pub(super) fn pause(&mut self) {
        self.saved.paused = true;
        self.disarm();
    }

    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.saved.paused) {
            self.start_waiting();
            // Occurrences that passed during the pause are missed, however recent they are.
            self.take_up(0);
            self.arm();
        }
    }

    pub(super) fn trigger(&mut self) {
        if !self.is_full() && (self.saved.overlaps() || self.saved.running.is_empty()) {
            // An occurrence at this very instant keeps its own run.
            let is_occurrence = self.saved.next().is_some_and(|next| next.at == self.cx.now);
            self.start_manually(self.cx.now.saturating_add_millis(i64::from(is_occurrence)));
        } else {
            self.run(self.cx.now);
        }
    }

    fn start_manually(&mut self, at: Timestamp) {
        self.start(at);
        if let Some(run) = self.saved.running.last_mut() {
            run.manual = true;
        }
    }

    pub(super) fn cancel(&mut self, reason: &str) {
        for scheduled_at in std::mem::take(&mut self.saved.waiting) {
            self.note(
                scheduled_at,
                scheduled_at,
                1,
                OccurrenceOutcome::Skipped,
                "the schedule was cancelled",
            );
        }
        self.stop_filling("the schedule was cancelled");
        self.end = End::Cancelled(reason.to_owned());
    }

    /// Whether no further run may start (S5).
    pub(super) fn is_full(&self) -> bool {
        self.saved.runs_left() == Some(0)
    }

    /// Ends the schedule if no run is in progress and no occurrence is left.
    pub(super) fn end_if_over(&mut self) {
        let Saved { running, waiting, backfills, .. } = &self.saved;
        let idle = running.is_empty() && waiting.is_empty() && backfills.is_empty();
        let over = self.is_full() || self.saved.next().is_none();
        if idle && over && !self.saved.paused && self.end == End::No {
            self.end = End::Complete;
        }
    }

    /// The occurrence before one, or the first one.
    fn before(&self, scheduled_at: Timestamp, first: Timestamp) -> Timestamp {
        let before = scheduled_at.saturating_add_millis(-1);
        let after = first.saturating_add_millis(-1);
        let (_, _, last) = skipped(&self.saved.spec.rule, after, before);
        last.map_or(first, |it| it.at)
    }

    pub(super) fn note(
        &mut self,
        scheduled_at: Timestamp,
        last_at: Timestamp,
        count: u64,
        outcome: OccurrenceOutcome,
        reason: &str,
    ) {
        let reason = reason.to_owned();
        let line = Occurrence { scheduled_at, last_at, count, outcome, reason };
        self.push(Effect::Occurrence(line));
    }

    pub(super) fn push(&mut self, effect: Effect) -> EffectKey {
        self.cx.push(&mut self.effects, effect)
    }
}

/// The input of a run that gets a context: its subject.
fn whom(spec: &ScheduleSpec) -> Json {
    let subject = spec.subject.as_ref().map(|subject| BTreeMap::from([("subject", subject)]));
    subject.and_then(|it| Json::of(&it).ok()).unwrap_or_default()
}
