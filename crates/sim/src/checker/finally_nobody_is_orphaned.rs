//! K9, P15: every live instance has a reason to live.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{
    Definition, DefinitionId, Effect, IncidentId, Limits, Notation, SCHEDULE_DEFINITION, Source,
    WaitingKind,
};
use meantime_kernel::command::Command;
use meantime_kernel::history::Record;
use meantime_kernel::open::Key;
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::InstanceRow;

use super::chronicle::Chronicle;
use super::violation::Findings;
use crate::probe::Probe;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let mut definitions = BTreeMap::new();
    for row in chronicle.rows.live() {
        let has_reason = chronicle.rows.ready.contains(&row.id)
            || row.open.tasks.values().any(|task| !task.detached)
            || row.open.timers.keys().any(|key| *key != Key::DEADLINE)
            || !row.open.subscriptions.is_empty()
            || row.open.children > 0
            || row.extra.incidents > 0
            || is_paused_schedule(chronicle, row)
            || waits_for_a_step(chronicle, row, &mut definitions)
            || waits_for_its_parent(chronicle, row)
            || was_resolved(chronicle, row);
        if !has_reason {
            let name = chronicle.rows.name_of(row);
            found.about(row.id, format!("{name:?} is {} and waits for nothing", row.phase.name()));
        }
    }
}

fn is_paused_schedule(chronicle: &Chronicle, row: &InstanceRow) -> bool {
    chronicle.rows.name_of(row) == SCHEDULE_DEFINITION
        && ScheduleView::read(&row.state).is_some_and(|view| view.paused)
}

/// Steps are known to the notation alone.
fn waits_for_a_step(
    chronicle: &Chronicle,
    row: &InstanceRow,
    definitions: &mut BTreeMap<DefinitionId, Option<Definition>>,
) -> bool {
    let definition = definitions.entry(row.definition).or_insert_with(|| {
        let row = chronicle.rows.definitions.get(&row.definition)?;
        let (name, text) = (row.source_name.clone(), row.source.clone());
        let source = Source { name, text, files: Vec::new() };
        let compiled = Probe.compile(&source, &Limits::default());
        compiled.definitions.into_iter().find(|it| it.name == row.name)
    });
    let Some(definition) = definition else { return false };
    let view = Probe.inspect(definition, &row.state);
    view.waiting.iter().any(|waiting| waiting.kind == WaitingKind::Step)
}

/// An error that travelled up: the ancestor that catches it will end this one.
fn waits_for_its_parent(chronicle: &Chronicle, row: &InstanceRow) -> bool {
    let turns = chronicle.turns.get(&row.id).into_iter().flatten();
    let mut effects = turns.flat_map(|turn| &turn.effects);
    row.extra.lineage.is_some()
        && effects.any(|effect| matches!(effect, Effect::NotifyParent { .. }))
}

/// Somebody closed the incident of a place without trying again: the place stands still because
/// they said so.
fn was_resolved(chronicle: &Chronicle, row: &InstanceRow) -> bool {
    let resolved = chronicle.calls.iter().filter_map(|call| match call.command {
        Command::ResolveIncident { incident, .. } if !call.is_refused() => Some(incident),
        _ => None,
    });
    let resolved: BTreeSet<IncidentId> = resolved.collect();
    let history = chronicle.rows.histories.get(&row.id).into_iter().flatten();
    let mut records = history.flat_map(|row| &row.records);
    records.any(|record| match record {
        Record::IncidentClosed { incident, .. } => resolved.contains(incident),
        // What closed it may be among what was cut.
        Record::Compacted { .. } => !resolved.is_empty(),
        _ => false,
    })
}
