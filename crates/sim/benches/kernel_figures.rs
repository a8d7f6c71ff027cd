//! Figures of the kernel on SQLite with full durability, through the real driver.
//!
//! `cargo bench -p meantime-sim --bench kernel_figures -- [NAME…]`, with the names signals,
//! children and missed. Each line says what was done and how long it took; ratios between sizes
//! show whether the cost is linear. `meantime bench kernel` measures rates and timers.
#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::disallowed_methods, reason = "measures real time")]

use std::sync::Arc;
use std::time::Instant;

use meantime_core::time::{First, Rule, Span, Zone};
use meantime_core::{CatchUp, Json, OnExisting, Overlap, ScheduleInput, ScheduleSpec, Source};
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
        let wait = meantime_kernel::command::Wait::Idle;
        rig.kernel.call_and_wait(start(definition), wait, None).await.expect("the parent ends");
        times.push(begun.elapsed().as_secs_f64());
        println!("children: one parent with {count} in {:.3} s", begun.elapsed().as_secs_f64());
    }
    println!("children: ten times as many took {:.1} times as long", times[1] / times[0]);
}

/// A month of missed minutes, with each catch-up policy, while new instances are started.
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
            input: ScheduleInput::default(),
            anchored: true,
            is_binding: false,
        };
        let on_existing = OnExisting::AddAnother;
        let command = Command::PutSchedule { spec: Box::new(spec), on_existing };
        let Ok(Reply::Scheduled { schedule }) = rig.kernel.call(command).await else { return };
        loop {
            let row = rig.store.instance(schedule).await.expect("readable").expect("there");
            let view = ScheduleView::read(&row.state);
            if view.is_some_and(|view| view.next_at().is_some_and(|at| at > now)) {
                break;
            }
            tokio::task::yield_now().await;
        }
        let decided = begun.elapsed();
        let lines = rig.store.occurrences(schedule, Page::first(100_000)).await.expect("readable");
        let occurrences: u64 = lines.iter().map(|line| line.occurrence.count).sum();
        let p99 = starter.await.expect("the starter ends");
        println!(
            "missed: {catch_up:?}: {occurrences} occurrences decided in {:.3} s, {} lines; new \
                 starts p99 {:.2} ms",
            decided.as_secs_f64(),
            lines.len(),
            p99.as_secs_f64() * 1_000.0
        );
    }
}

#[tokio::main]
async fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|it| it == name);
    if runs("signals") {
        signals().await;
    }
    if runs("children") {
        children().await;
    }
    if runs("missed") {
        missed().await;
    }
}
