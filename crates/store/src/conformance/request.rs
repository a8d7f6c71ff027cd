//! Idempotency keys.

use meantime_kernel::store::{AnswerRow, Precondition, Refusal, Unit, UnitResult};

use super::bench::{Bench, at, id, instance, start};
use super::suite::declare;

declare!("request":
    a_repeated_request_gets_the_first_answer,
    a_reused_key_with_another_request_is_refused,
    an_answer_is_forgotten_when_it_expires,
    repetitions_in_one_plan_are_seen,
    a_refused_request_is_not_remembered,
);

fn request(number: u64, hash: u64) -> Unit {
    let key = "req-1".to_owned();
    let answer = AnswerRow { key, request: hash, instance: id(number), expires_at: at(100) };
    Unit { preconditions: vec![Precondition::NewRequest(answer)], ..start(&instance(number)) }
}

fn repeated(number: u64) -> UnitResult {
    UnitResult::Refused(Refusal::Repeated(id(number)))
}

fn a_repeated_request_gets_the_first_answer(bench: &Bench<'_>) {
    bench.done(request(1, u64::MAX));
    assert_eq!(bench.commit(vec![request(2, u64::MAX)]), [repeated(1)]);
    assert_eq!(bench.instance(id(2)), None);
}

fn a_reused_key_with_another_request_is_refused(bench: &Bench<'_>) {
    bench.done(request(1, 7));
    let refused = UnitResult::Refused(Refusal::KeyReused);
    assert_eq!(bench.commit(vec![request(2, 8)]), [refused]);
}

fn an_answer_is_forgotten_when_it_expires(bench: &Bench<'_>) {
    bench.done(request(1, 7));
    assert_eq!(bench.commit_at(at(99), vec![request(2, 7)]), [repeated(1)]);
    let again = bench.commit_at(at(100), vec![request(3, 8)]);
    assert!(matches!(again[0], UnitResult::Done(_)), "{again:?}");
}

fn repetitions_in_one_plan_are_seen(bench: &Bench<'_>) {
    let results = bench.commit(vec![request(1, 7), request(2, 7)]);
    assert!(matches!(results[0], UnitResult::Done(_)));
    assert_eq!(results[1], repeated(1));
}

fn a_refused_request_is_not_remembered(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    // The fence fails, so the answer must not be stored either.
    assert_eq!(bench.commit(vec![request(1, 7)]), [UnitResult::Conflict]);
    bench.done(request(2, 8));
}
