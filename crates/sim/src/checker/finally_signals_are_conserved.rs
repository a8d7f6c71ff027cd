//! An acknowledged signal is taken once or kept: it is never lost and never doubled.

use std::collections::BTreeMap;

use meantime_core::{Event, InstanceId};
use meantime_kernel::command::Command;

use super::run_record::payload_serial;
use super::run_record::{ObservedTurn, RunRecord};
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let Some(waiting) = &run.rows.waiting else { return };
    if !run.has_turns {
        return;
    }
    let mut seen: BTreeMap<(InstanceId, u64), usize> = BTreeMap::new();
    for (id, turns) in &run.turns {
        for event in turns.iter().flat_map(ObservedTurn::taken) {
            if let Event::Signal { payload, .. } = event
                && let Some(number) = payload_serial(payload)
            {
                *seen.entry((*id, number)).or_default() += 1;
            }
        }
    }
    let kept = waiting.messages.iter().filter_map(|it| payload_serial(&it.payload));
    let mut lying: BTreeMap<u64, usize> = BTreeMap::new();
    for number in kept.chain(waiting.inbox.iter().filter_map(|it| event_serial(&it.event))) {
        *lying.entry(number).or_default() += 1;
    }
    for call in &run.calls {
        let Command::Signal { instance, payload, name } = &call.command else { continue };
        let Some(number) = payload_serial(payload) else { continue };
        let count = seen.get(&(*instance, number)).copied().unwrap_or(0)
            + lying.get(&number).copied().unwrap_or(0);
        let is_live = run.rows.instances.get(instance).is_some_and(|row| !row.phase.is_ended());
        if count > 1 {
            findings.add_for(
                *instance,
                format!("signal {name:?} of call {} is there {count} times", call.number),
            );
        }
        if count == 0 && is_live && call.reply().is_some() {
            findings.add_for(
                *instance,
                format!("signal {name:?} of call {} was swallowed", call.number),
            );
        }
    }
}

fn event_serial(event: &Event) -> Option<u64> {
    match event {
        Event::Signal { payload, .. } => payload_serial(payload),
        _ => None,
    }
}
