//! Reads a whole store and reports what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, TaskId, Timestamp};
use meantime_kernel::store::{Error, HistoryRow, InstanceRow, Store};

use super::acknowledged::Acknowledged;
use super::instance_summary::InstanceSummary;
use crate::checker::{RunRecord, StoredRows, check_rows_at_rest, check_run};
use crate::harness::block_on;

/// The result of an audit.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Instances in the store.
    pub instances: usize,
    /// How many of them have ended.
    pub ended: usize,
    /// Turns that were read.
    pub turns: usize,
    /// Timers that have fired.
    pub fired: usize,
    /// Tasks that have an outcome.
    pub done: usize,
    /// The number of signals that each instance has taken.
    pub signals: BTreeMap<InstanceId, usize>,
    /// Tasks that have an outcome.
    pub outcomes: BTreeSet<TaskId>,
    /// Acknowledged, but missing from the store.
    pub lost: Vec<String>,
    /// All other violations.
    pub problems: Vec<String>,
}

impl Audit {
    /// Whether no violation was found.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.problems.is_empty()
    }
}

/// The moment at which a store is audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditPoint {
    /// At any moment, with work in progress.
    Anytime,
    /// When all instances have ended.
    AtEnd,
}

/// Compares a store with what was acknowledged, and checks that it is consistent.
pub fn audit(
    store: &dyn Store,
    acknowledged: &Acknowledged,
    when: AuditPoint,
) -> Result<Audit, Error> {
    let mut audit = Audit { problems: block_on(store.check())?, ..Audit::default() };
    let rows = StoredRows::read(store, Timestamp::MAX)?;
    let run = RunRecord { rows, ..RunRecord::default() };
    let mut violations = Vec::new();
    match when {
        AuditPoint::Anytime => check_rows_at_rest(&run, &mut violations),
        AuditPoint::AtEnd => check_run(&run, &mut violations),
    }
    audit.problems.extend(violations.iter().map(ToString::to_string));
    let mut summaries = BTreeMap::new();
    for row in run.rows.instances.values() {
        let history = run.rows.histories.get(&row.id).map_or(&[][..], Vec::as_slice);
        summaries.insert(row.id, summarize_instance(row, history, &mut audit));
    }
    check_acknowledged(acknowledged, &summaries, &mut audit);
    Ok(audit)
}

fn summarize_instance(
    row: &InstanceRow,
    history: &[HistoryRow],
    audit: &mut Audit,
) -> InstanceSummary {
    let summary = InstanceSummary::read(row, history);
    audit.instances += 1;
    audit.ended += usize::from(row.phase.is_ended());
    audit.turns += history.len();
    audit.fired += summary.fired;
    audit.done += summary.completed_tasks();
    audit.outcomes.extend(summary.tasks_with_outcome());
    audit.signals.insert(row.id, summary.signals);
    audit.problems.extend(summary.problems.iter().map(|problem| format!("{}: {problem}", row.id)));
    summary
}

/// Checks that everything that was acknowledged is present.
fn check_acknowledged(
    acknowledged: &Acknowledged,
    summaries: &BTreeMap<InstanceId, InstanceSummary>,
    audit: &mut Audit,
) {
    for id in acknowledged.started.keys() {
        if !summaries.contains_key(id) {
            audit.lost.push(format!("{id} was started and is not there"));
        }
    }
    let mut signals: BTreeMap<InstanceId, usize> = BTreeMap::new();
    for (id, _) in &acknowledged.signalled {
        *signals.entry(*id).or_default() += 1;
    }
    for (id, told) in signals {
        let taken = summaries.get(&id).map_or(0, |summary| summary.signals);
        if taken < told {
            audit.lost.push(format!("{id} has {taken} signals, {told} were acknowledged"));
        }
    }
    for task in acknowledged.completed.keys() {
        let outcomes =
            summaries.get(&task.0.instance).map_or(0, |summary| summary.outcomes(task.0));
        if outcomes == 0 {
            audit.lost.push(format!("{task} was completed and has no outcome"));
        }
    }
}
