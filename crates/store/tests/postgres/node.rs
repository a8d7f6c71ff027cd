//! Several nodes on one database: locks, leases, notifications, and nodes that are fenced off.

use std::sync::Arc;
use std::sync::mpsc::channel;

use meantime_core::{DefinitionId, TaskId, Timestamp};
use meantime_kernel::store::{
    ClaimQuery, Fence, FetchRequest, Fetched, InstanceRow, Membership, NodeIndex, Notice,
    Partition, Phase, Store, TaskState, To, Unit, UnitResult, Write,
};
use meantime_store::conformance::block_on;
use meantime_store::postgres::cluster::{Cluster, Database, Durability, database_at};
use meantime_store::postgres::{Options, PostgresStore};

use crate::rows::{
    NOW, alone, commit, fetch, fresh_database, id, instance, next, node, open, query, start, task,
    timer, try_commit, turn, turn_of,
};

fn later(seconds: i64) -> Timestamp {
    NOW.saturating_add_millis(seconds * 1_000)
}

#[test]
fn an_instance_is_in_the_hands_of_one_node_at_a_time() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    commit(&one, 1, vec![start(&instance(1)), start(&instance(2))]);
    let held = fetch(&one, &[1]);
    let rest = fetch(&other, &[1, 2]);
    assert!(rest.instances[0].busy && rest.instances[0].row.is_none());
    assert!(!rest.instances[1].busy && rest.instances[1].row.is_some());
    let results = try_commit(&one, held, 2, vec![turn(&next(&instance(1)))]);
    assert!(matches!(results.expect("it commits")[..], [UnitResult::Done(_)]));
    // What the other node fetched before is stale.
    let results = try_commit(&other, rest, 1, vec![turn(&next(&instance(1)))]);
    assert_eq!(results.expect("it commits"), [UnitResult::Conflict]);
    assert_eq!(turn_of(&other, 1), Some(2));
}

#[test]
fn an_instance_that_is_held_elsewhere_is_a_conflict_and_nobody_waits() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    commit(&one, 1, vec![start(&instance(1))]);
    let held = fetch(&one, &[1]);
    let results = try_commit(&other, Fetched::default(), 1, vec![turn(&next(&instance(1)))]);
    assert_eq!(results.expect("it answers at once"), [UnitResult::Conflict]);
    drop(held);
}

#[test]
fn two_nodes_hand_out_different_tasks() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    let insert = |number: u64| Write::InsertTask(Box::new(task(number)));
    let writes = (1..=10).map(insert).collect();
    commit(&one, 1, vec![Unit { writes, ..Unit::default() }]);
    let claim = |store: &PostgresStore| {
        let claims = vec![ClaimQuery { limit: 6, ..ClaimQuery::default() }];
        let request = FetchRequest { now: NOW, claims, ..FetchRequest::default() };
        block_on(store.fetch(request)).expect("it can be fetched")
    };
    let (first, second) = (claim(&one), claim(&other));
    let ids =
        |fetched: &Fetched| fetched.claims[0].iter().map(|task| task.id).collect::<Vec<TaskId>>();
    let (mine, yours) = (ids(&first), ids(&second));
    assert_eq!((mine.len(), yours.len()), (6, 4));
    assert!(mine.iter().all(|id| !yours.contains(id)));
    // A cancellation of one of them does not wait meanwhile.
    let cancel = Write::DeleteTask { id: mine[0], claims: None };
    let unit = Unit { writes: vec![cancel], ..Unit::default() };
    let results = try_commit(&other, Fetched::default(), 1, vec![unit]).expect("it answers");
    assert_eq!(results, [UnitResult::Conflict]);
    let lease = |task: &meantime_kernel::store::TaskRow| {
        let mut row = Box::new(task.clone());
        (row.state, row.claims) = (TaskState::Leased, 1);
        Unit { fence: Fence::Task { row, claims: 0 }, ..Unit::default() }
    };
    let units = first.claims[0].iter().map(lease).collect();
    let results = try_commit(&one, first, 2, units).expect("it commits");
    assert!(results.iter().all(|it| matches!(it, UnitResult::Done(_))));
}

#[test]
fn nodes_get_different_indexes_and_see_each_other() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    let first = block_on(one.renew_lease(later(1))).expect("it has a node_lease");
    let second = block_on(other.renew_lease(later(1))).expect("it has a node_lease");
    assert_eq!((first.node_index, second.node_index), (NodeIndex(0), NodeIndex(1)));
    assert_eq!(first.nodes, [NodeIndex(0), NodeIndex(1)]);
    assert_eq!(first.nodes, second.nodes);
    block_on(one.leave()).expect("it leaves");
    let second = block_on(other.renew_lease(later(2))).expect("it has a node_lease");
    assert_eq!(second.nodes, [NodeIndex(1)]);
    // Without a lease nothing is written.
    let refused = try_commit(&one, Fetched::default(), 1, vec![start(&instance(1))]);
    assert_eq!(refused.expect_err("it has left").code(), "store_unavailable");
}

#[test]
fn a_node_that_was_silent_too_long_commits_nothing_until_it_has_a_lease_again() {
    let database = fresh_database();
    let (silent, other) = (node(&database), node(&database));
    commit(&silent, 1, vec![start(&instance(1))]);
    block_on(other.renew_lease(later(14))).expect("it has a node_lease");
    commit(&silent, 2, vec![turn(&next(&instance(1)))]);
    let membership = block_on(other.renew_lease(later(16))).expect("it has a node_lease");
    assert_eq!(membership.nodes, [NodeIndex(1)]);
    let late = vec![turn(&next(&next(&instance(1))))];
    let refused = try_commit(&silent, Fetched::default(), 3, late.clone());
    assert_eq!(refused.expect_err("its node_lease is gone").code(), "store_unavailable");
    assert_eq!(turn_of(&other, 1), Some(2));
    assert!(block_on(silent.is_committed(2)).expect("it can be asked"));
    assert!(!block_on(silent.is_committed(3)).expect("it can be asked"));
    let membership = block_on(silent.renew_lease(later(17))).expect("it has a node_lease");
    assert_eq!(membership.nodes, [NodeIndex(0), NodeIndex(1)]);
    commit(&silent, 4, late);
}

/// Two nodes that use the clock of the database.
fn real_nodes(database: &Database) -> (PostgresStore, PostgresStore) {
    let (one, other) = (open(database.options()), open(database.options()));
    for store in [&one, &other, &one] {
        block_on(store.renew_lease(NOW)).expect("it has a node_lease");
    }
    (one, other)
}

#[test]
fn counts_of_several_nodes_add_up_and_outlive_them() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    commit(&one, 1, (1..=5).map(|number| start(&instance(number))).collect());
    let ended = |number| InstanceRow {
        phase: Phase::Completed,
        ended_at: Some(NOW),
        ..next(&instance(number))
    };
    // What one node has started another one ends.
    commit(&other, 1, vec![start(&instance(6)), turn(&ended(1)), turn(&ended(2))]);
    let counts = |store: &PostgresStore| {
        let counts = block_on(store.count_instances()).expect("they can be read");
        assert_eq!(block_on(store.check()).expect("it can be checked"), Vec::<String>::new());
        counts.iter().map(|it| (it.status, it.count)).collect::<Vec<_>>()
    };
    let expected = vec![(Phase::Running, 4), (Phase::Completed, 2)];
    assert_eq!((counts(&one), counts(&other)), (expected.clone(), expected.clone()));
    // A rejected commit does not count.
    let fetched = fetch(&one, &[3]);
    let membership = block_on(other.renew_lease(later(100))).expect("it has a node_lease");
    assert_eq!(membership.nodes, [NodeIndex(1)]);
    let refused = try_commit(&one, fetched, 2, vec![turn(&ended(3))]);
    assert_eq!(refused.expect_err("its node_lease is gone").code(), "store_unavailable");
    assert_eq!(counts(&other), expected);
    // The rows of the other one are deleted later; its numbers stay.
    let terms = "SELECT DISTINCT lease_term FROM instance_count ORDER BY 1";
    let before = query(database.url(), terms);
    assert!(before.len() == 2 && !before.contains(&0), "{before:?}");
    block_on(other.renew_lease(later(100 + 601))).expect("it has a node_lease");
    assert_eq!(query(database.url(), terms), [0, before[1]]);
    assert_eq!(counts(&other), expected);
    commit(&other, 2, vec![turn(&ended(3))]);
    assert_eq!(counts(&other), [(Phase::Running, 3), (Phase::Completed, 3)]);
}

#[test]
fn a_stall_of_the_database_costs_nobody_its_lease() {
    let database = fresh_database();
    let (one, other) = real_nodes(&database);
    // As if no heartbeat had succeeded for twenty seconds: both leases have expired.
    query(database.url(), "UPDATE node_lease SET until_at = until_at - 20000 RETURNING until_at");
    let membership = block_on(other.renew_lease(NOW)).expect("it has a node_lease");
    assert_eq!(membership.nodes, [NodeIndex(0), NodeIndex(1)]);
    let membership = block_on(one.renew_lease(NOW)).expect("it has a node_lease");
    assert_eq!(membership.nodes, [NodeIndex(0), NodeIndex(1)]);
    // A node that sends no heartbeat while others do has lost its lease, even if its session is
    // open.
    let silent =
        "UPDATE node_lease SET until_at = until_at - 20000 WHERE number = 0 RETURNING until_at";
    query(database.url(), silent);
    while block_on(other.renew_lease(NOW)).expect("it has a node_lease").nodes != [NodeIndex(1)] {}
}

/// Two nodes that use the clock of a database, which the test moves: a function of the same name
/// hides the server's own.
struct Watched {
    database: Database,
    nodes: Vec<PostgresStore>,
    now: i64,
}

impl Watched {
    fn new() -> Self {
        let database = fresh_database();
        let clock = "DROP SCHEMA IF EXISTS moved CASCADE; CREATE SCHEMA moved; \
             CREATE TABLE moved.clock AS SELECT 5000000::bigint AS ms; \
             CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql \
             AS 'SELECT to_timestamp(ms / 1000.0) FROM moved.clock'";
        database.execute(clock).expect("a clock");
        let path = "options='-c search_path=public,moved,pg_catalog'";
        let node = || open(Options::new(format!("{} {path}", database.url())));
        let nodes = vec![node(), node()];
        let mut watched = Self { database, nodes, now: NOW.as_millis() };
        watched.renew_together(4);
        watched
    }

    /// Both nodes send heartbeats, second after second, and hold or regain their leases.
    fn renew_together(&mut self, seconds: usize) {
        for _ in 0..seconds {
            let (first, second) = (self.renew_lease(0), self.renew_lease(1));
            assert_eq!((first.node_index, second.node_index), (NodeIndex(0), NodeIndex(1)));
            self.set(self.now + 1_000);
        }
    }

    fn set(&mut self, ms: i64) {
        self.now = ms;
        let sql = format!("UPDATE moved.clock SET ms = {ms}");
        self.database.execute(&sql).expect("it is moved");
    }

    fn renew_lease(&self, node: usize) -> Membership {
        let membership =
            block_on(self.nodes[node].renew_lease(later(0))).expect("it has a node_lease");
        assert_eq!(membership.time, Some(Timestamp::from_millis(self.now)), "the moved clock");
        membership
    }
}

/// The session lock of node 0, if nobody holds it.
const SESSION_OVER: &str =
    "SELECT session FROM node_lease WHERE number = 0 AND pg_try_advisory_xact_lock(session)";

#[test]
fn a_process_that_ended_loses_its_node_index_within_five_seconds() {
    // It ends at different times after the last heartbeat of the other one.
    for shift in [0, 1, 700, 1_500, 2_999] {
        let mut watched = Watched::new();
        watched.renew_lease(1);
        let next_heartbeat = watched.now + 3_000;
        watched.set(watched.now + shift);
        let killed_at = watched.now;
        drop(watched.nodes.remove(0));
        // The server notices a closed connection after a moment, in which the moved clock stands.
        while query(watched.database.url(), SESSION_OVER).is_empty() {}
        watched.set(next_heartbeat);
        // The other one sends heartbeats as the kernel does: every three seconds, or when the lease
        // may be free.
        loop {
            let membership = watched.renew_lease(0);
            if membership.nodes == [NodeIndex(1)] {
                break;
            }
            assert_eq!(membership.nodes, [NodeIndex(0), NodeIndex(1)]);
            let wait = membership.recheck_ms.expect("somebody else has a node_lease").min(3_000);
            watched.set(watched.now + wait);
            let since = watched.now - killed_at;
            assert!(since <= 5_000, "it is not free {since} ms later, with {shift}");
        }
    }
}

#[test]
fn a_silent_host_is_taken_over_within_two_seconds_after_its_lease() {
    let mut watched = Watched::new();
    // The heartbeats of the two nodes have different offsets.
    for (number, shift) in (1..).zip([0, 1, 700, 1_500, 2_999]) {
        watched.renew_together(4);
        commit(&watched.nodes[0], 2 * number, vec![start(&instance(number))]);
        watched.set(watched.now + shift);
        watched.renew_lease(0);
        let lease_over = watched.now + NodeIndex::LEASE_MS;
        watched.set(watched.now + 3_000 - shift);
        // From now on the first node is silent, and its session stays open. The second one sends
        // heartbeats as the kernel does: every three seconds, or when a lease may have expired.
        loop {
            let membership = watched.renew_lease(1);
            if membership.nodes == [NodeIndex(1)] {
                break;
            }
            assert_eq!(membership.nodes, [NodeIndex(0), NodeIndex(1)]);
            assert!(watched.now <= lease_over + 2_000, "nobody takes it over");
            let wait = membership.recheck_ms.expect("somebody else has a node_lease").min(3_000);
            watched.set(watched.now + wait);
        }
        let late = watched.now - lease_over;
        assert!((0..=2_000).contains(&late), "{late} ms after its lease, with {shift}");
        // A rejected commit of one node does not block the other.
        let next = vec![turn(&next(&instance(number)))];
        let refused =
            try_commit(&watched.nodes[0], Fetched::default(), 2 * number + 1, next.clone());
        assert_eq!(refused.expect_err("its node_lease is gone").code(), "store_unavailable");
        commit(&watched.nodes[1], number, next);
    }
}

#[test]
fn a_commit_that_was_refused_has_let_go_of_its_rows() {
    let database = fresh_database();
    let (silent, other) = (node(&database), node(&database));
    commit(&silent, 1, vec![start(&instance(1))]);
    let mut row = instance(1);
    for round in 1..=20 {
        // Its lease has expired; it has fetched before, and does not know it.
        let fetched = fetch(&silent, &[1]);
        let membership =
            block_on(other.renew_lease(later(100 * i64::try_from(round).expect("small"))));
        assert_eq!(membership.expect("it has a node_lease").nodes, [NodeIndex(1)]);
        row = next(&row);
        let refused = try_commit(&silent, fetched, 2 * round, vec![turn(&row)]);
        assert_eq!(refused.expect_err("its node_lease is gone").code(), "store_unavailable");
        commit(&other, round, vec![turn(&row)]);
        let back =
            block_on(silent.renew_lease(later(100 * i64::try_from(round).expect("small") + 1)));
        assert_eq!(back.expect("it has a node_lease").nodes, [NodeIndex(0), NodeIndex(1)]);
    }
}

#[test]
fn a_stall_of_the_database_of_any_length_evicts_nobody() {
    const STALLS: [i64; 9] = [1_000, 4_000, 8_000, 11_000, 14_999, 15_000, 16_000, 30_000, 600_000];
    let mut watched = Watched::new();
    let terms = [watched.renew_lease(0).lease_term, watched.renew_lease(1).lease_term];
    let orders = STALLS.into_iter().flat_map(|stall| [(stall, 0), (stall, 1)]);
    for (number, (stall, first)) in (1..).zip(orders) {
        watched.renew_together(4);
        watched.set(watched.now + stall);
        // A node that failed tries again every second, so the other is later by at most that.
        for _ in 0..3 {
            for node in [first, 1 - first] {
                let membership = watched.renew_lease(node);
                assert_eq!(membership.nodes, [NodeIndex(0), NodeIndex(1)], "{stall} {first}");
                assert_eq!(membership.lease_term, terms[node], "{stall} {first}");
                watched.set(watched.now + 1_000);
            }
        }
        commit(&watched.nodes[0], number, vec![start(&instance(number))]);
        commit(&watched.nodes[1], number, vec![turn(&next(&instance(number)))]);
    }
}

#[test]
fn a_restart_of_the_server_costs_nobody_its_lease() {
    let mut cluster = Cluster::start(Durability::None).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let (one, other) = real_nodes(&database);
    cluster.crash().expect("it starts again");
    let patiently = |store: &PostgresStore| loop {
        if let Ok(membership) = block_on(store.renew_lease(NOW)) {
            return membership;
        }
    };
    for store in [&one, &other, &one, &other] {
        assert_eq!(patiently(store).nodes, [NodeIndex(0), NodeIndex(1)]);
    }
}

#[test]
fn numbers_and_time_of_those_who_are_gone_are_not_forgotten() {
    let database = fresh_database();
    let other = {
        let (gone, other) = (node(&database), node(&database));
        commit(&gone, 1, vec![start(&instance(7))]);
        other
    };
    for seconds in [20, 1_000, 2_000] {
        block_on(other.renew_lease(later(seconds))).expect("it has a node_lease");
    }
    let recovered = block_on(other.recover(Partition::ALL)).expect("it recovers");
    assert_eq!((recovered.seq, recovered.clock), (id(7).order(), NOW));
}

#[test]
fn shares_divide_timers_and_what_is_to_be_taken_up() {
    let database = fresh_database();
    let store = node(&database);
    let starting = |number: u64| {
        let mut row = instance(number);
        row.phase = meantime_kernel::store::Phase::Starting;
        Unit { writes: vec![Write::InsertTimer(timer(number, 0))], ..start(&row) }
    };
    commit(&store, 1, (1..=60).map(starting).collect());
    let mut seen = Vec::new();
    for part in 0..3 {
        let share = Partition { index: part, count: 3 };
        let query = meantime_kernel::store::DueQuery {
            partition: share,
            before: Some(later(1)),
            ..meantime_kernel::store::DueQuery::first(100)
        };
        let timers = block_on(store.due_timers(query)).expect("it reads");
        let owners: Vec<_> = timers.iter().map(|row| row.id.0.instance).collect();
        assert!(owners.len() > 5 && owners.iter().all(|id| share.holds(*id)));
        let ready = block_on(store.recover(share)).expect("it recovers").ready;
        assert_eq!(ready.len(), owners.len());
        seen.extend(ready);
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=60).map(id).collect::<Vec<_>>());
}

#[test]
fn notices_reach_those_they_are_for() {
    let database = fresh_database();
    let (one, other) = (node(&database), node(&database));
    let (sender, heard) = channel();
    let mine = sender.clone();
    one.listen(Arc::new(move |notices| mine.send(("one", notices)).expect("it is heard")));
    other.listen(Arc::new(move |notices| sender.send(("other", notices)).expect("it is heard")));
    let rested = Notice::Rested(id(1));
    let armed = Notice::Armed(timer(1, 5).key(), DefinitionId(1));
    // Nobody is told when a connection has begun to listen, so it is told until it is heard.
    let notices = || vec![(To::Others, rested.clone()), (To::Node(NodeIndex(1)), armed.clone())];
    let mut first = Vec::new();
    while first.len() < 2 {
        block_on(one.notify(notices())).expect("it can be told");
        while let Ok((who, notices)) = heard.recv_timeout(std::time::Duration::from_millis(50)) {
            assert_eq!(who, "other");
            first.extend(notices);
        }
    }
    assert!(first.contains(&rested) && first.contains(&armed));
    let mut back = Vec::new();
    while back.is_empty() {
        block_on(other.notify(vec![(To::Node(NodeIndex(0)), Notice::Deployed)]))
            .expect("it can be told");
        while let Ok((who, notices)) = heard.recv_timeout(std::time::Duration::from_millis(50)) {
            back.extend(notices.into_iter().filter(|_| who == "one"));
        }
    }
    assert_eq!(back[0], Notice::Deployed);
}

#[test]
fn who_does_not_share_keeps_others_out() {
    let database = fresh_database();
    let owner = alone(&database);
    let impatient = |shared| Options {
        shared,
        connect_timeout: std::time::Duration::from_millis(200),
        ..database.options()
    };
    for shared in [false, true] {
        let refused = block_on(PostgresStore::open(impatient(shared)));
        assert_eq!(refused.expect_err("it is owned").code(), "store_locked");
    }
    drop(owner);
    let store = node(&database);
    let refused = block_on(PostgresStore::open(impatient(false)));
    assert_eq!(refused.expect_err("it is shared").code(), "store_locked");
    drop(store);
    // Opening waits for a process that has just ended.
    alone(&database);
}
