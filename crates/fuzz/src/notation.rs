//! Whole notations: compiles the generated source, starts it, and gives it events and states that
//! would never be valid.

use meantime_core::{
    Cx, Definition, Effect, EffectKey, Event, InstanceId, Json, Limits, Notation, Source,
    SourceFile, Start, StartCause, State, TaskOutcome, Timestamp, Turn,
};

use crate::case_random::CaseRandom;
use crate::mutate::corrupt_bytes;

/// Inputs of the start.
const INPUT_DOCUMENTS: &[&str] = &[
    "null",
    "{}",
    "[]",
    "{\"a\":1}",
    "{\"amount\":1e400}",
    "{\"a\":{\"b\":[1,null,\"x\"]}}",
    "\"x\"",
    "{\"name\":\"\",\"n\":-1,\"items\":[1,2,3],\"at\":\"2026-01-01T00:00:00Z\"}",
];

/// Turns of one instance.
const MAX_TURNS: u64 = 6;

/// What a turn leaves is given to this, beside a damaged copy of its state.
pub(crate) type TurnVisitor =
    dyn Fn(&dyn Notation, &Definition, &Turn, &State, &Cx<'_>, &mut CaseRandom);

pub(crate) fn run_definition(notation: &dyn Notation, text: &str, random: &mut CaseRandom) {
    run_source(notation, text, Vec::new(), &|_, _, _, _, _, _| {}, random);
}

/// Runs a source with its files.
pub(crate) fn run_source(
    notation: &dyn Notation,
    text: &str,
    files: Vec<SourceFile>,
    visit: &TurnVisitor,
    random: &mut CaseRandom,
) {
    let limits = Limits::default();
    let source = Source { name: "fuzz".to_owned(), text: text.into(), files };
    let compiled = notation.compile(&source, &limits);
    let now = Timestamp::parse("2026-01-31T10:00:00Z").unwrap_or_default();
    for definition in compiled.definitions.iter().take(2) {
        let _ = notation.lint(definition, now);
        run_turns(notation, definition, visit, (&limits, now), random);
    }
}

fn run_turns(
    notation: &dyn Notation,
    definition: &Definition,
    visit: &TurnVisitor,
    (limits, now): (&Limits, Timestamp),
    random: &mut CaseRandom,
) {
    let start = Start::new(StartCause::Api, random_document(random));
    let cx = |turn_no: u64| Cx {
        now,
        turn_no,
        instance: InstanceId::new(1, 1),
        version: 1,
        started_at: now,
        deadline: None,
        key: None,
        catches: &[],
        limits,
    };
    let Ok(mut turn) = notation.start(definition, &start, &cx(1)) else { return };
    for turn_no in 2..MAX_TURNS {
        let events = answering_events(&turn, turn_no, random);
        let bytes = if random.one_in(3) {
            corrupt_bytes(&turn.state.bytes, random)
        } else {
            turn.state.bytes.to_vec()
        };
        let state = State::new(turn.state.format, bytes);
        let _ = notation.inspect(definition, &state);
        visit(notation, definition, &turn, &state, &cx(turn_no), random);
        match notation.advance(definition, &state, &events, &cx(turn_no)) {
            Ok(next) => turn = next,
            Err(_) => return,
        }
    }
}

fn random_document(random: &mut CaseRandom) -> Json {
    Json::parse(random.pick(INPUT_DOCUMENTS).unwrap_or("null")).unwrap_or_default()
}

/// One event for each effect of the last turn, and some that answer no effect.
fn answering_events(turn: &Turn, turn_no: u64, random: &mut CaseRandom) -> Vec<Event> {
    let instance = InstanceId::new(1, 1);
    let mut events = Vec::new();
    for (ordinal, effect) in turn.effects.iter().enumerate().take(20) {
        let ordinal = u32::try_from(ordinal).unwrap_or(u32::MAX);
        let key: EffectKey = instance.effect(turn_no.saturating_sub(1), ordinal);
        events.push(match effect {
            Effect::StartTimer { due_at, .. } => Event::TimerFired { key, due_at: *due_at },
            _ => Event::TaskDone { key, outcome: TaskOutcome::Completed(random_document(random)) },
        });
    }
    let step = random.pick(&["wait", "step", "approve", "done"]).unwrap_or("wait").to_owned();
    events.push(Event::Submitted {
        step,
        payload: random_document(random),
        request_bindings: None,
    });
    events.push(Event::VariablesSet { values: random_document(random), scope: None });
    events.push(Event::Continue);
    if random.one_in(6) {
        events.push(Event::Cancel { reason: "fuzz".to_owned() });
    }
    events
}
