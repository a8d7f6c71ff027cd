//! Measures mappers: `cargo bench -p meantime-dataweave --bench dataweave`.
//!
//! The figures depend on the machine; nothing is asserted.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock; the crate does not")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use meantime_core::Timestamp;
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_value::json;

const CONTEXT: &str = r#"{
  "orderId": "o-4711", "customer": {"name": "Ada Lovelace", "email": "ada@example.org", "tier": "gold"},
  "currency": "EUR", "createdAt": "2026-11-15T10:00:00Z",
  "items": [
    {"sku": "a-1", "price": 19.99, "quantity": 2, "tags": ["x", "y"]},
    {"sku": "b-2", "price": 5, "quantity": 10, "tags": []},
    {"sku": "c-3", "price": 0.49, "quantity": 3, "tags": ["z"]}
  ]
}"#;

const SCRIPTS: &[(&str, &str)] = &[
    ("predicate", "context.customer.tier == 'gold' and sizeOf(context.items) > 2"),
    (
        "mapper",
        "{
           orderId: context.orderId,
           customer: upper(context.customer.name) default 'unknown',
           status: if (context.customer.tier == 'gold') 'priority' else 'normal',
           reference: context.orderId ++ '-' ++ context.currency,
           count: sizeOf(context.items),
           note: context.note default ('for ' ++ context.customer.email),
           (phone: context.customer.phone) if (context.customer.phone?)
         }",
    ),
    (
        "lines",
        "{
           lines: context.items map ((item, index) -> {
             number: index + 1, sku: item.sku, total: item.price * item.quantity
           }),
           total: sum(context.items map $.price * $.quantity),
           expensive: (context.items filter $.price > 1) orderBy -$.price map $.sku
         }",
    ),
    ("due", "(context.createdAt as DateTime + |P1M|) as String {format: \"yyyy-MM-dd\"}"),
];

fn main() {
    let value = json::read(CONTEXT).expect("the context is JSON");
    let context =
        EvalContext { now: Timestamp::from_millis(0), seed: 1, limits: EvalLimits::default() };
    println!("{:<10} {:>12} {:>12} {:>8}", "script", "compile", "evaluate", "ops");
    for (name, source) in SCRIPTS {
        let script = Script::compile(source, &["context"]).script.expect("no errors");
        let ops = script.evaluate(vec![value.clone()], &context).expect("a result").ops;
        let compile = time(200, || {
            black_box(Script::compile(source, &["context"]));
        });
        let evaluate = time(20_000, || {
            black_box(script.evaluate(vec![value.clone()], &context).expect("a result"));
        });
        println!("{name:<10} {compile:>12.2?} {evaluate:>12.2?} {ops:>8}");
    }
    let read = time(5_000, || {
        black_box(json::read(CONTEXT).expect("JSON"));
    });
    println!("{:<10} {:>12} {read:>12.2?}", "read JSON", "");
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
