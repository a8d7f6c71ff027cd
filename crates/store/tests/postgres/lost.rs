//! Lost connections, lost answers and servers that die: nothing acknowledged is lost, and nothing
//! is done twice (P1, P12).

use std::sync::Arc;

use meantime_kernel::store::{Class, Error, Fetched, InstanceFilter, Store, UnitResult};
use meantime_store::conformance::block_on;
use meantime_store::postgres::cluster::{Cluster, Durability, database_at};
use meantime_store::postgres::{Options, PostgresStore};

use crate::proxy::{Fate, Proxy};
use crate::rows::{
    alone, commit, fetch, fresh_database, instance, next, node, open, query, start, try_commit,
    turn, turn_of,
};

/// Terminates the other connections to the database: those inside a transaction, or all.
fn cut(url: &str, which: &str) -> i64 {
    let sql = format!(
        "SELECT pid::bigint * pg_terminate_backend(pid)::int FROM pg_stat_activity WHERE {which} \
         AND application_name = 'meantime' AND datname = current_database()"
    );
    let cut = query(url, &sql);
    // One of them is reopened at once, with another process id.
    let pids: Vec<String> = cut.iter().map(i64::to_string).collect();
    let left =
        format!("SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ('{{{}}}')", pids.join(","));
    while query(url, &left)[0] > 0 {}
    i64::try_from(cut.len()).expect("a few")
}

#[test]
fn a_turn_survives_the_loss_of_its_lock() {
    let database = fresh_database();
    let store = alone(&database);
    commit(&store, 1, vec![start(&instance(1))]);
    let fetched = fetch(&store, &[1]);
    assert_eq!(cut(database.url(), "state = 'idle in transaction'"), 1);
    let results = try_commit(&store, fetched, 2, vec![turn(&next(&instance(1)))]);
    assert!(matches!(results.expect("it commits")[..], [UnitResult::Done(_)]));
    assert_eq!((turn_of(&store, 1), store.stats().replays), (Some(2), 1));
}

#[test]
fn a_turn_that_lost_its_lock_and_the_race_is_a_conflict() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    commit(&one, 1, vec![start(&instance(1))]);
    let fetched = fetch(&one, &[1]);
    cut(database.url(), "state = 'idle in transaction'");
    commit(&other, 1, vec![turn(&next(&instance(1)))]);
    let results = try_commit(&one, fetched, 2, vec![turn(&next(&instance(1)))]);
    assert_eq!(results.expect("it commits"), [UnitResult::Conflict]);
}

#[test]
fn connections_that_are_cut_are_made_again() {
    let database = fresh_database();
    let store = alone(&database);
    commit(&store, 1, vec![start(&instance(1))]);
    assert_eq!(turn_of(&store, 1), Some(1));
    assert!(cut(database.url(), "true") >= 3);
    commit(&store, 2, vec![turn(&next(&instance(1)))]);
    let fetched = fetch(&store, &[1]);
    assert_eq!(fetched.instances[0].row.as_ref().map(|row| row.turn_no), Some(2));
}

/// A store behind a proxy, with one instance.
fn behind_proxy(database: &meantime_store::postgres::cluster::Database) -> (Proxy, PostgresStore) {
    let proxy = Proxy::new(database.url());
    let options = Options { shared: false, ..Options::new(&proxy.url) };
    let store = open(options);
    commit(&store, 1, vec![start(&instance(1))]);
    (proxy, store)
}

fn doubtful(store: &PostgresStore, batch: u64) {
    let error = try_commit(store, Fetched::default(), batch, vec![turn(&next(&instance(1)))]);
    let error = error.expect_err("its answer is lost");
    assert_eq!(error.class(), Class::Unknown);
    let Error::Ambiguous { results, .. } = error else { panic!("{error}") };
    assert!(matches!(results[..], [UnitResult::Done(_)]));
}

#[test]
fn a_commit_whose_answer_is_lost_took_effect() {
    let database = fresh_database();
    let (proxy, store) = behind_proxy(&database);
    proxy.next_commit(Fate::LosesItsAnswer);
    doubtful(&store, 2);
    assert!(block_on(store.is_committed(2)).expect("it can be asked"));
    assert_eq!(turn_of(&store, 1), Some(2));
    assert_eq!(store.stats().in_doubt, 1);
}

#[test]
fn a_commit_that_gets_lost_took_no_effect() {
    let database = fresh_database();
    let (proxy, store) = behind_proxy(&database);
    proxy.next_commit(Fate::GetsLost);
    doubtful(&store, 2);
    assert!(!block_on(store.is_committed(2)).expect("it can be asked"));
    assert_eq!(turn_of(&store, 1), Some(1));
    commit(&store, 3, vec![turn(&next(&instance(1)))]);
}

#[test]
fn a_commit_that_is_still_under_way_is_waited_for() {
    let database = fresh_database();
    let (proxy, store) = behind_proxy(&database);
    let store = Arc::new(store);
    proxy.next_commit(Fate::IsLate);
    doubtful(&store, 2);
    // Meanwhile other commits happen, and no reader goes beyond rows that may still appear.
    commit(&*store, 3, vec![start(&instance(2))]);
    let conditional_writes = Arc::clone(&store);
    let answer = std::thread::spawn(move || block_on(conditional_writes.is_committed(2)));
    // The query waits for the row lock of the late commit.
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                   AND datname = current_database()";
    while query(database.url(), waiting)[0] == 0 {}
    assert!(!answer.is_finished());
    proxy.let_go();
    assert!(answer.join().expect("it ends").expect("it can be asked"));
    assert_eq!(turn_of(&*store, 1), Some(2));
}

#[test]
fn a_server_that_dies_loses_nothing_that_was_answered() {
    let mut cluster = Cluster::start(Durability::Default).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let store = alone(&database);
    let mut answered = 0;
    for round in 0..4_u64 {
        for number in 0..20 {
            let number = 1 + round * 100 + number;
            commit(&store, number, vec![start(&instance(number))]);
            answered += 1;
        }
        cluster.crash().expect("it starts again");
        // The first call after that may still use a dead connection; it writes nothing.
        let probe = || block_on(store.recover(meantime_kernel::store::Partition::ALL));
        while let Err(error) = probe() {
            assert_eq!(error.class(), Class::Transient, "{error}");
        }
    }
    let page = meantime_kernel::store::Page::first(1_000);
    let rows = block_on(store.instances(InstanceFilter::default(), page)).expect("it reads");
    assert_eq!(rows.len(), answered);
    assert_eq!(block_on(store.check()).expect("it can be checked"), Vec::<String>::new());
}
