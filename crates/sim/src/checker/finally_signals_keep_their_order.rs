//! Signals of one name are taken in the order in which they were sent.

use std::collections::BTreeMap;

use meantime_core::Event;
use meantime_kernel::command::Command;
use meantime_kernel::history::Record;

use super::chronicle::{Call, Chronicle, TurnSeen};
use super::serial::serial;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let mut calls: BTreeMap<u64, &Call> = BTreeMap::new();
    for call in &chronicle.calls {
        if let Command::Signal { payload, .. } = &call.command {
            calls.extend(serial(payload).map(|number| (number, call)));
        }
    }
    for (id, turns) in &chronicle.turns {
        // What an incident holds is overtaken on purpose.
        let has_incident = chronicle.rows.histories.get(id).into_iter().flatten().any(|row| {
            row.records
                .iter()
                .any(|it| matches!(it, Record::IncidentRaised { .. } | Record::Compacted { .. }))
        });
        if has_incident {
            continue;
        }
        let mut taken: BTreeMap<&str, Vec<&Call>> = BTreeMap::new();
        for event in turns.iter().flat_map(TurnSeen::taken) {
            if let Event::Signal { name, payload, .. } = event {
                let call = serial(payload).and_then(|number| calls.get(&number));
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
                    found.about(*id, text);
                }
            }
        }
    }
}
