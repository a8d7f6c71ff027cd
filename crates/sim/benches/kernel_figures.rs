//! Figures of the kernel on SQLite with full durability, through the real driver.
//!
//! `cargo bench -p meantime-sim --bench kernel_figures -- [NAME…]` with the names starts, signals,
//! children, sleepers, missed, idle. Each line says what was done and how long it took; ratios
//! between sizes show whether the cost is linear. `idle` takes a minute.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::disallowed_methods, reason = "measures real time")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use meantime_core::time::{First, Rule, Span, Zone};
use meantime_core::{CatchUp, Handed, Json, OnExisting, Overlap, ScheduleSpec, Source};
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::command::{Command, Reply, StartCommand};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{Page, Store};
use meantime_sim::probe::Probe;
use meantime_store::sqlite::{Options, SqliteStore};

const PROBES: &str = "
probe short
end

probe sleeper
timer t P1Y
await t
end

probe counter
again:
signal s s
await s
repeat 1000000 again
end

probe parent1000
brood 1000 short
join
end

probe parent10000
brood 10000 short
join
end
";

struct Rig {
    kernel: Kernel,
    store: Arc<SqliteStore>,
    _directory: tempfile::TempDir,
}

async fn rig() -> Rig {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).expect("a new store"));
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let shared: Arc<dyn Store> = store.clone();
    let kernel = Builder::new(shared, notations).start().await.expect("the kernel starts");
    let source = Source { name: "figures".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    Rig { kernel, store, _directory: directory }
}

fn start(definition: &str) -> Command {
    let definition = definition.to_owned();
    Command::Start(StartCommand { definition, ..StartCommand::default() })
}

async fn start_many(rig: &Rig, definition: &'static str, count: usize, starters: usize) {
    let mut tasks = Vec::new();
    for _ in 0..starters {
        let kernel = rig.kernel.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..count / starters {
                kernel.call(start(definition)).await.expect("started");
            }
        }));
    }
    for task in tasks {
        task.await.expect("a starter ends");
    }
}

async fn starts() {
    for starters in [1, 16, 64, 256] {
        let rig = rig().await;
        start_many(&rig, "short", 2_000, starters).await;
        let before = rig.store.stats();
        let count = if starters == 1 { 4_000 } else { 60_000 };
        let begun = Instant::now();
        start_many(&rig, "short", count, starters).await;
        let seconds = begun.elapsed().as_secs_f64();
        let after = rig.store.stats();
        let commits = after.commits - before.commits;
        println!(
            "starts: {starters} starters, {count} one-turn instances: {:.0}/s, {:.1} turns a commit",
            count as f64 / seconds,
            (after.turns - before.turns) as f64 / commits as f64
        );
    }
}

async fn signals() {
    let mut times = Vec::new();
    for count in [1_000u32, 10_000] {
        let rig = rig().await;
        let Ok(Reply::Started { instance, .. }) = rig.kernel.call(start("counter")).await else {
            return;
        };
        let begun = Instant::now();
        let mut tasks = Vec::new();
        for number in 0..count {
            let kernel = rig.kernel.clone();
            let payload = Json::of(&number).unwrap_or_default();
            let name = "s".to_owned();
            tasks.push(tokio::spawn(async move {
                kernel.call(Command::Signal { instance, name, payload }).await
            }));
        }
        for task in tasks {
            task.await.expect("a caller ends").expect("the signal is taken");
        }
        times.push(begun.elapsed().as_secs_f64());
        println!("signals: {count} to one instance in {:.3} s", begun.elapsed().as_secs_f64());
    }
    println!("signals: ten times as many took {:.1} times as long", times[1] / times[0]);
}

async fn children() {
    let mut times = Vec::new();
    for (count, definition) in [(1_000, "parent1000"), (10_000, "parent10000")] {
        let rig = rig().await;
        let begun = Instant::now();
        let wait = meantime_kernel::command::Wait::Settled;
        rig.kernel.call_and_wait(start(definition), wait, None).await.expect("the parent ends");
        times.push(begun.elapsed().as_secs_f64());
        println!("children: one parent with {count} in {:.3} s", begun.elapsed().as_secs_f64());
    }
    println!("children: ten times as many took {:.1} times as long", times[1] / times[0]);
}

async fn sleepers() {
    let rig = rig().await;
    let begun = Instant::now();
    start_many(&rig, "sleeper", 100_000, 256).await;
    let seconds = begun.elapsed().as_secs_f64();
    println!("sleepers: 100000 armed, {:.0}/s", 100_000.0 / seconds);
}

async fn idle() {
    let rig = rig().await;
    start_many(&rig, "sleeper", 100_000, 256).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (before, cpu) = (rig.store.stats(), cpu_ms());
    tokio::time::sleep(Duration::from_mins(1)).await;
    let statements = rig.store.stats().statements - before.statements;
    let used = (cpu_ms() - cpu) as f64 / 60_000.0 * 100.0;
    println!("idle: 100000 asleep, 60 s: {statements} statements, {used:.3} % of one core");
}

/// A month of missed minutes, by each policy, while new instances are started.
async fn missed() {
    for catch_up in [CatchUp::Coalesce, CatchUp::Skip, CatchUp::All] {
        let rig = rig().await;
        let kernel = rig.kernel.clone();
        let starter = tokio::spawn(async move {
            let mut times = Vec::new();
            for _ in 0..2_000 {
                let begun = Instant::now();
                kernel.call(start("short")).await.expect("started");
                times.push(begun.elapsed());
            }
            times.sort();
            times[times.len() * 99 / 100]
        });
        let begun = Instant::now();
        let month = 30 * 86_400_000;
        let now = SystemClock.now().engine;
        let interval = Span::parse("PT1M").expect("a span");
        let anchor = now.saturating_add_millis(-month);
        let rule = Rule::every(anchor, interval, Zone::utc(), First::AtAnchor).expect("a rule");
        let spec = ScheduleSpec {
            definition: "short".to_owned(),
            version: 1,
            start: None,
            subject: None,
            label: None,
            rule,
            max_runs: None,
            overlap: Overlap::Allow,
            catch_up,
            input: Handed::default(),
        };
        let on_existing = OnExisting::AddAnother;
        let command = Command::PutSchedule { spec: Box::new(spec), on_existing };
        let Ok(Reply::Scheduled { schedule }) = rig.kernel.call(command).await else { return };
        loop {
            let row = rig.store.instance(schedule).await.expect("readable").expect("there");
            let view = ScheduleView::read(&row.state);
            if view.is_some_and(|view| view.next_at.is_some_and(|at| at > now)) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let decided = begun.elapsed();
        let lines = rig.store.occurrences(schedule, Page::first(100_000)).await.expect("readable");
        let slots: u64 = lines.iter().map(|line| line.occurrence.count).sum();
        let p99 = starter.await.expect("the starter ends");
        println!(
            "missed: {catch_up:?}: {slots} slots decided in {:.3} s, {} lines; new starts p99 {:.2} ms",
            decided.as_secs_f64(),
            lines.len(),
            p99.as_secs_f64() * 1_000.0
        );
    }
}

/// Processor time of this process so far, in milliseconds.
fn cpu_ms() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> =
        text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
    (ticks(11) + ticks(12)) * 10
}

#[tokio::main]
async fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    if runs("starts") {
        starts().await;
    }
    if runs("signals") {
        signals().await;
    }
    if runs("children") {
        children().await;
    }
    if runs("sleepers") {
        sleepers().await;
    }
    if runs("missed") {
        missed().await;
    }
    if runs("idle") {
        idle().await;
    }
}
