//! `advance` is total, deterministic and bounded, for any events in any order.

use meantime_core::{
    Answer, ChildOutcome, Cx, Definition, EffectKey, Event, Failure, IncidentId, InstanceId, Json,
    Limits, Notation, Source, Start, StartCause, State, Status, TaskCause, TaskOutcome,
    Termination, Timestamp, Turn,
};
use meantime_flow::Flow;
use proptest::prelude::*;

use self::programs::program_text;

#[path = "../../script/tests/generate/programs.rs"]
mod programs;

const SCRIPTS: [&str; 8] = [
    "return await Task.run(\"a\", {})",
    "let r = await Task.race([Task.run(\"a\", {}), Task.delay(5), Signal.next(\"s\")]); return r.key",
    "let n = 0; while (n < 4) { await Signal.next(\"s\"); n++ } return n",
    "return await Task.all([1, 2, 3].map(i => Task.run(\"t\" + i, i)))",
    "try { await Task.any([Task.run(\"a\", {}), Workflow.run(\"w\", {})]) } catch (e) { return e.name }",
    "const out = []; for (const x of [1, 2]) { out.push(await Workflow.run(\"w\", x)) } return out",
    "let s = Signal.next(\"s\", { timeout: 9 }); return await Task.settle({ s, t: Task.delay(\"PT1S\") })",
    "let n = 0; for (let i = 0; i < 500; i++) { n += i } await Task.delay(n); return n",
];

fn instance() -> InstanceId {
    InstanceId::new(7, 9)
}

fn json(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

fn definition(text: &str) -> Definition {
    let source = Source { name: "p.flow.js".to_owned(), text: text.into(), files: Vec::new() };
    let compiled = Flow.compile(&source, &Limits::default());
    compiled.definitions.into_iter().next().expect("a good script")
}

fn key() -> impl Strategy<Value = EffectKey> {
    // Mostly keys that exist, sometimes keys of no effect.
    (1u64..4, 0u32..4).prop_map(|(turn, ordinal)| instance().effect(turn, ordinal))
}

fn event() -> impl Strategy<Value = Event> {
    let failure = || Failure::new("E", "failed");
    let task = key().prop_map(|key| Event::TaskDone {
        key,
        outcome: TaskOutcome::Completed(json("{\"ok\":1}")),
    });
    let failed = key().prop_map(move |key| {
        let (failure, cause, thrown) = (failure(), TaskCause::Reported, None);
        Event::TaskDone { key, outcome: TaskOutcome::Failed { failure, cause, thrown } }
    });
    let timer = key().prop_map(|key| Event::TimerFired { key, due_at: Timestamp::default() });
    let signal =
        key().prop_map(|key| Event::Signal { key, name: "s".to_owned(), payload: json("[1]") });
    let child = key().prop_map(|key| Event::ChildDone {
        key,
        outcome: ChildOutcome::Completed(json("2")),
        context: None,
    });
    let child_failed = key().prop_map(move |key| {
        let termination = Termination::Fail;
        let outcome = ChildOutcome::Failed { failure: failure(), termination };
        Event::ChildDone { key, outcome, context: None }
    });
    let raised = key().prop_map(move |key| Event::ChildRaised { key, raised: failure() });
    let conflict = key().prop_map(|key| Event::EffectDone {
        key,
        answer: Answer::Conflict { code: "key_taken".to_owned() },
    });
    let others = prop::sample::select(vec![
        Event::Continue,
        Event::VariablesSet { values: json("{\"n\":1}"), scope: None },
        Event::VariablesSet { values: json("[]"), scope: Some("1".to_owned()) },
        Event::Submitted { step: "x".to_owned(), payload: Json::null(), request_bindings: None },
        Event::IncidentRetried { incident: IncidentId::new(1, 1), key: None },
    ]);
    let ends = prop::sample::select(vec![
        Event::Cancel { reason: "no".to_owned() },
        Event::DeadlineReached,
    ]);
    prop_oneof![
        4 => task, 2 => failed, 3 => timer, 3 => signal, 2 => child, 1 => child_failed,
        1 => prop_oneof![raised, conflict], 2 => others, 1 => ends,
    ]
}

/// Computes one turn twice: both results must be equal.
fn turn(definition: &Definition, state: Option<&State>, events: &[Event], number: u64) -> Turn {
    let limits = Limits { ops_per_slice: 300, effects_per_turn: 3, ..Limits::default() };
    let cx = Cx {
        now: Timestamp::from_millis(i64::try_from(number).unwrap_or(0) * 1_000),
        turn_no: number,
        instance: instance(),
        version: 1,
        started_at: Timestamp::default(),
        deadline: None,
        key: None,
        catches: &[],
        limits: &limits,
    };
    let run = || match state {
        None => Flow.start(definition, &Start::new(StartCause::Api, Json::null()), &cx),
        Some(state) => Flow.advance(definition, state, events, &cx),
    };
    let (one, other) = (run().expect("no fault"), run().expect("no fault"));
    assert_eq!(one, other);
    assert_eq!(one.verdicts.len(), if state.is_some() { events.len() } else { 1 });
    assert!(one.effects.len() <= 3, "{:?}", one.effects);
    assert!(one.ops < 10_000, "{} operations", one.ops);
    one
}

proptest! {
    #[test]
    fn advance_is_total_deterministic_and_bounded(
        script in prop::sample::select(&SCRIPTS[..]),
        turns in prop::collection::vec(prop::collection::vec(event(), 1..5), 0..8),
    ) {
        play(&definition(script), turns);
    }

    #[test]
    fn so_it_is_with_random_scripts(
        script in program_text(),
        turns in prop::collection::vec(prop::collection::vec(event(), 1..5), 0..8),
    ) {
        play(&definition(&script), turns);
    }
}

/// Plays turns until the script ends or there are no more events.
fn play(definition: &Definition, turns: Vec<Vec<Event>>) {
    let mut last = turn(definition, None, &[], 1);
    let mut events = turns.into_iter();
    for number in 2..40 {
        let (Status::Running | Status::Yield) = last.status else { break };
        let next = match last.status {
            Status::Yield => vec![Event::Continue],
            _ => match events.next() {
                Some(events) => events,
                None => break,
            },
        };
        let _ = Flow.inspect(definition, &last.state);
        let _ = Flow.element(definition, &last.state);
        last = turn(definition, Some(&last.state), &next, number);
    }
}

#[test]
fn a_state_of_another_source_or_format_is_a_fault() {
    let (one, other) = (definition(SCRIPTS[0]), definition(SCRIPTS[1]));
    let begun = turn(&one, None, &[], 1);
    let limits = Limits::default();
    let cx = Cx {
        now: Timestamp::default(),
        turn_no: 2,
        instance: instance(),
        version: 1,
        started_at: Timestamp::default(),
        deadline: None,
        key: None,
        catches: &[],
        limits: &limits,
    };
    let code = |definition: &Definition, state: &State| {
        let fault = Flow.advance(definition, state, &[Event::Continue], &cx);
        fault.err().map(|fault| fault.code)
    };
    assert_eq!(code(&one, &begun.state), None);
    assert_eq!(code(&other, &begun.state).as_deref(), Some("corrupt_state"));
    let newer = State { format: begun.state.format + 1, ..begun.state.clone() };
    assert_eq!(code(&one, &newer).as_deref(), Some("corrupt_state"));
    let cut = State::new(1, begun.state.bytes[..begun.state.bytes.len() - 1].to_vec());
    assert_eq!(code(&one, &cut).as_deref(), Some("corrupt_state"));
}
