//! Retention and compaction with the real driver and store: the file stops growing, and idle
//! instances need no work.

use std::path::Path;
use std::sync::Arc;

use meantime_core::{InstanceId, Json, Keep, Message, Retention, Source, Timestamp};
use meantime_kernel::clock::VirtualClock;
use meantime_kernel::command::{Command, Deployment, Reply, StartCommand, Wait};
use meantime_kernel::driver::{Builder, Kernel, MaintenanceStats};
use meantime_kernel::history::Record;
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{InstanceFilter, Page, Phase, Store};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};
use meantime_sim::probe::Probe;
use meantime_store::sqlite::{Durability, Options, SqliteStore};

const PROBES: &str = "
probe family
attribute colour red
child c leaf
await c
end \"done\"

probe leaf
end

probe sleeper
timer t P1Y
await t
end

probe counter
again:
signal s s
await s
repeat 60000 again
end \"all\"
";

const BEGIN: &str = "2026-01-01T00:00:00Z";
const DAY: i64 = 86_400_000;

fn notations() -> Notations {
    Notations::default().with("probe", Arc::new(Probe))
}

fn source() -> Source {
    Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() }
}

fn store(path: &Path) -> Arc<SqliteStore> {
    // These tests make many commits and are not about power loss.
    let durability = Durability::ProcessCrashOnly;
    let options = Options { durability, wal_limit: 8 << 20, ..Options::default() };
    Arc::new(SqliteStore::open(path, options).expect("a new store"))
}

fn start(definition: &str, input: &str) -> Command {
    Command::Start(StartCommand {
        definition: definition.to_owned(),
        input: Json::of(&input).expect("a text"),
        tags: vec!["churn".to_owned()],
        idempotency: (!input.is_empty()).then(|| input.to_owned()),
        ..StartCommand::default()
    })
}

/// A kernel with a simulated clock.
struct Site {
    store: Arc<SqliteStore>,
    clock: Arc<VirtualClock>,
    kernel: Kernel,
    now: Timestamp,
}

impl Site {
    async fn new(path: &Path, retention: Retention) -> Self {
        let now = Timestamp::parse(BEGIN).expect("an instant");
        let (store, clock) = (store(path), Arc::new(VirtualClock::new(now)));
        let builder = Builder::new(store.clone(), notations());
        let builder = builder.clock(clock.clone()).retention(retention);
        let kernel = builder.start().await.expect("the kernel starts");
        // The first maintenance run is over, so that every commit from here on is noticed.
        let mut maintenance_stats = kernel.maintenance_stats();
        maintenance_stats.wait_for(|it| it.looks > 0).await.expect("retention begins");
        kernel.deploy("probe", source()).await.expect("the probes are good");
        Self { store, clock, kernel, now }
    }

    /// Moves the clock and waits until maintenance has nothing more to do at that time.
    async fn pass(&mut self, millis: i64) -> MaintenanceStats {
        let mut maintenance_stats = self.kernel.maintenance_stats();
        self.now = self.now.saturating_add_millis(millis);
        self.clock.advance_to(self.now);
        self.kernel.clock_moved();
        let now = self.now;
        let rests = |it: &MaintenanceStats| it.looks > 1 && it.next.is_none_or(|next| next > now);
        let rested = maintenance_stats.wait_for(rests).await;
        *rested.expect("retention continues")
    }

    async fn instances(&self) -> usize {
        let rows = self.store.instances(InstanceFilter::default(), Page::first(usize::MAX)).await;
        rows.expect("it reads").len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_does_not_grow_over_generations() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("meantime.db");
    let mut site = Site::new(&path, Retention::of_all(Keep::days(2))).await;
    let mut sizes = Vec::new();
    for generation in 0..12 {
        let calls = (0..300).map(|number| {
            let kernel = site.kernel.clone();
            let input = format!("{generation}-{number}");
            tokio::spawn(async move {
                let command = start("family", &input);
                kernel.call_and_wait(command, Wait::Idle, None).await.expect("started");
                let message = Message {
                    name: "news".to_owned(),
                    key: input.clone(),
                    payload: Json::null(),
                    ttl_ms: None,
                    id: Some(input),
                };
                kernel.call(Command::Publish(message)).await.expect("published");
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("it ends");
        }
        site.pass(DAY).await;
        let pages = rusqlite_pages(&path);
        sizes.push(pages);
    }
    // Instances are kept for two days, message ids for seven: from then on freed pages are reused.
    let (full, last) = (sizes[8], sizes[11]);
    assert!(last <= full + full / 50, "{sizes:?}");
    assert!(site.instances().await <= 2 * 2 * 300);
    let maintenance_stats = site.pass(30 * DAY).await;
    assert_eq!(site.instances().await, 0);
    assert_eq!(maintenance_stats.instances, 12 * 2 * 300);
    assert_eq!(site.store.check().await.expect("it can be checked"), Vec::<String>::new());
    site.kernel.stop().await;
}

/// The number of pages in the header of the file.
fn rusqlite_pages(path: &Path) -> u32 {
    let connection = rusqlite::Connection::open(path).expect("it opens");
    connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("it reads")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i12_with_nothing_to_expire_there_is_no_statement() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("meantime.db");
    let mut site = Site::new(&path, Retention::default()).await;
    for _ in 0..200 {
        site.kernel.call(start("sleeper", "")).await.expect("started");
        site.kernel.call(start("leaf", "")).await.expect("started");
    }
    // The first commit after a maintenance run schedules the next one earlier; then nothing runs.
    let maintenance_stats = site.pass(DAY).await;
    let before = site.store.stats();
    for _ in 0..20 {
        site.now = site.now.saturating_add_millis(DAY);
        site.clock.advance_to(site.now);
        site.kernel.clock_moved();
        site.kernel.counters().await.expect("the loop has seen it");
    }
    let after = site.kernel.maintenance_stats().borrow().looks;
    assert_eq!(site.store.stats().statements, before.statements);
    assert_eq!(after, maintenance_stats.looks);
    let next = maintenance_stats.next.expect("something will expire");
    assert!(next > site.now && next <= site.now.saturating_add_millis(10 * DAY), "{next}");
    // Then the instance is removed, at its time. Sleeping instances stay.
    site.pass(10 * DAY).await;
    assert_eq!(site.instances().await, 200);
    site.kernel.stop().await;
}

fn sim(store: Arc<SqliteStore>, config: &Config) -> (SimKernel, InstanceId) {
    let begin = Timestamp::parse(BEGIN).expect("an instant");
    let mut sim = SimKernel::new(store, notations(), config.clone(), begin);
    let compiled = notations().compile("probe", &source(), &config.limits);
    let definitions = compiled.expect("it is known").definitions;
    let definitions = definitions.into_iter().map(Arc::new).collect();
    let notation = "probe".to_owned();
    let deployment = Deployment { notation, source: source(), definitions };
    sim.call(Command::Deploy(deployment), Wait::Quiet);
    let (_, status) = sim.call(start("counter", ""), Wait::Quiet);
    let CallStatus::Answered(Ok(Reply::Started { instance, .. })) = status else {
        panic!("{status:?}")
    };
    (sim, instance)
}

#[test]
fn fifty_thousand_turns_cost_the_same_each_and_history_stays_bounded() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store(&directory.path().join("meantime.db"));
    let (mut sim, instance) = sim(store.clone(), &Config::default());
    let signal = || Command::Signal { instance, name: "s".to_owned(), payload: Json::null() };
    let mut costs = Vec::new();
    for thousand in 0..50 {
        let before = (store.stats(), sim.counters());
        for _ in 0..1_000 {
            sim.call(signal(), Wait::Quiet);
        }
        let (after, turns) = (store.stats(), sim.counters().turns - before.1.turns);
        assert_eq!(turns, 1_000);
        // Compaction is not part of the turns: it runs at multiples of 2,500.
        if thousand % 5 == 0 {
            let statements = after.statements - before.0.statements;
            costs.push((statements, after.wal_pages - before.0.wal_pages));
        }
    }
    let (first, last) = (costs[1], *costs.last().expect("it ran"));
    assert!(last.0 <= first.0 + first.0 / 10, "statements: {costs:?}");
    assert!(last.1 <= first.1 + first.1 / 5, "pages of log: {costs:?}");
    let row = block_on(store.instance(instance)).expect("it reads").expect("it is there");
    assert_eq!((row.turn_no, row.phase), (50_001, Phase::Running));
    let chain = block_on(store.history(row.last_history, usize::MAX)).expect("it reads");
    assert!(chain.len() <= 12_502, "{} rows", chain.len());
    assert!(chain.len() > 10_000, "{} rows", chain.len());
    let [.., sum, begin] = &chain[..] else { panic!("a short chain") };
    assert!(matches!(begin.records[0], Record::Started { .. }), "{begin:?}");
    let Record::Compacted { turns, .. } = sum.records[0] else { panic!("{sum:?}") };
    assert_eq!(usize::try_from(turns).expect("it is small") + chain.len() - 1, 50_001);
    assert_eq!(block_on(store.check()).expect("it can be checked"), Vec::<String>::new());
}
