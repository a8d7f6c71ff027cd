//! Answers agree with the store: a refused command has left nothing in it.

use std::collections::BTreeSet;

use meantime_core::{Event, Json};
use meantime_kernel::command::Command;

use super::run_record::RunRecord;
use super::run_record::payload_serial;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut done: BTreeSet<u64> = BTreeSet::new();
    done.extend(run.starts().into_iter().filter_map(|(_, _, input)| payload_serial(&input)));
    for turn in run.turns.values().flatten() {
        for event in turn.taken() {
            if let Event::Signal { payload, .. } | Event::Message { payload, .. } = event {
                done.extend(payload_serial(payload));
            }
        }
    }
    let mut open: BTreeSet<u64> = BTreeSet::new();
    let mut refused: BTreeSet<u64> = BTreeSet::new();
    for call in &run.calls {
        let Some(number) = payload(&call.command).and_then(payload_serial) else { continue };
        if call.is_refused() {
            refused.insert(number);
        } else {
            open.insert(number);
        }
    }
    for number in refused.difference(&open).filter(|number| done.contains(number)) {
        findings.add(format!("payload {number} was refused and is there"));
    }
}

fn payload(command: &Command) -> Option<&Json> {
    match command {
        Command::Start(start) => Some(&start.input),
        Command::Signal { payload, .. } | Command::Broadcast { payload, .. } => Some(payload),
        Command::Publish(message) => Some(&message.payload),
        _ => None,
    }
}
