//! K7, P16: a message arrives at most once at each definition, and is not lost before it expires.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{Event, InstanceId, StartCause, Trigger};
use meantime_kernel::command::{Command, Reply};
use meantime_kernel::store::Phase;

use super::run_record::payload_serial;
use super::run_record::{CallRecord, ObservedTurn, RunRecord};
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let Some(waiting) = &run.rows.waiting else { return };
    if !run.has_turns {
        return;
    }
    let mut arrived: BTreeMap<u64, Vec<InstanceId>> = BTreeMap::new();
    for (id, turns) in &run.turns {
        for event in turns.iter().flat_map(ObservedTurn::taken) {
            if let Event::Message { payload, .. } = event
                && let Some(number) = payload_serial(payload)
            {
                arrived.entry(number).or_default().push(*id);
            }
        }
    }
    for (id, cause, input) in run.starts() {
        if let (StartCause::Message { .. }, Some(number)) = (cause, payload_serial(&input)) {
            arrived.entry(number).or_default().push(id);
        }
    }
    for row in &waiting.inbox {
        if let Event::Message { payload, .. } = &row.event
            && let Some(number) = payload_serial(payload)
        {
            arrived.entry(number).or_default().push(row.instance);
        }
    }
    let kept = waiting.messages.iter().filter_map(|it| payload_serial(&it.payload));
    let kept: BTreeSet<u64> = kept.collect();
    let begun: BTreeSet<InstanceId> = run.starts().into_iter().map(|(id, ..)| id).collect();
    let is_blurred = run.accepted.iter().any(|id| !begun.contains(id));
    let mut sent: BTreeMap<u64, Vec<&CallRecord>> = BTreeMap::new();
    for call in &run.calls {
        if let Command::Publish(message) = &call.command
            && let Some(number) = payload_serial(&message.payload)
        {
            sent.entry(number).or_default().push(call);
        }
    }
    for (number, calls) in sent {
        let arrivals = arrived.get(&number).map_or(&[][..], Vec::as_slice);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        // The definition of an instance that was removed is not known any more.
        for row in arrivals.iter().filter_map(|id| run.rows.instances.get(id)) {
            *counts.entry(run.rows.name_of(row)).or_default() += 1;
        }
        for (name, count) in counts {
            if count > allowed(run, &calls) {
                findings.add(format!("message {number} arrived {count} times at {name:?}"));
            }
        }
        // The message of an instance that could not start ended together with that instance.
        let is_excused = run.held.contains(&number)
            || (is_blurred && calls.iter().any(|call| may_start(run, call)));
        let lost = calls.iter().find(|call| must_be_stored(run, call) && !is_excused);
        let is_there = !arrivals.is_empty() || kept.contains(&number);
        if let Some(call) = lost.filter(|_| !is_there) {
            findings.add(format!("message {number} of call {} is lost", call.number));
        }
    }
}

/// How often a message may arrive: once, unless it was repeated after its id had expired.
fn allowed(run: &RunRecord, calls: &[&CallRecord]) -> usize {
    let first = calls.iter().map(|call| call.time).min().unwrap_or_default();
    let last = calls.iter().map(|call| call.answered.unwrap_or(run.rows.now)).max();
    let width = last.unwrap_or_default().saturating_since(first);
    let window = i64::try_from(run.limits.dedup_ms).unwrap_or(i64::MAX);
    if width >= window || run.may_have_forgotten { calls.len() } else { 1 }
}

/// Whether the name of the message starts instances.
fn may_start(run: &RunRecord, call: &CallRecord) -> bool {
    let Command::Publish(message) = &call.command else { return false };
    let mut triggers = run.rows.definitions.values().flat_map(|row| &row.triggers);
    triggers.any(|it| matches!(it, Trigger::Message { name, .. } if *name == message.name))
}

/// Whether a message was acknowledged, has not expired, and must be stored or delivered.
fn must_be_stored(run: &RunRecord, call: &CallRecord) -> bool {
    let Command::Publish(message) = &call.command else { return false };
    let Some(Reply::Published { duplicate: false, delivered, .. }) = call.reply() else {
        return false;
    };
    let ttl = message.ttl_ms.unwrap_or(run.limits.message_ttl_ms);
    let expiry = call.time.saturating_add_millis(i64::try_from(ttl).unwrap_or(i64::MAX));
    // An instance that ended with an incident takes its held events with it, a removed instance
    // cannot be checked, and an instance that could not start has the message nevertheless.
    let is_known = |id: &InstanceId| {
        let row = run.rows.instances.get(id);
        row.is_some_and(|row| !row.phase.is_ended() && row.phase != Phase::Starting)
    };
    expiry > run.rows.now && delivered.iter().all(is_known)
}
