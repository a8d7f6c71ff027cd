//! K6, P4: an occurrence starts at most one instance, and every occurrence has a ledger row (S2,
//! S4).

use std::collections::BTreeMap;

use meantime_core::time::occurrences;
use meantime_core::{InstanceId, OccurrenceOutcome, StartCause, Timestamp};
use meantime_kernel::history::Record;
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::OccurrenceRow;

use super::run_record::{ObservedTurn, RunRecord};
use super::violation::Findings;

/// Longer series are not checked completely.
const MAX_OCCURRENCES: usize = 2_000;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut runs: BTreeMap<(InstanceId, Timestamp), Vec<InstanceId>> = BTreeMap::new();
    for (id, cause, _) in run.starts() {
        let row = run.rows.instances.get(&id);
        let lineage = row.and_then(|row| row.meta.lineage.as_ref());
        if let (StartCause::Schedule { scheduled_at }, Some(lineage)) = (cause, lineage) {
            runs.entry((lineage.parent.instance, scheduled_at)).or_default().push(id);
        }
    }
    for ((schedule, scheduled_at), ids) in runs.iter().filter(|(_, ids)| ids.len() > 1) {
        findings.add_for(*schedule, format!("occurrence {scheduled_at} was started by {ids:?}"));
    }
    for (schedule, ledger) in &run.rows.ledgers {
        for line in ledger.iter().filter(|it| it.occurrence.outcome == OccurrenceOutcome::Started) {
            let known = line
                .instance
                .is_some_and(|id| run.rows.instances.contains_key(&id) || run.purged.contains(&id));
            if !known {
                let text = format!("occurrence {} has no run", line.occurrence.scheduled_at);
                findings.add_for(*schedule, text);
            }
        }
    }
    if run.has_turns && !run.has_purged {
        for schedule in run.turns.keys() {
            every_occurrence_has_a_line(run, *schedule, findings);
        }
    }
}

fn every_occurrence_has_a_line(run: &RunRecord, id: InstanceId, findings: &mut Findings<'_>) {
    let Some(turn) = run.turns.get(&id).and_then(|turns| turns.last()) else { return };
    let Some(row) = run.rows.instances.get(&id) else { return };
    if run.rows.name_of(row) != meantime_core::SCHEDULE_DEFINITION {
        return;
    }
    let Some(view) = ScheduleView::read(&turn.after) else { return };
    let (Some(mark), false) = (view.mark, was_changed(run, id)) else { return };
    let nothing = Vec::new();
    let ledger = run.rows.ledgers.get(&id).unwrap_or(&nothing);
    let occurrences = occurrences(&view.spec.rule, Timestamp::MIN).take_while(|it| it.at <= mark);
    for scheduled_at in occurrences.take(MAX_OCCURRENCES) {
        let lines = ledger.iter().filter(|line| covers(line, scheduled_at.at)).count();
        if lines != 1 && !(view.running > 0 && lines == 0) {
            findings.add_for(
                id,
                format!("occurrence {} has {lines} lines in the ledger", scheduled_at.at),
            );
        }
    }
}

fn covers(line: &OccurrenceRow, scheduled_at: Timestamp) -> bool {
    line.occurrence.scheduled_at <= scheduled_at && scheduled_at <= line.occurrence.last_at
}

/// Whether an operator changed the schedule, so that its rule alone does not explain the ledger.
fn was_changed(run: &RunRecord, id: InstanceId) -> bool {
    let turns = run.turns.get(&id).into_iter().flatten();
    let mut events = turns.flat_map(ObservedTurn::events).map(|(event, _)| event);
    let history = run.rows.histories.get(&id).into_iter().flatten();
    let mut records = history.flat_map(|row| &row.records);
    events.any(|event| matches!(event, meantime_core::Event::Submitted { .. }))
        || records.any(|record| matches!(record, Record::TimerEdited { .. }))
}
