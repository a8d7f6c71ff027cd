//! Three kernels on one PostgreSQL database, killed at random under load and replaced
//! (P1, P2, P3, P7).
//!
//! Every node is the real driver on the wall clock with its own threads, so that killing it stops
//! it at any point: between a fetch and its commit, or between a commit and its answer. Callers and
//! workers use any node and try another one if theirs was killed, as clients would.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use meantime_core::{InstanceId, Json, Source};
use meantime_kernel::command::{ClaimCommand, Command, Reply, Report, StartCommand};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::history::Record;
use meantime_kernel::machine::Notations;
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::store::{InstanceFilter, InstanceRow, Page, Phase, Store};
use meantime_sim::harness::block_on;
use meantime_sim::probe::Probe;
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::{Database, database};
use tokio::runtime::Runtime;

const PROBES: &str = "
probe sleeper
timer t PT2S
await t
end \"woke\"

probe work
task w work attempts=50
await w
end \"worked\"
";

const NODES: usize = 3;
const KILLS: u64 = 5;
const CALLERS: u64 = 4;
const WORKERS: u64 = 3;

/// One kernel with its threads.
struct Node {
    kernel: Kernel,
    runtime: Option<Runtime>,
}

impl Node {
    fn start(database: &Database) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let options = database.options();
        let kernel = runtime.block_on(async {
            let store = PostgresStore::open(options).await.expect("the store opens");
            let notations = Notations::default().with("probe", Arc::new(Probe));
            let kernel = Builder::new(Arc::new(store), notations).start().await;
            let kernel = kernel.expect("the kernel starts");
            let source =
                Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
            kernel.deploy("probe", source).await.expect("the probes are good");
            kernel
        });
        Self { kernel, runtime: Some(runtime) }
    }
}

impl Drop for Node {
    /// Dropping the runtime ends the node at any point of its work.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The running nodes, shared by callers and workers.
struct Membership {
    nodes: Mutex<Vec<Node>>,
    is_over: AtomicBool,
    /// Instances whose start was acknowledged, by idempotency key.
    acknowledged: Mutex<BTreeMap<String, InstanceId>>,
    /// Notified when a start was acknowledged or a task reported.
    progress: Condvar,
    repeated: AtomicU64,
}

impl Membership {
    fn any(&self, rng: u64) -> Kernel {
        let nodes = locked(&self.nodes);
        let at = usize::try_from(rng).unwrap_or_default() % nodes.len();
        nodes[at].kernel.clone()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts instances at any node, with the same key until one node has answered.
async fn call(membership: Arc<Membership>, number: u64) {
    let mut rng = SeededEntropy::new(number);
    let mut count = 0;
    while !membership.is_over() {
        count += 1;
        let definition = if count % 2 == 0 { "sleeper" } else { "work" }.to_owned();
        let key = format!("{number}-{count}");
        let start = StartCommand {
            definition,
            idempotency: Some(key.clone()),
            tags: vec![key.clone()],
            ..StartCommand::default()
        };
        loop {
            let kernel = membership.any(rng.next());
            let answer = patiently(kernel.call(Command::Start(start.clone()))).await;
            if let Some(Ok(Reply::Started { instance, repeated, .. })) = answer {
                membership.repeated.fetch_add(u64::from(repeated), Ordering::SeqCst);
                locked(&membership.acknowledged).insert(key, instance);
                membership.progress.notify_all();
                break;
            }
            if membership.is_over() {
                return;
            }
        }
    }
}

/// Claims tasks at any node and reports to any other.
async fn work(membership: Arc<Membership>, number: u64) {
    let mut rng = SeededEntropy::new(1_000 + number);
    while !membership.is_over() || number == 0 {
        let claim = Command::Claim(ClaimCommand {
            worker: format!("worker {number}"),
            max: 5,
            lease_ms: 3_000,
            wait_ms: 200,
            ..ClaimCommand::default()
        });
        let kernel = membership.any(rng.next());
        let Some(Ok(Reply::Tasks(tasks))) = patiently(kernel.call(claim)).await else { continue };
        for task in tasks {
            let report = Report::Completed(Json::null());
            let report = Command::Report { task: task.id, token: Some(task.token), report };
            // A worker that gets no answer repeats the report; only one outcome counts.
            patiently(membership.any(rng.next()).call(report)).await;
            membership.progress.notify_all();
        }
    }
}

/// A time limit, because a killed node does not answer.
async fn patiently<T>(answer: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_secs(2), answer).await.ok()
}

#[test]
fn p7_three_nodes_are_killed_at_random_and_nothing_is_lost_or_doubled() {
    let database = database().expect("PostgreSQL");
    let membership = Arc::new(Membership {
        nodes: Mutex::new((0..NODES).map(|_| Node::start(&database)).collect()),
        is_over: AtomicBool::new(false),
        acknowledged: Mutex::default(),
        progress: Condvar::new(),
        repeated: AtomicU64::new(0),
    });
    let clients = Runtime::new().expect("a runtime");
    let callers: Vec<_> =
        (0..CALLERS).map(|number| clients.spawn(call(Arc::clone(&membership), number))).collect();
    for number in 0..WORKERS {
        clients.spawn(work(Arc::clone(&membership), number));
    }
    let mut rng = SeededEntropy::new(7);
    let acknowledged = || locked(&membership.acknowledged).len();
    for kill in 1..=KILLS {
        // Between two kills there must be progress.
        let before = acknowledged();
        wait_until(&membership, "starts are acknowledged", || acknowledged() > before + 20);
        let doomed = {
            let mut nodes = locked(&membership.nodes);
            let at = usize::try_from(rng.next() % 3).unwrap_or_default();
            nodes.remove(at)
        };
        drop(doomed);
        // Two nodes continue for a while before the third one is replaced.
        if kill % 2 == 0 {
            let before = acknowledged();
            wait_until(&membership, "two nodes carry on", || acknowledged() > before + 10);
        }
        let node = Node::start(&database);
        locked(&membership.nodes).push(node);
    }
    membership.is_over.store(true, Ordering::SeqCst);
    for caller in callers {
        clients.block_on(caller).expect("a caller ends");
    }
    let store = Arc::clone(membership.any(0).store());
    wait_until(&membership, "everything is over", || {
        rows(&*store).iter().all(|row| row.phase == Phase::Completed)
    });
    clients.shutdown_background();
    check(&membership, &*store);
}

/// Waits until a condition holds. This can take several seconds, because the lease of a dead node
/// lasts for fifteen. The condition is checked after every progress and periodically.
fn wait_until(membership: &Membership, what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..24_000 {
        if is_so() {
            return;
        }
        let guard = locked(&membership.acknowledged);
        drop(membership.progress.wait_timeout(guard, Duration::from_millis(100)));
    }
    panic!("too much happened, and it is not so that {what}");
}

fn rows(store: &dyn Store) -> Vec<InstanceRow> {
    let rows = block_on(store.instances(InstanceFilter::default(), Page::first(100_000)));
    // If the list cannot be read, work may be left.
    rows.unwrap_or_else(|_| vec![])
}

fn check(membership: &Membership, store: &dyn Store) {
    let rows = rows(store);
    let by_id: BTreeMap<InstanceId, &InstanceRow> = rows.iter().map(|row| (row.id, row)).collect();
    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    for row in &rows {
        let key = row.meta.tags.first().cloned().unwrap_or_default();
        *keys.entry(key).or_default() += 1;
    }
    assert!(keys.values().all(|count| *count == 1), "a start happened twice: {keys:?}");
    let acknowledged = locked(&membership.acknowledged);
    assert!(acknowledged.len() > 100, "too little happened");
    for (key, id) in acknowledged.iter() {
        assert!(by_id.contains_key(id), "the start {key} was acknowledged and is gone");
    }
    for row in &rows {
        let history = block_on(store.history(row.last_history, 100)).expect("it can be read");
        let records: Vec<&Record> = history.iter().flat_map(|row| &row.records).collect();
        let fired = records.iter().filter(|it| matches!(it, Record::TimerFired { .. })).count();
        let is_outcome =
            |it: &&&Record| matches!(it, Record::Event { name, .. } if name == "taskCompleted");
        let done = records.iter().filter(is_outcome).count();
        assert_eq!(fired + done, 1, "{}: {records:?}", row.id);
        let turns: Vec<u64> = history.iter().map(|row| row.turn_no).collect();
        let expected: Vec<u64> = (1..=row.turn_no).rev().collect();
        assert_eq!(turns, expected, "{}", row.id);
    }
    let problems = block_on(store.check()).expect("it can be checked");
    assert_eq!(problems, Vec::<String>::new());
}
