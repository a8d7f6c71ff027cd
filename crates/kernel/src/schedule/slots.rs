//! What becomes of slots: started, skipped, missed or waiting. Every one leaves a line (S4, S5).

use std::collections::BTreeMap;

use meantime_core::time::{occurrences, skipped, skipped_at_most};
use meantime_core::{
    CatchUp, ChildSpec, Cx, Effect, EffectKey, Handed, Json, Limits, Occurrence, Overlap,
    ParentClose, ScheduleSpec, SlotOutcome, Timestamp,
};

use super::saved::{Run, Saved};

/// A slot that is taken up within this time is not late.
const GRACE_MS: i64 = 60_000;

/// How many runs one turn starts while it catches up; the rest follows through the timer, so that
/// other work gets its turn in between.
const STARTS_PER_TURN: u64 = 50;

/// What the commit answers when a slot has had its run.
const SLOT_TAKEN: &str = "slot_taken";

/// One turn of a schedule.
pub(super) struct Scheduler<'a> {
    saved: Saved,
    cx: &'a Cx<'a>,
    effects: Vec<Effect>,
    end: End,
}

/// Whether a schedule goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It does.
    No,
    /// Nothing more can come.
    Complete,
    /// Somebody ended it, with a reason.
    Cancelled(String),
}

impl<'a> Scheduler<'a> {
    pub(super) fn new(saved: Saved, cx: &'a Cx<'a>) -> Self {
        Self { saved, cx, effects: Vec::new(), end: End::No }
    }

    pub(super) fn limits(&self) -> &'a Limits {
        self.cx.limits
    }

    pub(super) fn finish(self) -> (Saved, Vec<Effect>, End) {
        (self.saved, self.effects, self.end)
    }

    /// Arms the timer of the next slot, unless nothing more is to come.
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

    fn arm_at(&mut self, due_at: Timestamp, slot: Timestamp) {
        let key = self.push(Effect::StartTimer { place: "slot".to_owned(), due_at });
        self.saved.timer = Some((key, slot));
    }

    fn disarm(&mut self) {
        if let Some((key, _)) = self.saved.timer.take() {
            self.push(Effect::CancelTimer { key });
        }
    }

    /// The timer of a slot has fired.
    pub(super) fn fired(&mut self, key: EffectKey) -> bool {
        let Some((_, slot)) = self.saved.timer.take_if(|(timer, _)| *timer == key) else {
            return false;
        };
        if slot > self.cx.now {
            // Somebody fired it by hand: the slot is taken up early, and is used up.
            self.saved.mark = Some(slot);
            self.run(slot);
        } else {
            self.take_up(GRACE_MS);
        }
        self.arm();
        true
    }

    /// Decides every slot up to now.
    fn take_up(&mut self, grace_ms: i64) {
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
            let reason = if runs { "taken up by one late run" } else { "nobody was there" };
            self.note(first.at, until, missed, SlotOutcome::Missed, reason);
        }
        if runs {
            self.run(last.at);
        }
    }

    /// Starts missed slots one after the other, a bounded number in all and in one turn.
    fn catch_up(&mut self, count: u64) {
        let now = self.cx.now;
        let allowed = self.cx.limits.catch_up_runs.saturating_sub(self.saved.caught_up);
        if count > allowed {
            // The oldest ones are given up, in one line.
            let after = self.saved.mark.unwrap_or(Timestamp::MIN);
            let given_up = count - allowed;
            let (_, first, last) = skipped_at_most(&self.saved.spec.rule, after, now, given_up);
            let (first, last) = (first.map_or(now, |it| it.at), last.map_or(now, |it| it.at));
            self.note(first, last, given_up, SlotOutcome::Missed, "more than may be caught up");
            self.saved.mark = Some(last);
        }
        let after = self.saved.mark.unwrap_or(Timestamp::MIN);
        let rule = self.saved.spec.rule.clone();
        let due = occurrences(&rule, after).take_while(|slot| slot.at <= now);
        let limit = usize::try_from(STARTS_PER_TURN).unwrap_or(usize::MAX);
        for slot in due.take(limit) {
            self.saved.mark = Some(slot.at);
            self.saved.caught_up += 1;
            self.run_in_line(slot.at);
        }
    }

    /// A slot's run: now, later, or not at all.
    fn run(&mut self, slot: Timestamp) {
        let spec = &self.saved.spec;
        let queues = spec.evolves() || spec.overlap == Overlap::QueueOne;
        if self.is_full() {
            self.note(slot, slot, 1, SlotOutcome::Skipped, "all runs are used up");
        } else if self.saved.running.is_empty() || (!queues && spec.overlap == Overlap::Allow) {
            self.start(slot);
        } else if queues {
            // Slots that pass while a run is going collapse into one (S5).
            let collapsed = std::mem::replace(&mut self.saved.waiting, vec![slot]);
            for slot in collapsed {
                self.note(slot, slot, 1, SlotOutcome::Skipped, "the run before was still going");
            }
        } else if spec.overlap == Overlap::CancelPrevious {
            let running: Vec<EffectKey> = self.saved.running.iter().map(|run| run.key).collect();
            for key in running {
                self.push(Effect::CancelChild { key });
            }
            self.start(slot);
        } else {
            self.note(slot, slot, 1, SlotOutcome::Skipped, "the run before was still going");
        }
    }

    /// A run that must not be collapsed with others: it waits in line if it has to.
    fn run_in_line(&mut self, slot: Timestamp) {
        let allows = !self.saved.spec.evolves() && self.saved.spec.overlap == Overlap::Allow;
        if self.is_full() {
            self.note(slot, slot, 1, SlotOutcome::Skipped, "all runs are used up");
        } else if self.saved.running.is_empty() || allows {
            self.start(slot);
        } else {
            self.saved.waiting.push(slot);
        }
    }

    fn start(&mut self, slot: Timestamp) {
        let spec = &self.saved.spec;
        let (input, context) = match &spec.input {
            Handed::Input(input) => (input.clone(), None),
            Handed::Context(_) => (whom(spec), Some(self.saved.context.clone())),
        };
        let child = ChildSpec {
            version: Some(spec.version),
            at: spec.start.clone(),
            context,
            slot: Some(slot),
            // Runs outlive their schedule (S10).
            parent_close: ParentClose::Abandon,
            ..ChildSpec::new(spec.definition.clone(), "run", input)
        };
        let key = self.push(Effect::StartChild(child));
        let generation = self.saved.generation;
        self.saved.running.push(Run { key, slot, generation, manual: false });
    }

    /// A run is over: it counts, hands its context on, and makes room for one that waits.
    pub(super) fn run_ended(&mut self, key: EffectKey, context: Option<Json>) -> bool {
        let Some(place) = self.saved.running.iter().position(|run| run.key == key) else {
            return false;
        };
        let run = self.saved.running.remove(place);
        self.saved.finished += 1;
        if let Some(context) = context.filter(|_| run.generation == self.saved.generation) {
            self.saved.context = context;
        }
        self.start_waiting();
        true
    }

    /// A run could not be started; the commit said why.
    pub(super) fn run_refused(&mut self, key: EffectKey, code: &str) -> bool {
        let Some(place) = self.saved.running.iter().position(|run| run.key == key) else {
            return false;
        };
        let run = self.saved.running.remove(place);
        if code == SLOT_TAKEN && run.manual {
            // A run by hand has no slot of the rule: the next free instant is as good.
            self.start_by_hand(run.slot.saturating_add_millis(1));
            return true;
        }
        // A slot that is taken has its line already.
        if code != SLOT_TAKEN {
            self.note(run.slot, run.slot, 1, SlotOutcome::Failed, code);
        }
        self.start_waiting();
        true
    }

    fn start_waiting(&mut self) {
        while self.saved.running.is_empty() && !self.saved.waiting.is_empty() {
            let slot = self.saved.waiting.remove(0);
            if self.is_full() {
                self.note(slot, slot, 1, SlotOutcome::Skipped, "all runs are used up");
            } else {
                self.start(slot);
            }
        }
        if self.saved.timer.is_none() && !self.saved.paused {
            self.arm();
        } else {
            self.end_if_over();
        }
    }

    pub(super) fn pause(&mut self) {
        self.saved.paused = true;
        self.disarm();
    }

    pub(super) fn resume(&mut self) {
        if std::mem::take(&mut self.saved.paused) {
            // What passed in the meantime is missed, whatever is recent.
            self.take_up(0);
            self.arm();
        }
    }

    pub(super) fn trigger(&mut self) {
        let allows = !self.saved.spec.evolves() && self.saved.spec.overlap == Overlap::Allow;
        if !self.is_full() && (allows || self.saved.running.is_empty()) {
            self.start_by_hand(self.cx.now);
        } else {
            self.run(self.cx.now);
        }
    }

    fn start_by_hand(&mut self, at: Timestamp) {
        self.start(at);
        if let Some(run) = self.saved.running.last_mut() {
            run.manual = true;
        }
    }

    /// Runs for the slots of a range; those that had one keep it.
    pub(super) fn backfill(&mut self, from: Timestamp, to: Timestamp) {
        let rule = self.saved.spec.rule.clone();
        let slots = occurrences(&rule, from.saturating_add_millis(-1));
        let slots = slots.take_while(|slot| slot.at < to);
        let limit = usize::try_from(self.cx.limits.catch_up_runs).unwrap_or(usize::MAX);
        for slot in slots.take(limit) {
            self.run_in_line(slot.at);
        }
    }

    /// Another rule, limit or context; the count of runs stays (S7).
    pub(super) fn replace(&mut self, mut spec: ScheduleSpec, with_context: bool) {
        if with_context && !spec.anchored && !self.saved.spec.anchored {
            spec.rule = spec.rule.begun_as(&self.saved.spec.rule);
        }
        let same_grid = spec.rule == self.saved.spec.rule;
        if with_context {
            self.saved.generation += 1;
            if let Handed::Context(context) = &spec.input {
                self.saved.context = context.clone();
            }
        }
        self.saved.spec = spec;
        // The same grid keeps its next slot (S8); another one begins anew.
        if !same_grid {
            self.saved.mark = None;
        }
        self.arm();
    }

    pub(super) fn cancel(&mut self, reason: &str) {
        for slot in std::mem::take(&mut self.saved.waiting) {
            self.note(slot, slot, 1, SlotOutcome::Skipped, "the schedule was cancelled");
        }
        self.end = End::Cancelled(reason.to_owned());
    }

    /// Whether no further run may start (S5).
    fn is_full(&self) -> bool {
        let running = u64::try_from(self.saved.running.len()).unwrap_or(u64::MAX);
        self.saved.spec.max_runs.is_some_and(|most| self.saved.finished + running >= most)
    }

    /// A schedule is complete when nothing runs and nothing more can come.
    fn end_if_over(&mut self) {
        let idle = self.saved.running.is_empty() && self.saved.waiting.is_empty();
        let over = self.is_full() || self.saved.next().is_none();
        if idle && over && !self.saved.paused && self.end == End::No {
            self.end = End::Complete;
        }
    }

    /// The slot before one, at least the first.
    fn before(&self, slot: Timestamp, first: Timestamp) -> Timestamp {
        let before = slot.saturating_add_millis(-1);
        let after = first.saturating_add_millis(-1);
        let (_, _, last) = skipped(&self.saved.spec.rule, after, before);
        last.map_or(first, |slot| slot.at)
    }

    fn note(
        &mut self,
        slot_at: Timestamp,
        last_at: Timestamp,
        count: u64,
        outcome: SlotOutcome,
        reason: &str,
    ) {
        let reason = reason.to_owned();
        let line = Occurrence { slot_at, last_at, count, outcome, reason };
        self.push(Effect::Occurrence(line));
    }

    fn push(&mut self, effect: Effect) -> EffectKey {
        let key = self.cx.key_of(self.effects.len());
        self.effects.push(effect);
        key
    }
}

/// The input of a run that gets a context: whom it is for.
fn whom(spec: &ScheduleSpec) -> Json {
    let subject = spec.subject.as_ref().map(|subject| BTreeMap::from([("subject", subject)]));
    subject.and_then(|it| Json::of(&it).ok()).unwrap_or_default()
}
