//! I1, I3: the open list of an instance agrees with the rows of its timers, tasks, subscriptions
//! and children.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{Answer, Channel, Event, InstanceId, SCHEDULE_CONFLICT, TaskId, TimerId};
use meantime_kernel::open::Key;
use meantime_kernel::store::{InstanceRow, TaskState};

use super::run_record::RunRecord;
use super::stored_rows::StoredWaits;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let rows = &run.rows;
    for row in rows.live() {
        check_timers_and_tasks(run, row, findings);
        if let Some(waiting) = &rows.waiting {
            subscriptions(waiting, row, findings);
            children(run, waiting, row, findings);
        }
        let incidents = rows.incidents.values().filter(|it| it.instance == row.id).count();
        if incidents != usize::try_from(row.meta.incidents).unwrap_or(usize::MAX) {
            let text = format!("it counts {} incidents of {incidents}", row.meta.incidents);
            findings.add_for(row.id, text);
        }
    }
    check_orphan_rows(run, findings);
    keys(run, findings);
}

fn check_timers_and_tasks(run: &RunRecord, row: &InstanceRow, findings: &mut Findings<'_>) {
    for (key, timer) in &row.open.timers {
        let at = timer.row_key(key.of(row.id));
        if !run.rows.timers.contains_key(&at) {
            findings
                .add_for(row.id, format!("open timer {} has no row at {at:?}", TimerId(at.id.0)));
        }
    }
    for key in row.open.tasks.keys() {
        let id = TaskId(key.of(row.id));
        if !run.rows.tasks.contains_key(&id) {
            findings.add_for(row.id, format!("open task {id} has no row"));
        }
    }
}

/// Every subscription to a shared channel has a row, or an event that answers it.
fn subscriptions(waiting: &StoredWaits, row: &InstanceRow, findings: &mut Findings<'_>) {
    for (key, open) in &row.open.subscriptions {
        let key = key.of(row.id);
        let has_row = waiting.subscriptions.iter().any(|it| it.key == key)
            || matches!(open.channel, Channel::Signal { .. });
        let has_event = waiting.inbox.iter().any(|it| it.event.key() == Some(key));
        if !has_row && !has_event {
            findings.add_for(row.id, format!("it waits at {key} and nobody knows"));
        }
    }
}

fn children(
    run: &RunRecord,
    waiting: &StoredWaits,
    row: &InstanceRow,
    findings: &mut Findings<'_>,
) {
    let live = run.rows.children.get(&row.id).map_or(0, Vec::len);
    let ended = waiting.inbox.iter().filter(|it| it.instance == row.id);
    let ended = ended.filter(|it| match &it.event {
        Event::ChildDone { .. } => true,
        Event::EffectDone { answer: Answer::Conflict { code }, .. } => {
            !code.starts_with(SCHEDULE_CONFLICT)
        }
        _ => false,
    });
    let known = live + ended.count();
    if usize::try_from(row.open.children).unwrap_or(usize::MAX) != known {
        findings.add_for(row.id, format!("it counts {} children of {known}", row.open.children));
    }
}

/// Rows whose instance does not exist.
fn check_orphan_rows(run: &RunRecord, findings: &mut Findings<'_>) {
    let rows = &run.rows;
    let live = |id: InstanceId| rows.instances.get(&id).filter(|row| !row.phase.is_ended());
    for key in rows.timers.keys() {
        let open = live(key.id.0.instance).and_then(|row| {
            row.open.timers.get(&Key::from(key.id.0)).map(|it| it.row_key(key.id.0))
        });
        if open != Some(*key) {
            findings.add_for(key.id.0.instance, format!("timer row {key:?} is not open"));
        }
    }
    for row in rows.tasks.values().filter(|row| row.state != TaskState::Done) {
        let id = row.id.0;
        let is_open =
            live(id.instance).is_some_and(|it| it.open.tasks.contains_key(&Key::from(id)));
        let is_alone = row.spec.detached && live(id.instance).is_none();
        if !is_open && !is_alone {
            findings.add_for(id.instance, format!("task row {} is not open", row.id));
        }
    }
    for row in rows.incidents.values().filter(|row| live(row.instance).is_none()) {
        findings.add_for(row.instance, format!("incident {} of an instance that is over", row.id));
    }
    for row in rows.waiting.iter().flat_map(|waiting| &waiting.subscriptions) {
        let key = Key::from(row.key);
        let open = live(row.key.instance).and_then(|it| it.open.subscriptions.get(&key));
        if open.is_none() {
            findings.add_for(
                row.key.instance,
                format!("{} waits on a channel and is not open", row.key),
            );
        }
    }
    for row in rows.waiting.iter().flat_map(|waiting| &waiting.inbox) {
        if live(row.instance).is_none() {
            findings
                .add_for(row.instance, format!("{} waits for an instance that is over", row.seq));
        }
    }
}

/// At most one live instance of a definition has a given business key.
fn keys(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut holders: BTreeMap<(&str, &str), BTreeSet<InstanceId>> = BTreeMap::new();
    for row in run.rows.live() {
        if let Some(key) = &row.key {
            holders.entry((run.rows.name_of(row), key)).or_default().insert(row.id);
        }
    }
    for ((name, key), ids) in holders.into_iter().filter(|(_, ids)| ids.len() > 1) {
        findings.add(format!("key {key:?} of {name:?} is held by {ids:?}"));
    }
}
