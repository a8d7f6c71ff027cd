//! A database that fails and comes back under the real driver: every call is answered, nothing
//! acknowledged is lost, and the outage is reported and counted.

use std::sync::Arc;

use meantime_core::{InstanceId, Source};
use meantime_kernel::command::{ClaimCommand, Command, Error, Reply, StartCommand};
use meantime_kernel::driver::{Builder, Kernel, StoreHealth};
use meantime_kernel::machine::Notations;
use meantime_sim::probe::Probe;
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::{Cluster, Database, Durability, database_at};

const PROBES: &str = "
probe quick
end \"done\"
";

async fn kernel(database: &Database) -> Kernel {
    let store = PostgresStore::open(database.options()).await.expect("the store opens");
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let kernel = Builder::new(Arc::new(store), notations).start().await;
    let kernel = kernel.expect("the kernel starts");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    kernel
}

fn start(key: usize) -> Command {
    Command::Start(StartCommand {
        definition: "quick".to_owned(),
        idempotency: Some(key.to_string()),
        ..StartCommand::default()
    })
}

/// Waits until the health of the store satisfies a condition.
async fn stands(kernel: &Kernel, suits: impl FnMut(&StoreHealth) -> bool) {
    kernel.store_health().wait_for(suits).await.expect("the kernel runs");
}

/// Starts with a key until the start is accepted.
async fn started(kernel: &Kernel, key: usize) -> InstanceId {
    loop {
        match kernel.call(start(key)).await {
            Ok(Reply::Started { instance, .. }) => return instance,
            Ok(reply) => panic!("{reply:?}"),
            // The node must renew its lease first.
            Err(error) => assert!(error.code().starts_with("store_"), "{error}"),
        }
        tokio::task::yield_now().await;
    }
}

fn lost(it: &StoreHealth) -> bool {
    matches!(it, StoreHealth::Unreachable(_))
}

fn sound(it: &StoreHealth) -> bool {
    *it == StoreHealth::Healthy
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_stopped_is_missed_at_once_and_found_again() {
    let mut cluster = Cluster::start(Durability::None).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let kernel = kernel(&database).await;
    let first = started(&kernel, 1).await;
    let worker = ClaimCommand {
        worker: "w".to_owned(),
        max: 1,
        lease_ms: 1_000,
        wait_ms: 600_000,
        ..ClaimCommand::default()
    };
    let waiting = kernel.clone();
    let waiting = tokio::spawn(async move { waiting.call(Command::Claim(worker)).await });
    cluster.stop().expect("it stops");
    stands(&kernel, lost).await;
    // No call hangs: neither a new one, nor one that waits already, nor a read.
    let refused = kernel.call(start(2)).await.expect_err("it cannot be written");
    assert_eq!(refused.code(), "store_unavailable");
    let given_up = waiting.await.expect("it ends").expect_err("nobody can look for a task");
    assert_eq!(given_up.code(), "store_unavailable");
    assert!(kernel.store().instance(first).await.is_err());
    assert!(kernel.store().ping().await.is_err());
    cluster.restart().expect("it starts again");
    stands(&kernel, sound).await;
    kernel.store().ping().await.expect("it is there");
    assert_eq!(started(&kernel, 1).await, first);
    started(&kernel, 2).await;
    let counters = kernel.counters().await.expect("it runs");
    assert_eq!((counters.store_outages, counters.store_recoveries), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_stands_still_keeps_nobody_waiting() {
    let mut cluster = Cluster::start(Durability::None).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let kernel = kernel(&database).await;
    let first = started(&kernel, 1).await;
    cluster.pause().expect("it stands still");
    // The connections are open but silent: only a missing answer shows the outage.
    assert!(kernel.store().ping().await.is_err());
    let calls: Vec<_> = (2..20)
        .map(|key| {
            let kernel = kernel.clone();
            tokio::spawn(async move { kernel.call(start(key)).await })
        })
        .collect();
    for call in calls {
        let refused: Error = call.await.expect("it ends").expect_err("it cannot be written");
        assert!(["store_unavailable", "store_ambiguous"].contains(&refused.code()), "{refused}");
    }
    stands(&kernel, lost).await;
    assert!(kernel.store().instance(first).await.is_err());
    cluster.resume().expect("it goes on");
    stands(&kernel, sound).await;
    // Whatever happened to the calls with unknown outcome: the same keys start the same instances,
    // once.
    for key in 1..20 {
        let instance = started(&kernel, key).await;
        assert_eq!(started(&kernel, key).await, instance);
    }
    kernel.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_database_is_away_stops_when_it_is_told() {
    let mut cluster = Cluster::start(Durability::None).expect("PostgreSQL");
    let database = database_at(cluster.address()).expect("a database");
    let kernel = kernel(&database).await;
    cluster.stop().expect("it stops");
    stands(&kernel, lost).await;
    kernel.stop().await;
    let refused = kernel.call(start(1)).await.expect_err("it has stopped");
    assert_eq!(refused.code(), "stopping");
}
