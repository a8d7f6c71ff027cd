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
        if let (StartCause::Api, Some(number)) = (cause, serial(&input)) {
            started.entry(number).or_default().push(id);
        }
    }
    for call in &chronicle.calls {
        let Command::Start(start) = &call.command else { continue };
        let Some(number) = serial(&start.input) else { continue };
        let Some(Reply::Started { instance, repeated, .. }) = call.done() else { continue };
        let is_there =
            chronicle.rows.instances.contains_key(instance) || chronicle.purged.contains(instance);
        if !is_there {
            found.about(*instance, format!("call {} was acknowledged, it is gone", call.number));
        }
        let known = started.get(&number).is_some_and(|ids| ids.contains(instance));
        let has_begun = chronicle.turns.contains_key(instance);
        if !repeated && has_begun && !known {
            found.about(*instance, format!("call {} started something else", call.number));
        }
    }
    for (number, ids) in started.into_iter().filter(|(_, ids)| ids.len() > 1) {
        if !chronicle.may_have_forgotten && !were_apart(chronicle, &ids) {
            found.say(format!("start {number} happened {} times: {ids:?}", ids.len()));
        }
    }
}

/// Whether a repetition came after its key was forgotten, and so was a new start.
fn were_apart(chronicle: &Chronicle, ids: &[InstanceId]) -> bool {
    let turns = ids.iter().filter_map(|id| chronicle.turns.get(id)?.first());
    let mut times: Vec<_> = turns.map(|turn| (turn.committed_at, turn.now)).collect();
    times.sort();
    let window = i64::try_from(chronicle.limits.idempotency_ms).unwrap_or(i64::MAX);
    times.windows(2).all(|pair| pair[1].0.saturating_since(pair[0].1) >= window)
}
