//! How a plan is committed: few statements, and units that do not affect each other.

use std::sync::Arc;

use meantime_kernel::store::{
    DueQuery, Fence, Page, Partition, Store, TaskFilter, TimerFilter, Unit, UnitResult, Write,
};
use meantime_store::conformance::block_on;

use crate::rows::{
    alone, commit, event, fetch, fresh_database, full, history, hold_lock, id, instance, next,
    query, start, task, timer, try_commit, turn, turn_of,
};

#[test]
fn a_plan_of_five_hundred_units_takes_a_dozen_statements() {
    let database = fresh_database();
    let store = alone(&database);
    // The first plan prepares the statements.
    commit(&store, 1, vec![full(1)]);
    let before = store.stats();
    commit(&store, 2, (10..510).map(full).collect());
    let after = store.stats();
    let statements = after.statements - before.statements;
    assert!(statements <= 8, "{statements} statements");
    assert_eq!(after.round_trips - before.round_trips, 2);

    let numbers: Vec<u64> = (10..510).collect();
    let fetched = fetch(&store, &numbers);
    let turns = numbers.iter().map(|number| {
        let task = task(*number);
        Unit {
            writes: vec![
                Write::DeleteTask { id: task.id, claims: Some(0) },
                Write::DeleteTimer(timer(*number, i64::try_from(number % 7).unwrap_or(0)).key()),
                Write::DeleteInbox { instance: id(*number), seq: *number },
                Write::History(history(*number, 1_000 + number)),
                Write::InsertTimer(timer(*number, 99)),
            ],
            ..turn(&next(&instance(*number)))
        }
    });
    let units = turns.collect();
    let before = store.stats();
    let results = try_commit(&store, fetched, 3, units).expect("it commits");
    assert!(results.iter().all(|it| matches!(it, UnitResult::Done(_))));
    let after = store.stats();
    let statements = after.statements - before.statements;
    assert!(statements <= 12, "{statements} statements");
    assert_eq!(after.round_trips - before.round_trips, 3);
    let tasks = block_on(store.tasks(TaskFilter::default(), Page::first(9))).expect("it reads");
    assert_eq!(tasks.len(), 1);
    let timers = block_on(store.timers(TimerFilter::default(), Page::first(999)));
    assert_eq!(timers.expect("it reads").len(), 501);
}

#[test]
fn writes_of_one_plan_to_one_row_add_up() {
    let database = fresh_database();
    let store = alone(&database);
    let unit = |writes| Unit { writes, ..Unit::default() };
    commit(&store, 1, vec![start(&instance(1))]);
    commit(
        &store,
        2,
        vec![
            unit(vec![
                Write::InsertTask(Box::new(task(1))),
                Write::PutInbox(Box::new(event(1, 5))),
                Write::InsertTimer(timer(1, 10)),
            ]),
            unit(vec![
                Write::DetachTask(task(1).id),
                Write::DeleteInbox { instance: id(1), seq: 5 },
                Write::MoveTimer { from: timer(1, 10).key(), to: timer(1, 20).key() },
            ]),
            unit(vec![Write::MoveTimer { from: timer(1, 20).key(), to: timer(1, 30).key() }]),
            turn(&next(&instance(1))),
            turn(&next(&next(&instance(1)))),
        ],
    );
    assert_eq!(turn_of(&store, 1), Some(3));
    let kept = block_on(store.task(task(1).id)).expect("it reads").expect("it is there");
    assert!(kept.spec.detached);
    assert!(fetch(&store, &[1]).instances[0].inbox.is_empty());
    let timers = block_on(store.timers(TimerFilter::default(), Page::first(9))).expect("it reads");
    assert_eq!(timers.iter().map(|row| row.due_at).collect::<Vec<_>>(), [timer(1, 30).due_at]);
}

#[test]
fn a_timer_that_is_moved_and_removed_is_gone() {
    let database = fresh_database();
    let store = alone(&database);
    let unit = |writes| Unit { writes, ..Unit::default() };
    commit(&store, 1, vec![unit(vec![Write::InsertTimer(timer(1, 10))])]);
    let there = Write::MoveTimer { from: timer(1, 10).key(), to: timer(1, 20).key() };
    commit(&store, 2, vec![unit(vec![there, Write::DeleteTimer(timer(1, 20).key())])]);
    let timers = block_on(store.timers(TimerFilter::default(), Page::first(9))).expect("it reads");
    assert_eq!(timers, []);
}

#[test]
fn an_id_that_is_taken_costs_its_own_unit_only() {
    let database = fresh_database();
    let store = alone(&database);
    commit(&store, 1, vec![start(&instance(1))]);
    let units = vec![start(&instance(2)), start(&instance(1)), turn(&next(&instance(1)))];
    let results = try_commit(&store, meantime_kernel::store::Fetched::default(), 2, units);
    let results = results.expect("it commits");
    let done = |at: usize| matches!(results[at], UnitResult::Done(_));
    assert!(done(0) && results[1] == UnitResult::Conflict && done(2), "{results:?}");
    assert_eq!((turn_of(&store, 1), turn_of(&store, 2)), (Some(2), Some(1)));
}

#[test]
fn text_that_the_database_cannot_hold_is_read_back_as_it_was() {
    let database = fresh_database();
    let store = alone(&database);
    let mut row = instance(1);
    row.key = Some("a\0b\u{10ffff}".to_owned());
    let tagged =
        Write::PutTags { instance: id(1), tags: vec!["tag\0".to_owned()], attributes: Vec::new() };
    commit(&store, 1, vec![Unit { writes: vec![tagged], ..start(&row) }]);
    assert_eq!(block_on(store.instance(id(1))).expect("it reads"), Some(row));
    let filter = meantime_kernel::store::InstanceFilter {
        tags: vec!["tag\0".to_owned()],
        key: Some("a\0b\u{10ffff}".to_owned()),
        ..Default::default()
    };
    let found = block_on(store.instances(filter, Page::first(9))).expect("it reads");
    assert_eq!(found.len(), 1);
}

#[test]
fn what_was_taken_is_free_once_it_is_dropped() {
    let database = fresh_database();
    let store = alone(&database);
    commit(&store, 1, vec![start(&instance(1))]);
    for _ in 0..20 {
        let fetched = fetch(&store, &[1]);
        assert!(!fetched.instances[0].busy && fetched.hold.is_some());
    }
    let fence = Fence::Unchanged { instance: id(1), turn_no: 1 };
    commit(&store, 2, vec![Unit { fence, ..Unit::default() }]);
}

/// Lists that wait for a lock which nothing else needs.
const WAITING_LISTS: &str =
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'operation'::regclass";

#[test]
fn lists_that_do_not_end_delay_no_turn() {
    let database = fresh_database();
    let store = Arc::new(alone(&database));
    let lists = database.options().readers;
    let lock = hold_lock(database.url(), "LOCK TABLE operation");
    // Each holds a connection for lists; as many again wait for one.
    let readers: Vec<_> = (0..lists * 2)
        .map(|_| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || block_on(store.operations(Page::first(9))))
        })
        .collect();
    let held = i64::try_from(lists).expect("a few");
    while query(database.url(), WAITING_LISTS) != [held] {}
    let mut row = instance(1);
    commit(&*store, 1, vec![start(&row)]);
    for batch in 2..12 {
        row = next(&row);
        let fetched = fetch(&*store, &[1]);
        let results = try_commit(&*store, fetched, batch, vec![turn(&row)]).expect("it commits");
        assert!(matches!(results[..], [UnitResult::Done(_)]));
        assert_eq!(turn_of(&*store, 1), Some(batch));
        assert!(block_on(store.is_committed(batch)).expect("it can be asked"));
    }
    let due = DueQuery { after: None, before: None, partition: Partition::ALL, limit: 9 };
    assert!(block_on(store.due_timers(due)).expect("they can be read").is_empty());
    assert_eq!(query(database.url(), WAITING_LISTS), [held], "the lists have waited throughout");
    drop(lock);
    for reader in readers {
        reader.join().expect("it ends").expect("it reads");
    }
}
