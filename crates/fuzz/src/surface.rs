//! What clients of journeys see: every function of the surface, on what a turn has left.

use std::fmt::Debug;
use std::sync::OnceLock;

use meantime_core::{
    Cx, Definition, Effect, Json, Notation, Outcome, State, Status, Timestamp, Turn,
};
use meantime_journey::Settings;
use meantime_journey::surface::{self, Effort, Instance, RefusedStart, Request, TooCostly};

use crate::case_random::CaseRandom;

/// Values of headers and parameters.
const HEADER_VALUES: &[&str] = &[
    "",
    "a",
    "Bearer x.y.z",
    "tenant-id=%41%, lang=%zz;p=1,=,%",
    "é\u{0}\r\n",
    "1e400",
    "{}",
    "%",
];

/// Names that bindings of the corpus use, and others.
const HEADER_NAMES: &[&str] = &["X-Trace", "x-channel", "baggage", "Authorization", "X-By", "lang"];

fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(Settings::default)
}

/// A request with headers and parameters that bindings may name.
fn random_request(random: &mut CaseRandom) -> Request {
    let mut pairs = |count: usize| -> Vec<(String, String)> {
        let pair = |_| {
            let name = random.pick(HEADER_NAMES).unwrap_or_default().to_owned();
            (name, random.pick(HEADER_VALUES).unwrap_or_default().to_owned())
        };
        (0..count).map(pair).collect()
    };
    Request { name: "request".to_owned(), headers: pairs(5), query: pairs(3) }
}

/// What a surface asks before a run.
fn show_definition(definition: &Definition, now: Timestamp, random: &mut CaseRandom) {
    let request = random_request(random);
    let _ = surface::kind(definition).map(|_| surface::start_mode(definition));
    let _ = (surface::is_cancellable(definition), surface::declares_public(definition));
    let _ = (surface::is_guarded(definition), surface::reads_inbound_request(definition));
    let _ = (surface::route(definition), surface::route_position(definition));
    let _ = surface::start_response(definition, "in_1");
    let _ = surface::start_request_bindings(definition, &request);
    let input = Json::parse("{\"a\":[1,{\"b\":null}]}").unwrap_or_default();
    let refusal = RefusedStart { code: "invalid", problem: &input, input: &input };
    let refuse = |effort| surface::api_refusal(settings(), definition, &refusal, now, effort);
    check_efforts(refuse(Effort::Quick), refuse(Effort::Full));
}

/// What a surface shows of a run, and of one whose state is damaged.
pub(crate) fn show_turn(
    notation: &dyn Notation,
    definition: &Definition,
    turn: &Turn,
    damaged: &State,
    cx: &Cx<'_>,
    random: &mut CaseRandom,
) {
    show_definition(definition, cx.now, random);
    let outcome = outcome_of(turn);
    let summary = turn.effects.iter().rev().find_map(|effect| match effect {
        Effect::Summary(summary) => Some(summary.clone()),
        _ => None,
    });
    for state in [&turn.state, damaged] {
        for outcome in [None, outcome.as_ref()] {
            let summary = summary.as_ref();
            let instance =
                Instance { id: "in_1", state, outcome, summary, deadline_at: cx.deadline };
            show_instance(notation, definition, &instance, cx, random);
        }
    }
    if let Some(outcome) = &outcome {
        let answer = |effort| surface::api_answer(settings(), definition, outcome, cx.now, effort);
        let answer = check_efforts(answer(Effort::Quick), answer(Effort::Full));
        assert!((100..600).contains(&answer.status), "{}", answer.status);
        let _ = surface::guard_allows(outcome);
    }
}

/// An answer that could be computed quickly is the same with all that it may cost; returns it.
fn check_efforts<T: Debug + PartialEq>(
    quick: Result<T, TooCostly>,
    full: Result<T, TooCostly>,
) -> T {
    let full = full.expect("within its limits an answer is always computed");
    if let Ok(quick) = quick {
        assert_eq!(quick, full);
    }
    full
}

fn show_instance(
    notation: &dyn Notation,
    definition: &Definition,
    instance: &Instance<'_>,
    cx: &Cx<'_>,
    random: &mut CaseRandom,
) {
    let _ = surface::status(definition, instance);
    let _ = (surface::labels(instance), surface::is_compensation(instance));
    let ended = surface::outcome(definition, instance);
    assert_eq!(ended.is_some(), instance.is_ended(), "an outcome is of what has ended");
    let step = random.pick(&["approve", "ask", "answer", "wait"]).unwrap_or("wait");
    let _ = surface::submitted_status(definition, instance, step);
    let request = random_request(random);
    let _ = surface::step_request_bindings(definition, step, &request);
    if let Some(start) = surface::guard_start(definition, instance) {
        let guard = notation.start(definition, &start, cx);
        let _ = guard.map(|turn| outcome_of(&turn).is_some_and(|it| surface::guard_allows(&it)));
    }
}

/// The outcome with which a turn ends its instance.
fn outcome_of(turn: &Turn) -> Option<Outcome> {
    match &turn.status {
        Status::Ended(outcome) => Some(outcome.clone()),
        _ => None,
    }
}
