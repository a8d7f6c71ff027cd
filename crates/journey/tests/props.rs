//! Properties: reading never panics, and running is total and deterministic.

use meantime_core::{
    Answer, Cx, Definition, EffectKey, Event, Failure, InstanceId, Json, Limits, Notation, Source,
    Start, StartCause, TaskCause, TaskOutcome, Timestamp, Turn,
};
use meantime_journey::{JourneyNotation, Settings};
use proptest::prelude::*;

fn compile(text: &str) -> (JourneyNotation, Vec<Definition>, usize) {
    let notation = JourneyNotation::new(Settings::default());
    let source = Source { name: "main".to_owned(), text: text.into(), files: Vec::new() };
    let compiled = notation.compile(&source, &Limits::default());
    let problems = compiled.diagnostics.len();
    for diagnostic in &compiled.diagnostics {
        assert!(diagnostic.start.line >= 1 && diagnostic.start.column >= 1, "{diagnostic:?}");
    }
    (notation, compiled.definitions, problems)
}

const WHOLE: &str = include_str!("golden/v1/everything.journey.yaml");

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Any text is read or refused.
    #[test]
    fn reading_never_panics(text in "\\PC{0,400}") {
        compile(&text);
    }

    /// A definition with a missing line, a repeated line or a cut end is read or refused.
    #[test]
    fn damaged_definitions_are_refused_or_read(
        from in 0..WHOLE.len(),
        length in 0..200_usize,
        insert in prop_oneof![
            Just(""), Just("&a "), Just("*a"), Just(": "), Just("- "), Just("\t"), Just("{"), Just("'"),
            Just("${"), Just("!!x "), Just("null"), Just("\n  "),
        ],
    ) {
        let cut = |at: usize| {
            (at..=WHOLE.len()).find(|at| WHOLE.is_char_boundary(*at)).unwrap_or(0)
        };
        let (start, end) = (cut(from), cut((from + length).min(WHOLE.len())));
        let damaged = format!("{}{insert}{}", &WHOLE[..start], &WHOLE[end..]);
        let (_, definitions, problems) = compile(&damaged);
        prop_assert!(!definitions.is_empty() || problems > 0);
    }

    /// Every event in every order gets a verdict, and the same events give the same bytes.
    #[test]
    fn running_is_total_and_deterministic(steps in prop::collection::vec(any_step(), 0..40)) {
        let one = play(&steps);
        let other = play(&steps);
        prop_assert_eq!(one, other);
    }
}

/// An event for an open effect or for none.
#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    aim: usize,
    payload: String,
    minutes: i64,
}

fn any_step() -> impl Strategy<Value = Step> {
    let payloads = prop_oneof![
        Just("{}"),
        Just("null"),
        Just("[]"),
        Just("{\"ok\":true}"),
        Just("{\"ok\":false}"),
        Just("{\"status\":200,\"headers\":{},\"body\":1}"),
        Just("\"x\""),
    ];
    (0..12_u8, 0..8_usize, payloads, 0..120_i64).prop_map(|(kind, aim, payload, minutes)| Step {
        kind,
        aim,
        payload: payload.to_owned(),
        minutes,
    })
}

fn play(steps: &[Step]) -> Vec<String> {
    let (notation, definitions, _) = compile(WHOLE);
    let definition = &definitions[0];
    let limits = Limits { ops_per_slice: 500, ..Limits::default() };
    let mut now = Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant");
    let instance = InstanceId::new(7, 9);
    let mut armed: Vec<EffectKey> = Vec::new();
    let mut trace = Vec::new();
    let input = Json::parse("{\"n\":1}").expect("JSON");
    let mut state = None;
    for (number, step) in steps.iter().enumerate() {
        now = now.saturating_add_millis(step.minutes * 60_000);
        let turn_no = number as u64 + 1;
        let cx = Cx {
            now,
            turn_no,
            instance,
            version: 1,
            started_at: now,
            deadline: None,
            key: None,
            catches: &[],
            limits: &limits,
        };
        let turn: Turn = match &state {
            None => notation.start(definition, &Start::new(StartCause::Api, input.clone()), &cx),
            Some(state) => {
                let events = [event(step, &armed, instance)];
                notation.advance(definition, state, &events, &cx)
            }
        }
        .expect("a turn is never a fault here");
        assert_eq!(turn.verdicts.len(), 1);
        armed.extend((0..turn.effects.len()).map(|ordinal| cx.key_of(ordinal)));
        trace.push(format!("{turn:?}"));
        notation.inspect(definition, &turn.state);
        if matches!(turn.status, meantime_core::Status::Ended(_)) {
            break;
        }
        state = Some(turn.state);
    }
    trace
}

fn event(step: &Step, armed: &[EffectKey], instance: InstanceId) -> Event {
    let nothing = instance.effect(999, 0);
    let key = armed.iter().rev().nth(step.aim).copied().unwrap_or(nothing);
    let payload = Json::parse(&step.payload).expect("JSON");
    let names = ["ask", "callback", "approve", "nowhere"];
    match step.kind {
        0 | 1 => Event::TimerFired { key, due_at: Timestamp::default() },
        2 | 3 => Event::TaskDone { key, outcome: TaskOutcome::Completed(payload) },
        4 => {
            let failure = Failure::new("E", "failed");
            let outcome = TaskOutcome::Failed { failure, cause: TaskCause::Reported, thrown: None };
            Event::TaskDone { key, outcome }
        }
        5..=7 => {
            let step = names[step.aim % names.len()].to_owned();
            Event::Submitted { step, payload, request_bindings: None }
        }
        8 => Event::EffectDone { key, answer: Answer::Done },
        9 => Event::VariablesSet { values: Json::parse("{\"n\":5}").expect("JSON"), scope: None },
        10 => Event::Continue,
        _ if step.aim == 0 => Event::Cancel { reason: "why not".to_owned() },
        _ => Event::Continue,
    }
}
