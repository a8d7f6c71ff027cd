//! K1, P1: a start that was acknowledged is there, and no start happens twice.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, StartCause};
use meantime_kernel::command::{Command, Reply};

use super::chronicle::Chronicle;
use super::serial::serial;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let mut started: BTreeMap<u64, Vec<InstanceId>> = BTreeMap::new();
    for (id, cause, input) in chronicle.starts() {
        if let (StartCause::Api, Some(number)) = (cause, serial(input)) {
            started.entry(number).or_default().push(id);
        }
    }
    let mut asked: BTreeMap<u64, usize> = BTreeMap::new();
    for call in &chronicle.calls {
        let Command::Start(start) = &call.command else { continue };
        let Some(number) = serial(&start.input) else { continue };
        *asked.entry(number).or_default() += 1;
        let Some(Reply::Started { instance, repeated }) = call.done() else { continue };
        let is_there = chronicle.rows.instances.contains_key(instance)
            || chronicle.purged.contains(instance);
        if !is_there {
            found.about(*instance, format!("call {} was acknowledged, it is gone", call.number));
        }
        let known = started.get(&number).is_some_and(|ids| ids.contains(instance));
        let has_begun = chronicle.turns.contains_key(instance);
        if !repeated && has_begun && !known {
            found.about(*instance, format!("call {} started something else", call.number));
        }
    }
    for (number, ids) in started {
        let allowed = allowed(chronicle, number, asked.get(&number).copied().unwrap_or(0));
        if ids.len() > allowed {
            found.say(format!("start {number} happened {} times: {ids:?}", ids.len()));
        }
    }
}

/// How often a start may happen: once, unless it was repeated after its key was forgotten.
fn allowed(chronicle: &Chronicle, number: u64, asked: usize) -> usize {
    let calls = chronicle.calls.iter().filter(|call| match &call.command {
        Command::Start(start) => serial(&start.input) == Some(number),
        _ => false,
    });
    let (first, last) = calls.fold((i64::MAX, i64::MIN), |(first, last), call| {
        let at = call.time.as_millis();
        (first.min(at), last.max(at))
    });
    let window = i64::try_from(chronicle.limits.idempotency_ms).unwrap_or(i64::MAX);
    if last.saturating_sub(first) >= window { asked } else { 1 }
}
