//! Answers agree with the store: of what was refused nothing is there.

use std::collections::BTreeSet;

use meantime_core::{Event, Json};
use meantime_kernel::command::Command;

use super::chronicle::Chronicle;
use super::serial::serial;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let mut done: BTreeSet<u64> = BTreeSet::new();
    done.extend(chronicle.starts().into_iter().filter_map(|(_, _, input)| serial(&input)));
    for turn in chronicle.turns.values().flatten() {
        for event in turn.taken() {
            if let Event::Signal { payload, .. } | Event::Message { payload, .. } = event {
                done.extend(serial(payload));
            }
        }
    }
    let mut open: BTreeSet<u64> = BTreeSet::new();
    let mut refused: BTreeSet<u64> = BTreeSet::new();
    for call in &chronicle.calls {
        let Some(number) = payload(&call.command).and_then(serial) else { continue };
        if call.is_refused() {
            refused.insert(number);
        } else {
            open.insert(number);
        }
    }
    for number in refused.difference(&open).filter(|number| done.contains(number)) {
        found.say(format!("payload {number} was refused and is there"));
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
