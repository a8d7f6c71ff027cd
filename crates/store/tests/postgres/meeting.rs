//! Work that must be neither missed nor done twice when two nodes do it at the same moment.

use std::sync::{Arc, Barrier};

use meantime_kernel::store::{
    AnswerRow, ChannelKey, Fetched, Precondition, Store, Unit, UnitResult,
};
use meantime_store::conformance::block_on;
use meantime_store::postgres::PostgresStore;

use crate::rows::{
    NOW, commit, fetch, fresh_database, id, instance, node, publish, start, subscribe, try_commit,
};

/// Lets two nodes commit a unit each at the same moment, many times.
fn race(
    rounds: u64,
    one: &Arc<PostgresStore>,
    other: &Arc<PostgresStore>,
    units: fn(u64) -> (Unit, Unit),
    verify: impl Fn(u64, [&UnitResult; 2]),
) {
    for round in 1..=rounds {
        let barrier = Arc::new(Barrier::new(2));
        let (first, second) = units(round);
        let threads =
            [(Arc::clone(one), first), (Arc::clone(other), second)].map(|(store, unit)| {
                let barrier = Arc::clone(&barrier);
                std::thread::spawn(move || {
                    barrier.wait();
                    try_commit(&*store, Fetched::default(), round, vec![unit]).expect("it commits")
                })
            });
        let [first, second] = threads.map(|thread| thread.join().expect("it ends"));
        verify(round, [&first[0], &second[0]]);
    }
}

fn done(result: &UnitResult) -> bool {
    matches!(result, UnitResult::Done(_))
}

#[test]
fn a_message_and_its_receiver_cannot_miss_each_other() {
    let database = fresh_database();
    let (one, other) = (Arc::new(node(&database)), Arc::new(node(&database)));
    commit(&*one, 1, vec![start(&instance(1))]);
    let key = |round: u64| format!("order {}", round % 3);
    let store = Arc::clone(&one);
    race(
        60,
        &one,
        &other,
        |round| {
            let key = format!("order {}", round % 3);
            (publish("paid", &key, 2 * round), subscribe(1, "paid", &key, 2 * round + 1))
        },
        |round, results| {
            let woken = results.iter().filter(|result| match result {
                UnitResult::Done(done) => done.woken == [id(1)],
                _ => false,
            });
            // The later of the two commits found the row of the earlier one.
            assert_eq!(woken.count(), 1, "{}: {results:?}", key(round));
            let inbox = fetch(&*store, &[1]).instances.remove(0).inbox;
            assert_eq!(inbox.len(), usize::try_from(round).expect("few").min(9));
        },
    );
}

fn keyed(number: u64, round: u64) -> Unit {
    let mut row = instance(number);
    row.key = Some(format!("key {round}"));
    let key = Precondition::KeyFree { definition: "order".to_owned(), key: format!("key {round}") };
    Unit { preconditions: vec![key], ..start(&row) }
}

#[test]
fn a_business_key_has_one_holder() {
    let database = fresh_database();
    let (one, other) = (Arc::new(node(&database)), Arc::new(node(&database)));
    let deploy = crate::rows::deploy("order");
    commit(&*one, 1, vec![Unit { conditional_writes: vec![deploy], ..Unit::default() }]);
    race(
        40,
        &one,
        &other,
        |round| (keyed(2 * round, round), keyed(2 * round + 1, round)),
        |_, results| {
            assert_eq!(results.iter().filter(|it| done(it)).count(), 1, "{results:?}");
        },
    );
}

fn asked(number: u64, round: u64) -> Unit {
    let answer = AnswerRow {
        key: format!("request {round}"),
        request: 7,
        instance: id(number),
        expires_at: NOW.saturating_add_millis(1),
    };
    Unit { preconditions: vec![Precondition::NewRequest(answer)], ..start(&instance(number)) }
}

#[test]
fn an_idempotency_key_has_one_answer() {
    let database = fresh_database();
    let (one, other) = (Arc::new(node(&database)), Arc::new(node(&database)));
    race(
        40,
        &one,
        &other,
        |round| (asked(2 * round, round), asked(2 * round + 1, round)),
        |_, results| {
            assert_eq!(results.iter().filter(|it| done(it)).count(), 1, "{results:?}");
        },
    );
}

#[test]
fn deploys_of_different_names_get_different_numbers() {
    let database = fresh_database();
    let (one, other) = (Arc::new(node(&database)), Arc::new(node(&database)));
    race(
        20,
        &one,
        &other,
        |round| {
            let unit = |name: String| Unit {
                conditional_writes: vec![crate::rows::deploy(&name)],
                ..Unit::default()
            };
            (unit(format!("one {round}")), unit(format!("other {round}")))
        },
        |_, results| assert!(results.iter().all(|it| done(it)), "{results:?}"),
    );
}

#[test]
fn many_plans_on_the_same_channels_do_not_wait_in_a_circle() {
    let database = fresh_database();
    let nodes = [Arc::new(node(&database)), Arc::new(node(&database))];
    commit(&*nodes[0], 1, vec![start(&instance(1))]);
    // Some plans have more channels than are locked individually.
    let threads = (0..8_u64).map(|thread| {
        let store = Arc::clone(&nodes[usize::try_from(thread % 2).unwrap_or(0)]);
        std::thread::spawn(move || {
            for round in 0..12_u64 {
                let width = if round % 4 == 0 { 150 } else { 12 };
                let units = (0..width).map(|step| {
                    let place = (step * (thread + 3) + round * 5) % 40;
                    let seq = thread * 100_000 + round * 1_000 + step;
                    let key =
                        if width > 100 { format!("{place} {step}") } else { place.to_string() };
                    if (step + thread) % 2 == 0 {
                        publish("m", &key, seq)
                    } else {
                        subscribe(1, "m", &key, seq)
                    }
                });
                commit(&*store, thread * 1_000 + round + 10, units.collect());
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("it ends"));
    assert_eq!(nodes[0].stats().replays + nodes[1].stats().replays, 0);
    let problems = block_on(nodes[0].check()).expect("it can be checked");
    assert_eq!(problems, Vec::<String>::new());
    // No channel has both a message and a subscription.
    for place in 0..40 {
        let channel = ChannelKey::message("m", &place.to_string());
        let sides = crate::rows::sides(&database, &channel);
        assert!(sides.0 == 0 || sides.1 == 0, "{channel:?}: {sides:?}");
    }
}
