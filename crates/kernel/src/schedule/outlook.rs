//! The future runs of a schedule if nothing changes, computed by the functions that start them
//! (O3).
//!
//! The first fire is that of the armed timer, which an operator may have moved or frozen and which
//! may be overdue; it decides several occurrences, as the schedule's own turn would. After it every
//! occurrence fires at its time, as long as runs are left. How long runs take is not known: the
//! outlook assumes that each has ended when the next one is due.

use std::collections::BTreeSet;

use meantime_core::time::{occurrences, skipped, skipped_at_most};
use meantime_core::{CatchUp, Limits, Timestamp};

use super::saved::ScheduleView;
use super::scheduler::GRACE_MS;

/// A run that will be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fire {
    /// When.
    pub at: Timestamp,
    /// The occurrence it is for.
    pub scheduled_at: Timestamp,
}

/// The future runs of one schedule.
#[derive(Debug)]
pub struct Outlook<'a> {
    view: &'a ScheduleView,
    /// Occurrences that had their run before their time.
    filled: &'a BTreeSet<Timestamp>,
    /// The runs that the armed timer starts.
    first: Vec<Fire>,
    /// Occurrences after this one fire at their time.
    after: Timestamp,
    /// How many of those may run.
    left: u64,
}

impl<'a> Outlook<'a> {
    /// The outlook from an instant on. `filled` are the occurrences after [`ScheduleView::mark`]
    /// that the ledger lists as started.
    pub fn new(
        view: &'a ScheduleView,
        now: Timestamp,
        filled: &'a BTreeSet<Timestamp>,
        limits: &Limits,
    ) -> Self {
        let mut outlook = Self { view, filled, first: Vec::new(), after: Timestamp::MAX, left: 0 };
        let Some(armed) = view.armed.filter(|it| !it.frozen && !view.paused) else {
            return outlook;
        };
        outlook.left = view.runs_left();
        let at = armed.due_at.max(now);
        let occurrences = if armed.scheduled_at > at {
            outlook.after = armed.scheduled_at;
            vec![armed.scheduled_at]
        } else {
            outlook.due_together(at, limits.catch_up_runs)
        };
        let is_open = |at: &Timestamp| !filled.contains(at);
        let runs = usize::try_from(outlook.left).unwrap_or(usize::MAX);
        let occurrences = occurrences.into_iter().filter(is_open).take(runs);
        outlook.first = occurrences.map(|scheduled_at| Fire { at, scheduled_at }).collect();
        let started = u64::try_from(outlook.first.len()).unwrap_or(u64::MAX);
        outlook.left = outlook.left.saturating_sub(started);
        outlook
    }

    /// The occurrences that one fire of the timer starts; see `Scheduler::take_up`.
    fn due_together(&mut self, at: Timestamp, most: u64) -> Vec<Timestamp> {
        let (rule, spec) = (&self.view.spec.rule, &self.view.spec);
        let after = self.view.mark.unwrap_or(Timestamp::MIN);
        let (count, _, last) = skipped(rule, after, at);
        let Some(last) = last else { return Vec::new() };
        self.after = last.at;
        if spec.catch_up == CatchUp::All && count > 1 {
            // The oldest ones are skipped.
            let given_up = skipped_at_most(rule, after, at, count.saturating_sub(most)).2;
            let after = given_up.map_or(after, |it| it.at);
            let due = occurrences(rule, after).take_while(|it| it.at <= at);
            return due.map(|it| it.at).collect();
        }
        let is_late = at.saturating_since(last.at) > GRACE_MS;
        let runs = spec.catch_up != CatchUp::Skip || !is_late;
        runs.then_some(last.at).into_iter().collect()
    }

    /// The runs that start from one instant up to another, exclusive, in order.
    pub fn fires(&self, from: Timestamp, to: Timestamp) -> impl Iterator<Item = Fire> {
        let first = self.first.iter().copied().filter(move |fire| from <= fire.at && fire.at < to);
        let before = from.saturating_add_millis(-1);
        let left = self.left.saturating_sub(self.occurrences_between(self.after, before));
        let rest = occurrences(&self.view.spec.rule, self.after.max(before));
        let rest = rest.take_while(move |it| it.at < to);
        let rest = rest.filter(|it| !self.filled.contains(&it.at));
        let rest = rest.take(usize::try_from(left).unwrap_or(usize::MAX));
        first.chain(rest.map(|it| Fire { at: it.at, scheduled_at: it.at }))
    }

    /// The number of these runs, without iterating over them.
    pub fn count(&self, from: Timestamp, to: Timestamp) -> u64 {
        let first = self.first.iter().filter(|fire| from <= fire.at && fire.at < to).count();
        let before = from.saturating_add_millis(-1);
        let left = self.left.saturating_sub(self.occurrences_between(self.after, before));
        let rest = self.occurrences_between(self.after.max(before), to.saturating_add_millis(-1));
        u64::try_from(first).unwrap_or(u64::MAX).saturating_add(rest.min(left))
    }

    /// How many occurrences without a run there are after one instant and up to another.
    fn occurrences_between(&self, after: Timestamp, to: Timestamp) -> u64 {
        if to <= after {
            return 0;
        }
        let filled = self.filled.range(after.saturating_add_millis(1)..=to);
        let is_occurrence = |at: &&Timestamp| {
            let next = occurrences(&self.view.spec.rule, at.saturating_add_millis(-1)).next();
            next.is_some_and(|next| next.at == **at)
        };
        let filled = u64::try_from(filled.filter(is_occurrence).count()).unwrap_or(u64::MAX);
        skipped(&self.view.spec.rule, after, to).0.saturating_sub(filled)
    }
}

impl ScheduleView {
    /// The next runs, if nothing changes.
    pub fn preview(
        &self,
        now: Timestamp,
        filled: &BTreeSet<Timestamp>,
        limits: &Limits,
        count: usize,
    ) -> Vec<Timestamp> {
        let outlook = Outlook::new(self, now, filled, limits);
        outlook.fires(Timestamp::MIN, Timestamp::MAX).take(count).map(|fire| fire.at).collect()
    }
}
