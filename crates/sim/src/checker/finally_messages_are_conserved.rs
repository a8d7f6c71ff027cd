//! K7, P16: a message arrives once at most at each definition, and is not lost before its time.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{Event, InstanceId, StartCause, Trigger};
use meantime_kernel::command::{Command, Reply};
use meantime_kernel::store::Phase;

use super::chronicle::{Call, Chronicle, TurnSeen};
use super::serial::serial;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let Some(waiting) = &chronicle.rows.waiting else { return };
    if !chronicle.listened {
        return;
    }
    let mut arrived: BTreeMap<u64, Vec<InstanceId>> = BTreeMap::new();
    for (id, turns) in &chronicle.turns {
        for event in turns.iter().flat_map(TurnSeen::taken) {
            if let Event::Message { payload, .. } = event
                && let Some(number) = serial(payload)
            {
                arrived.entry(number).or_default().push(*id);
            }
        }
    }
    for (id, cause, input) in chronicle.starts() {
        if let (StartCause::Message { .. }, Some(number)) = (cause, serial(&input)) {
            arrived.entry(number).or_default().push(id);
        }
    }
    for row in &waiting.inbox {
        if let Event::Message { payload, .. } = &row.event
            && let Some(number) = serial(payload)
        {
            arrived.entry(number).or_default().push(row.instance);
        }
    }
    let kept = waiting.messages.iter().filter_map(|it| serial(&it.payload));
    let kept: BTreeSet<u64> = kept.collect();
    let begun: BTreeSet<InstanceId> = chronicle.starts().into_iter().map(|(id, ..)| id).collect();
    let is_blurred = chronicle.accepted.iter().any(|id| !begun.contains(id));
    let mut sent: BTreeMap<u64, Vec<&Call>> = BTreeMap::new();
    for call in &chronicle.calls {
        if let Command::Publish(message) = &call.command
            && let Some(number) = serial(&message.payload)
        {
            sent.entry(number).or_default().push(call);
        }
    }
    for (number, calls) in sent {
        let arrivals = arrived.get(&number).map_or(&[][..], Vec::as_slice);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        // Of instances that were removed nobody knows the definition.
        for row in arrivals.iter().filter_map(|id| chronicle.rows.instances.get(id)) {
            *counts.entry(chronicle.rows.name_of(row)).or_default() += 1;
        }
        for (name, count) in counts {
            if count > allowed(chronicle, &calls) {
                found.say(format!("message {number} arrived {count} times at {name:?}"));
            }
        }
        // An instance that could not start, and was ended, took its message along.
        let is_excused = chronicle.held.contains(&number)
            || (is_blurred && calls.iter().any(|call| may_start(chronicle, call)));
        let lost = calls.iter().find(|call| must_be_there(chronicle, call) && !is_excused);
        let is_there = !arrivals.is_empty() || kept.contains(&number);
        if let Some(call) = lost.filter(|_| !is_there) {
            found.say(format!("message {number} of call {} is lost", call.number));
        }
    }
}

/// How often a message may arrive: once, unless it was repeated after its id was forgotten.
fn allowed(chronicle: &Chronicle, calls: &[&Call]) -> usize {
    let first = calls.iter().map(|call| call.time).min().unwrap_or_default();
    let last = calls.iter().map(|call| call.answered.unwrap_or(chronicle.rows.now)).max();
    let width = last.unwrap_or_default().saturating_since(first);
    let window = i64::try_from(chronicle.limits.dedup_ms).unwrap_or(i64::MAX);
    if width >= window || chronicle.may_have_forgotten { calls.len() } else { 1 }
}

/// Whether the message is of a name that starts instances.
fn may_start(chronicle: &Chronicle, call: &Call) -> bool {
    let Command::Publish(message) = &call.command else { return false };
    let mut triggers = chronicle.rows.definitions.values().flat_map(|row| &row.triggers);
    triggers.any(|it| matches!(it, Trigger::Message { name, .. } if *name == message.name))
}

/// Whether a message was acknowledged, has not expired, and nobody could have thrown it away.
fn must_be_there(chronicle: &Chronicle, call: &Call) -> bool {
    let Command::Publish(message) = &call.command else { return false };
    let Some(Reply::Published { duplicate: false, delivered, .. }) = call.done() else {
        return false;
    };
    let ttl = message.ttl_ms.unwrap_or(chronicle.limits.message_ttl_ms);
    let expiry = call.time.saturating_add_millis(i64::try_from(ttl).unwrap_or(i64::MAX));
    // What ended with an incident took what was held along; what was removed cannot be asked; and
    // what could not start has it all the same.
    let is_known = |id: &InstanceId| {
        let row = chronicle.rows.instances.get(id);
        row.is_some_and(|row| !row.phase.is_ended() && row.phase != Phase::Starting)
    };
    expiry > chronicle.rows.now && delivered.iter().all(is_known)
}
