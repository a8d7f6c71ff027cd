//! K9, P15: every live instance waits for something that can happen.

use std::collections::BTreeMap;

use meantime_core::{
    Definition, DefinitionId, Effect, Limits, Notation, SCHEDULE_DEFINITION, Source, WaitingKind,
};
use meantime_kernel::open::Key;
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::InstanceRow;

use super::run_record::RunRecord;
use super::violation::Findings;
use crate::probe::Probe;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut definitions = BTreeMap::new();
    for row in run.rows.live() {
        let has_reason = run.rows.ready.contains(&row.id)
            || has_open_wait(row)
            || is_paused_schedule(run, row)
            || waits_for_a_step(run, row, &mut definitions)
            || waits_for_its_parent(run, row);
        if !has_reason {
            let name = run.rows.name_of(row);
            findings
                .add_for(row.id, format!("{name:?} is {} and waits for nothing", row.phase.name()));
        }
    }
}

/// Whether an open entry of the instance will wake it, or an incident explains why none does. The
/// deadline alone does not count.
pub fn has_open_wait(row: &InstanceRow) -> bool {
    row.open.tasks.values().any(|task| !task.detached)
        || row.open.timers.keys().any(|key| *key != Key::DEADLINE)
        || !row.open.subscriptions.is_empty()
        || row.open.children > 0
        || row.meta.incidents > 0
}

fn is_paused_schedule(run: &RunRecord, row: &InstanceRow) -> bool {
    run.rows.name_of(row) == SCHEDULE_DEFINITION
        && ScheduleView::read(&row.state).is_some_and(|view| view.paused)
}

/// Whether the instance waits for a step. Only the notation knows its steps.
fn waits_for_a_step(
    run: &RunRecord,
    row: &InstanceRow,
    definitions: &mut BTreeMap<DefinitionId, Option<Definition>>,
) -> bool {
    let definition = definitions.entry(row.definition).or_insert_with(|| {
        let row = run.rows.definitions.get(&row.definition)?;
        let (name, text) = (row.source_name.clone(), row.source.clone());
        let source = Source { name, text, files: Vec::new() };
        let compiled = Probe.compile(&source, &Limits::default());
        compiled.definitions.into_iter().find(|it| it.name == row.name)
    });
    let Some(definition) = definition else { return false };
    let view = Probe.inspect(definition, &row.state);
    view.waiting.iter().any(|waiting| waiting.kind == WaitingKind::Step)
}

/// Whether the instance raised an error to its parent: the ancestor that catches it ends this
/// instance, unless that ancestor has ended itself.
fn waits_for_its_parent(run: &RunRecord, row: &InstanceRow) -> bool {
    let parent = row.meta.lineage.as_ref().map(|lineage| lineage.parent.instance);
    let parent = parent.and_then(|id| run.rows.instances.get(&id));
    let turns = run.turns.get(&row.id).into_iter().flatten();
    let mut effects = turns.flat_map(|turn| &turn.effects);
    parent.is_some_and(|parent| !parent.phase.is_ended())
        && effects.any(|effect| matches!(effect, Effect::NotifyParent { .. }))
}
