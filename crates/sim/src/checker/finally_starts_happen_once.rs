//! K1, P1: an acknowledged start exists, and no start happens twice.

use std::collections::BTreeMap;

use meantime_core::{InstanceId, StartCause};
use meantime_kernel::command::{Command, Reply};

use super::run_record::RunRecord;
use super::run_record::payload_serial;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut started: BTreeMap<u64, Vec<InstanceId>> = BTreeMap::new();
    for (id, cause, input) in run.starts() {
        if let (StartCause::Api, Some(number)) = (cause, payload_serial(&input)) {
            started.entry(number).or_default().push(id);
        }
    }
    for call in &run.calls {
        let Command::Start(start) = &call.command else { continue };
        let Some(number) = payload_serial(&start.input) else { continue };
        let Some(Reply::Started { instance, repeated, .. }) = call.reply() else { continue };
        let is_there = run.rows.instances.contains_key(instance) || run.purged.contains(instance);
        if !is_there {
            findings
                .add_for(*instance, format!("call {} was acknowledged, it is gone", call.number));
        }
        let known = started.get(&number).is_some_and(|ids| ids.contains(instance));
        let has_begun = run.turns.contains_key(instance);
        if !repeated && has_begun && !known {
            findings.add_for(*instance, format!("call {} started something else", call.number));
        }
    }
    for (number, ids) in started.into_iter().filter(|(_, ids)| ids.len() > 1) {
        if !run.may_have_forgotten && !could_not_overlap(run, &ids) {
            findings.add(format!("start {number} happened {} times: {ids:?}", ids.len()));
        }
    }
}

/// Whether each repetition came after its idempotency key had expired, and so was a new start.
fn could_not_overlap(run: &RunRecord, ids: &[InstanceId]) -> bool {
    let turns = ids.iter().filter_map(|id| run.turns.get(id)?.first());
    let mut times: Vec<_> = turns.map(|turn| (turn.committed_at, turn.now)).collect();
    times.sort();
    let window = i64::try_from(run.limits.idempotency_ms).unwrap_or(i64::MAX);
    times.windows(2).all(|pair| pair[1].0.saturating_since(pair[0].1) >= window)
}
