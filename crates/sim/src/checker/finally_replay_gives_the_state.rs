//! K10: the notation computes the same states and effects when it gets the recorded events again.

use std::collections::BTreeMap;

use meantime_core::{Cx, Definition, DefinitionId, Fault, Limits, Notation, Source, State, Turn};
use meantime_kernel::schedule::{SCHEDULE_NOTATION, ScheduleNotation};

use super::run_record::{ObservedTurn, RunRecord, TurnCause};
use super::violation::Findings;
use crate::probe::Probe;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let mut definitions = BTreeMap::new();
    for (id, turns) in &run.turns {
        let Some(row) = run.rows.instances.get(id) else { continue };
        let loaded = definitions.entry(row.definition).or_insert_with(|| load(run, row.definition));
        let Some((notation, definition)) = loaded else { continue };
        let mut state = State::default();
        for turn in turns {
            match replay_turn(&**notation, definition, &state, turn, &run.limits) {
                Ok(same) if same.state == turn.after && same.effects == turn.effects => {}
                Ok(_) => {
                    findings.add_for(*id, format!("turn {} came out differently", turn.turn_no));
                }
                Err(fault) => {
                    findings
                        .add_for(*id, format!("turn {} faults: {}", turn.turn_no, fault.message));
                }
            }
            state = turn.after.clone();
        }
        if !row.phase.is_ended() && turns.last().is_some_and(|turn| turn.after != row.state) {
            findings.add_for(*id, "its state is not that of its last turn".to_owned());
        }
    }
}

type LoadedDefinition = Option<(Box<dyn Notation>, Definition)>;

fn load(run: &RunRecord, id: DefinitionId) -> LoadedDefinition {
    let row = run.rows.definitions.get(&id)?;
    let notation: Box<dyn Notation> = match row.notation.as_str() {
        SCHEDULE_NOTATION => Box::new(ScheduleNotation),
        _ => Box::new(Probe),
    };
    let (name, text, files) = (row.source_name.clone(), row.source.clone(), row.files.clone());
    let compiled = notation.compile(&Source { name, text, files }, &run.limits);
    let definition = compiled.definitions.into_iter().find(|it| it.name == row.name)?;
    Some((notation, definition))
}

fn replay_turn(
    notation: &dyn Notation,
    definition: &Definition,
    state: &State,
    turn: &ObservedTurn,
    limits: &Limits,
) -> Result<Turn, Fault> {
    let cx = Cx {
        now: turn.now,
        turn_no: turn.turn_no,
        instance: turn.instance,
        version: turn.version,
        started_at: turn.started_at,
        deadline: turn.deadline,
        key: turn.key.as_deref(),
        catches: &turn.catches,
        limits,
    };
    match &turn.cause {
        TurnCause::Start(start) => notation.start(definition, start, &cx),
        TurnCause::Events(events) => notation.advance(definition, state, events, &cx),
    }
}
