//! Answers of the surface, from real runs.

use expect_test::{Expect, expect};
use meantime_core::{
    Cx, Definition, Effect, Event, InstanceId, Json, Limits, Notation, Outcome, Source, Start,
    StartCause, State, Status, Timestamp, Turn,
};

use super::*;
use crate::{JourneyNotation, Settings};

const JOURNEY: &str = r#"
apiVersion: v1
kind: Journey
metadata: {name: order, version: 1.0.0, tags: [shop]}
spec:
  metadata:
    bindings:
      tags: {fromHeaders: [X-Channel]}
      attributes: {fromPayload: {customer: customer.id}, fromBaggage: {tenant: tenant-id}}
  bindings:
    http:
      start: {headersToContext: {X-Trace: trace.id}, queryToContext: {lang: language}, headersPassthrough: [{from: Authorization, to: X-User}]}
      steps: {approve: {headersToContext: {X-By: approvedBy}}}
  outcomes:
    big: {when: {phase: SUCCEEDED, predicate: {lang: dataweave, expr: "output.total > 100"}}}
    any: {when: {phase: SUCCEEDED}}
  output: {response: {outputVar: summary}}
  start: approve
  states:
    approve:
      type: wait
      wait:
        channel: manual
        input: {schema: {type: object, required: [ok]}}
        response: {outputVar: answer}
        timeoutSec: 60
        onTimeout: late
      next: answer
    answer:
      type: transform
      transform: {mapper: {lang: dataweave, expr: "{total: 150, status: \"PAID\", answer: {thanks: true, phase: \"mine\"}, summary: {total: 150, phase: \"mine\"}}"}}
      next: nap
    nap: {type: timer, timer: {duration: PT1H}, next: done}
    done: {type: succeed}
    late: {type: fail, errorCode: LATE, reason: nobody came}
"#;

struct Bench {
    notation: JourneyNotation,
    definition: Definition,
    limits: Limits,
    now: Timestamp,
    turn_no: u64,
    state: State,
    outcome: Option<Outcome>,
    summary: Option<Json>,
    timers: Vec<meantime_core::EffectKey>,
}

impl Bench {
    fn new(text: &str) -> Self {
        let notation = JourneyNotation::new(Settings::default());
        let limits = Limits::default();
        let source = Source { name: "main".to_owned(), text: text.into(), files: Vec::new() };
        let mut compiled = notation.compile(&source, &limits);
        assert!(!compiled.definitions.is_empty(), "{:?}", compiled.diagnostics);
        Self {
            notation,
            definition: compiled.definitions.remove(0),
            limits,
            now: Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
            turn_no: 0,
            state: State::default(),
            outcome: None,
            summary: None,
            timers: Vec::new(),
        }
    }

    fn turn(
        &mut self,
        run: impl Fn(&JourneyNotation, &Definition, &State, &Cx<'_>) -> Turn,
    ) -> Turn {
        self.turn_no += 1;
        let cx = Cx {
            now: self.now,
            turn_no: self.turn_no,
            instance: InstanceId::new(1, 2),
            version: 1,
            started_at: self.now,
            deadline: None,
            key: None,
            catches: &[],
            limits: &self.limits,
        };
        let turn = run(&self.notation, &self.definition, &self.state, &cx);
        self.state = turn.state.clone();
        for (ordinal, effect) in turn.effects.iter().enumerate() {
            match effect {
                Effect::Summary(summary) => self.summary = Some(summary.clone()),
                Effect::StartTimer { .. } => self.timers.push(cx.key_of(ordinal)),
                _ => {}
            }
        }
        if let Status::Ended(outcome) = &turn.status {
            self.outcome = Some(outcome.clone());
        }
        turn
    }

    fn start(&mut self, input: &str, request_bindings: Option<Json>) -> Turn {
        let input = Json::parse(input).expect("JSON");
        let start = Start { request_bindings, ..Start::new(StartCause::Api, input) };
        self.turn(|notation, definition, _, cx| {
            notation.start(definition, &start, cx).expect("it starts")
        })
    }

    fn event(&mut self, event: Event) -> Turn {
        let events = [event];
        self.turn(|notation, definition, state, cx| {
            notation.advance(definition, state, &events, cx).expect("it advances")
        })
    }

    fn submit(&mut self, step: &str, payload: &str) -> Turn {
        let (step, payload) = (step.to_owned(), Json::parse(payload).expect("JSON"));
        self.event(Event::Submitted { step, payload, request_bindings: None })
    }

    fn instance(&self) -> Instance<'_> {
        Instance {
            id: "in_1",
            state: &self.state,
            outcome: self.outcome.as_ref(),
            summary: self.summary.as_ref(),
            deadline_at: None,
        }
    }
}

fn show(json: &Json, expected: &Expect) {
    let value: serde_json::Value = json.read().expect("JSON");
    expected.assert_eq(&serde_json::to_string_pretty(&value).expect("JSON"));
}

fn request() -> Request {
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let headers = [
        ("x-channel", "web"),
        ("X-Trace", "t-1"),
        ("authorization", "Bearer secret"),
        ("baggage", "a=b, tenant-id=acme%20bank;p=1"),
        ("traceparent", "00-1-2-01"),
    ];
    let name = "rq_1".to_owned();
    Request { name, headers: headers.map(pair).into(), query: [("lang", "de")].map(pair).into() }
}

#[test]
fn a_start_brings_headers_query_and_baggage_and_hands_credentials_to_nobody() {
    let bench = Bench::new(JOURNEY);
    let from_request = start_request_bindings(&bench.definition, &request());
    assert_eq!(from_request.passthrough, [("X-User".to_owned(), "Bearer secret".to_owned())]);
    show(
        &from_request.request_bindings.expect("the request has bindings"),
        &expect![[r#"
            {
              "attributes": {
                "tenant": "acme bank"
              },
              "context": {
                "language": "de",
                "trace.id": "t-1"
              },
              "request": "rq_1",
              "tags": [
                "web"
              ],
              "traceparent": "00-1-2-01"
            }"#]],
    );
}

#[test]
fn status_while_a_step_waits() {
    let mut bench = Bench::new(JOURNEY);
    let request_bindings = start_request_bindings(&bench.definition, &request()).request_bindings;
    bench.start(r#"{"customer":{"id":"c-1"}}"#, request_bindings);
    show(
        &status(&bench.definition, &bench.instance()),
        &expect![[r#"
            {
              "_links": {
                "approve": {
                  "href": "/api/v1/journeys/in_1/steps/approve",
                  "method": "POST"
                },
                "cancel": {
                  "href": "/api/v1/journeys/in_1/steps/cancel",
                  "method": "POST"
                },
                "result": {
                  "href": "/api/v1/journeys/in_1/result",
                  "method": "GET"
                },
                "self": {
                  "href": "/api/v1/journeys/in_1",
                  "method": "GET"
                }
              },
              "attributes": {
                "customer": "c-1",
                "tenant": "acme bank"
              },
              "currentState": "approve",
              "dueAt": "2026-01-01T00:01:00Z",
              "journeyId": "in_1",
              "journeyName": "order",
              "phase": "RUNNING",
              "tags": [
                "shop",
                "web"
              ],
              "updatedAt": "2026-01-01T00:00:00Z"
            }"#]],
    );
    assert_eq!(outcome(&bench.definition, &bench.instance()), None);
}

#[test]
fn a_submission_is_answered_with_the_projection_and_reserved_names_stay() {
    let mut bench = Bench::new(JOURNEY);
    bench.start("{}", None);
    bench.submit("approve", r#"{"ok":true}"#);
    show(
        &submitted_status(&bench.definition, &bench.instance(), "approve"),
        &expect![[r#"
            {
              "_links": {
                "cancel": {
                  "href": "/api/v1/journeys/in_1/steps/cancel",
                  "method": "POST"
                },
                "result": {
                  "href": "/api/v1/journeys/in_1/result",
                  "method": "GET"
                },
                "self": {
                  "href": "/api/v1/journeys/in_1",
                  "method": "GET"
                }
              },
              "currentState": "nap",
              "dueAt": "2026-01-01T01:00:00Z",
              "journeyId": "in_1",
              "journeyName": "order",
              "phase": "RUNNING",
              "tags": [
                "shop"
              ],
              "thanks": true,
              "updatedAt": "2026-01-01T00:00:00Z"
            }"#]],
    );
}

const INSIDE: &str = r#"
apiVersion: v1
kind: Journey
metadata: {name: inside, version: 1.0.0}
spec:
  httpSurface: {links: {enabled: false}}
  subjourneys:
    form:
      start: ask
      states:
        ask: {type: wait, wait: {channel: manual, input: {schema: {}}, response: {outputVar: hint}}, next: hint}
        hint:
          type: transform
          transform: {mapper: {lang: dataweave, expr: "{more: true, tags: [1], dueAt: 5, _links: {}}"}, target: {kind: var}, resultVar: hint}
          next: again
        again: {type: wait, wait: {channel: manual, input: {schema: {}}}, next: ok}
        ok: {type: succeed}
  start: call
  states:
    call: {type: subjourney, subjourney: {ref: form}, next: done}
    done: {type: succeed}
"#;

#[test]
fn a_step_of_a_subjourney_shows_its_own_context_and_takes_no_reserved_name() {
    let mut bench = Bench::new(INSIDE);
    bench.start("{}", None);
    bench.submit("ask", "{}");
    show(
        &submitted_status(&bench.definition, &bench.instance(), "ask"),
        &expect![[r#"
            {
              "currentState": "call",
              "journeyId": "in_1",
              "journeyName": "inside",
              "more": true,
              "phase": "RUNNING",
              "updatedAt": "2026-01-01T00:00:00Z"
            }"#]],
    );
}

#[test]
fn the_outcome_mirrors_the_status_of_the_output_and_names_its_kind() {
    let mut bench = Bench::new(JOURNEY);
    bench.start("{}", None);
    bench.submit("approve", r#"{"ok":true}"#);
    let key = *bench.timers.last().expect("a timer");
    bench.event(Event::TimerFired { key, due_at: bench.now });
    show(
        &outcome(&bench.definition, &bench.instance()).expect("it is over"),
        &expect![[r#"
            {
              "_links": {
                "self": {
                  "href": "/api/v1/journeys/in_1",
                  "method": "GET"
                }
              },
              "journeyId": "in_1",
              "journeyName": "order",
              "outcomeId": "big",
              "output": {
                "answer": {
                  "phase": "mine",
                  "thanks": true
                },
                "status": "PAID",
                "summary": {
                  "phase": "mine",
                  "total": 150
                },
                "total": 150
              },
              "phase": "SUCCEEDED",
              "status": "PAID",
              "tags": [
                "shop"
              ],
              "total": 150
            }"#]],
    );
}

#[test]
fn a_cancelled_journey_is_failed_on_its_own_surface() {
    let mut bench = Bench::new(JOURNEY);
    bench.start("{}", None);
    bench.event(Event::Cancel { reason: "changed my mind".to_owned() });
    let answer = outcome(&bench.definition, &bench.instance()).expect("it is over");
    let answer: serde_json::Value = answer.read().expect("JSON");
    assert_eq!(answer["phase"], "FAILED");
    assert_eq!(answer["status"], "JOURNEY_CANCELLED");
    assert_eq!(answer["error"]["reason"], "Cancelled by user");
}

#[test]
fn refusals_say_what_is_wrong() {
    let mut bench = Bench::new(JOURNEY);
    bench.start("{}", None);
    let turn = bench.submit("approve", "{}");
    let expected = r#"[{"pointer":"","message":"\"ok\" is a required property"}]"#;
    let refused = |code: &str, problem: &str| meantime_core::Verdict::Refused {
        code: code.to_owned(),
        problem: Json::parse(problem).expect("JSON"),
    };
    assert_eq!(turn.verdicts, [refused("invalid_input", expected)]);
    let turn = bench.submit("elsewhere", "{}");
    let expected = r#""the step `elsewhere` does not wait for a submission""#;
    assert_eq!(turn.verdicts, [refused("step_not_active", expected)]);
}

const API: &str = r#"
apiVersion: v1
kind: Api
metadata: {name: quote, version: 1.0.0}
spec:
  execution: {maxDurationSec: 5, onTimeout: {errorCode: TOO_SLOW, reason: took too long}}
  errors: {envelope: {format: custom, mapper: {lang: dataweave, expr: "{oops: error.code, env: platform.environment}"}}}
  bindings:
    http:
      route: {path: /quotes}
      apiResponses:
        rules:
          - {when: {phase: FAILED, errorType: NOT_FOUND}, status: 404}
          - {when: {phase: FAILED, predicate: {lang: dataweave, expr: "payload.error.code == \"BUSY\""}}, statusExpr: {lang: dataweave, expr: "500 + 3"}}
          - {when: {phase: SUCCEEDED, predicate: {lang: dataweave, expr: "context.fresh default false"}}, status: 201}
  start: pick
  states:
    pick:
      type: choice
      choices:
        - {when: {predicate: {lang: dataweave, expr: "context.want == \"ok\""}}, next: done}
        - {when: {predicate: {lang: dataweave, expr: "context.want == \"missing\""}}, next: missing}
        - {when: {predicate: {lang: dataweave, expr: "context.want == \"busy\""}}, next: busy}
      default: other
    done: {type: succeed}
    missing: {type: fail, errorCode: NOT_FOUND, reason: no such quote}
    busy: {type: fail, errorCode: BUSY, reason: try later}
    other: {type: fail, errorCode: OTHER, reason: something else}
"#;

fn api(input: &str) -> (u16, String, bool) {
    let mut bench = Bench::new(API);
    bench.start(input, None);
    let outcome = bench.outcome.clone().expect("an API ends at once");
    answer(&bench, &outcome)
}

fn answer(bench: &Bench, outcome: &Outcome) -> (u16, String, bool) {
    let settings = Settings::default();
    let answer = |effort| api_answer(&settings, &bench.definition, outcome, bench.now, effort);
    let full = answer(Effort::Full).expect("full effort is enough");
    // A quick answer is the same one, or none.
    assert!(answer(Effort::Quick).is_ok_and(|it| it == full) || answer(Effort::Quick).is_err());
    let answer = full;
    (answer.status, answer.body.as_str().to_owned(), answer.is_problem)
}

#[test]
fn je9_an_api_answers_with_its_own_statuses_and_envelope() {
    assert_eq!(api(r#"{"want":"ok"}"#), (200, r#"{"want":"ok"}"#.to_owned(), false));
    let fresh = api(r#"{"want":"ok","fresh":true}"#);
    assert_eq!(fresh.0, 201);
    let missing = r#"{"oops":"NOT_FOUND","env":"local"}"#.to_owned();
    assert_eq!(api(r#"{"want":"missing"}"#), (404, missing, false));
    assert_eq!(api(r#"{"want":"busy"}"#).0, 503);
    assert_eq!(api(r#"{"want":"x"}"#).0, 500);
}

#[test]
fn je9_a_deadline_of_an_api_is_504_with_the_declared_code() {
    let mut bench =
        Bench::new(&API.replace("  errors: {envelope", "  mappers: {}\n  errors: {envelope"));
    bench.start(r#"{"want":"ok"}"#, None);
    let outcome = Outcome::Failed {
        failure: meantime_core::Failure::new("TOO_SLOW", "took too long"),
        termination: meantime_core::Termination::Timeout,
        context: Json::parse("{}").expect("JSON"),
    };
    let expected = r#"{"oops":"TOO_SLOW","env":"local"}"#.to_owned();
    assert_eq!(answer(&bench, &outcome), (504, expected, false));
}

/// An API whose rules have these predicates; the status of a rule is 210 and its number.
fn api_with(predicates: &[&str]) -> String {
    let rule = |(number, predicate): (usize, &&str)| {
        let when =
            format!("{{phase: SUCCEEDED, predicate: {{lang: dataweave, expr: '{predicate}'}}}}");
        format!("          - {{when: {when}, status: {}}}\n", 210 + number)
    };
    let rules: String = predicates.iter().enumerate().map(rule).collect();
    format!(
        "apiVersion: v1\nkind: Api\nmetadata: {{name: quote, version: 1.0.0}}\nspec:\n  bindings:\n    \
         http:\n      apiResponses:\n        rules:\n{rules}  start: done\n  states: {{done: \
         {{type: succeed}}}}\n"
    )
}

/// The status of such an API.
fn status_with(predicates: &[&str]) -> u16 {
    let mut bench = Bench::new(&api_with(predicates));
    bench.start("{}", None);
    answer(&bench, &bench.outcome.clone().expect("an API ends at once")).0
}

#[test]
fn i8_all_expressions_of_an_answer_share_one_budget() {
    // Each takes well over a third of the budget, and less than the whole.
    let costly = "sum((1 to 100000) map ((i) -> i + 1 + 1 + 1)) < 0";
    assert_eq!(status_with(&[costly, "true"]), 211);
    assert_eq!(status_with(&[costly, costly, costly, "true"]), 200);
    // A predicate that fails costs what it has computed, and no more.
    let failing = "(1 / 0) == 1";
    assert_eq!(status_with(&[failing, failing, failing, "true"]), 213);
}

#[test]
fn an_answer_is_quick_unless_it_computes_much_or_reads_a_long_context() {
    let is_quick = |predicates: &[&str], input: &str| {
        let mut bench = Bench::new(&api_with(predicates));
        bench.start(input, None);
        let outcome = bench.outcome.clone().expect("an API ends at once");
        let (settings, definition, now) = (Settings::default(), &bench.definition, bench.now);
        api_answer(&settings, definition, &outcome, now, Effort::Quick).is_ok()
    };
    let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000));
    assert!(is_quick(&["context.a == 1", "true"], "{}"));
    assert!(!is_quick(&["sum((1 to 10000) map ((i) -> i)) < 0"], "{}"));
    assert!(!is_quick(&["context.a == 1"], &long));
    assert!(is_quick(&[], &long), "nothing is computed");
}

#[test]
fn i8_an_api_has_so_many_rules_and_no_more() {
    let errors = |count: usize| {
        let (name, text) = ("x".to_owned(), api_with(&vec!["false"; count]).into());
        let source = Source { name, text, files: Vec::new() };
        let notation = JourneyNotation::new(Settings::default());
        let compiled = notation.compile(&source, &Limits::default());
        let errors = compiled.diagnostics.into_iter();
        errors.map(|it| format!("{} {}", it.code, it.message)).collect::<Vec<_>>()
    };
    assert_eq!(errors(100), Vec::<String>::new());
    let what = "J062 `spec.bindings.http.apiResponses.rules` has 101 rules, the limit is 100";
    assert_eq!(errors(101), [what]);
}

#[test]
fn an_api_has_its_route() {
    let bench = Bench::new(API);
    assert_eq!(route(&bench.definition).as_deref(), Some("/quotes"));
    assert_eq!(kind(&bench.definition), Some(Kind::Api));
    assert_eq!(route(&Bench::new(JOURNEY).definition), None);
}

const GUARDED: &str = r#"
apiVersion: v1
kind: Journey
metadata: {name: guarded, version: 1.0.0}
spec:
  access: {read: {guardRef: owner}}
  subjourneys:
    owner:
      start: look
      states:
        look:
          type: transform
          transform: {mapper: {lang: dataweave, expr: "{allowed: context.owner == \"ann\"}"}}
          next: ok
        ok: {type: succeed}
  start: ask
  states:
    ask: {type: webhook, webhook: {input: {schema: {}}}, next: done}
    done: {type: succeed}
"#;

#[test]
fn a_guard_decides_on_a_copy() {
    for (owner, allowed) in [("ann", true), ("bob", false)] {
        let mut bench = Bench::new(GUARDED);
        bench.start(&format!(r#"{{"owner":"{owner}"}}"#), None);
        let start = guard_start(&bench.definition, &bench.instance()).expect("it is guarded");
        let mut guard = Bench::new(GUARDED);
        guard.turn(|notation, definition, _, cx| {
            notation.start(definition, &start, cx).expect("it starts")
        });
        assert_eq!(guard_allows(&guard.outcome.expect("a guard ends at once")), allowed);
    }
}

#[test]
fn files_that_a_source_refers_to_are_named() {
    let text = "spec: {apis: {a: {openApiRef: apis/a.yaml}, b: {openApiRef: apis/a.yaml}}}";
    assert_eq!(references(text), ["apis/a.yaml"]);
}
