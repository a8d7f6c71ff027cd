//! Signals of one name are taken in the order in which they were sent.

use std::collections::BTreeMap;

use meantime_core::Event;
use meantime_kernel::command::Command;
use meantime_kernel::history::Record;

use super::run_record::payload_serial;
use super::run_record::{CallRecord, ObservedTurn, RunRecord};
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut calls: BTreeMap<u64, &CallRecord> = BTreeMap::new();
    for call in &run.calls {
        if let Command::Signal { payload, .. } = &call.command {
            calls.extend(payload_serial(payload).map(|number| (number, call)));
        }
    }
    for (id, turns) in &run.turns {
        // Signals that an incident holds may be overtaken by design.
        let has_incident = run.rows.histories.get(id).into_iter().flatten().any(|row| {
            row.records
                .iter()
                .any(|it| matches!(it, Record::IncidentRaised { .. } | Record::Compacted { .. }))
        });
        if has_incident {
            continue;
        }
        let mut taken: BTreeMap<&str, Vec<&CallRecord>> = BTreeMap::new();
        for event in turns.iter().flat_map(ObservedTurn::taken) {
            if let Event::Signal { name, payload, .. } = event {
                let call = payload_serial(payload).and_then(|number| calls.get(&number));
                taken.entry(name).or_default().extend(call);
            }
        }
        for (name, order) in taken {
            for (place, first) in order.iter().enumerate() {
                let overtaken = order[place + 1..].iter().find(|later| later.is_before(first));
                if let Some(later) = overtaken {
                    let (first, later) = (first.number, later.number);
                    let text = format!(
                        "signal {name:?} of call {first} was taken before that of call {later}, sent earlier"
                    );
                    findings.add_for(*id, text);
                }
            }
        }
    }
}
