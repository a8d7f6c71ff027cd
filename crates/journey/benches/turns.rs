//! Measures turns of journeys without kernel and store: `cargo bench -p meantime-journey`.
//!
//! The figures depend on the machine; nothing is asserted.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock; the crate does not")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use meantime_core::{
    Cx, Event, InstanceId, Json, Limits, Notation as _, Source, Start, StartCause, Timestamp,
};
use meantime_journey::JourneyNotation;

const INPUT: &str = r#"{
  "orderId": "o-4711", "customer": {"name": "Ada Lovelace", "email": "ada@example.org", "tier": "gold"},
  "currency": "EUR", "items": [{"sku": "a-1", "price": 19.99, "quantity": 2}, {"sku": "b-2", "price": 5, "quantity": 10}]
}"#;

const TEXT: &str = r#"apiVersion: v1
kind: Journey
metadata: {name: order, version: 1.0.0}
spec:
  start: lines
  states:
    lines:
      type: transform
      transform:
        mapper:
          lang: dataweave
          expr: |
            {
              lines: context.items map ((item, index) -> {number: index + 1, sku: item.sku, total: item.price * item.quantity}),
              total: sum(context.items map $.price * $.quantity)
            }
        target: {kind: var}
        resultVar: order
      next: customer
    customer:
      type: transform
      transform:
        mapper: {lang: dataweave, expr: '{name: upper(context.customer.name), reference: context.orderId ++ "-" ++ context.currency}'}
        target: {kind: context, path: customer.shown}
      next: check
    check:
      type: choice
      choices:
        - when: {predicate: {lang: dataweave, expr: context.order.total > 50 and context.customer.tier == "gold"}}
          next: gold
      default: done
    gold:
      type: transform
      transform: {mapper: {lang: dataweave, expr: 'context ++ {discount: 0.1}'}}
      next: ask
    ask: {type: wait, wait: {channel: manual, input: {schema: {type: object, required: [ok]}}}, next: done}
    done: {type: succeed, outputVar: order}
"#;

fn main() {
    let notation = JourneyNotation::default();
    let limits = Limits::default();
    let source = Source { name: "order".to_owned(), text: TEXT.into(), files: Vec::new() };
    let mut compiled = notation.compile(&source, &limits);
    assert!(compiled.diagnostics.is_empty(), "{:?}", compiled.diagnostics);
    let definition = compiled.definitions.remove(0);
    let now = Timestamp::from_millis(0);
    let cx = |turn_no| Cx {
        now,
        turn_no,
        instance: InstanceId::new(1, 2),
        version: 1,
        started_at: now,
        deadline: None,
        key: None,
        catches: &[],
        limits: &limits,
    };
    let start = Start::new(StartCause::Api, Json::parse(INPUT).expect("JSON"));
    let begin = || notation.start(&definition, &start, &cx(1)).expect("it starts");
    let state = begin().state;
    let payload = Json::parse(r#"{"ok":true}"#).expect("JSON");
    let events = [Event::Submitted { step: "ask".to_owned(), payload, request_bindings: None }];
    let compile = time(50, || {
        black_box(notation.compile(&source, &limits));
    });
    println!("compile                              {compile:>10.2?}");
    let turn = time(2_000, || {
        black_box(begin());
    });
    println!("start: three transforms and a choice {turn:>10.2?}");
    let turn = time(2_000, || {
        black_box(notation.advance(&definition, &state, &events, &cx(2)).expect("it goes on"));
    });
    println!("submit: check a body and end         {turn:>10.2?}");
}

/// The duration of one run: the best of several rounds.
fn time(runs: u32, mut run: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        for _ in 0..runs {
            run();
        }
        best = best.min(begin.elapsed() / runs);
    }
    best
}
