//! Starts and ends instances with a short retention on the real driver: does the file stop growing?
//!
//! `cargo bench -p meantime-sim --bench churn -- [seconds] [retention in ms] [starters]`
//!
//! Prints one line per second: instances started and removed, and the sizes of the file and its
//! log.
#![expect(clippy::print_stdout, reason = "a benchmark talks to people")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use meantime_core::{Keep, Retention, Source};
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::command::{Command, StartCommand};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_sim::probe::Probe;
use meantime_store::sqlite::{Options, SqliteStore};

const PROBES: &str = "
probe short
end \"done\"
";

fn main() {
    let mut numbers = std::env::args().filter_map(|text| text.parse::<u64>().ok());
    let seconds = numbers.next().unwrap_or(30);
    let retention_ms = numbers.next().unwrap_or(5_000);
    let starters = numbers.next().unwrap_or(64);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(churn(seconds, retention_ms, starters));
}

async fn churn(seconds: u64, retention_ms: u64, starters: u64) {
    let directory = tempfile::tempdir_in(".").expect("a directory");
    let path = directory.path().join("churn.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).expect("a new store"));
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let keep = Keep::millis(i64::try_from(retention_ms).unwrap_or(i64::MAX));
    let builder = Builder::new(store, notations).retention(Retention::of_all(keep));
    let kernel = builder.start().await.expect("the kernel starts");
    let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    let (stop, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let starters = (0..starters).map(|_| start(kernel.clone(), stop.clone(), started.clone()));
    let starters: Vec<_> = starters.collect();
    println!("second  started/s  removed/s    file KiB     log KiB");
    let (mut before, mut gone) = (0, 0);
    for second in 1..=seconds {
        until_next_second().await;
        let (all, removed) = (started.load(Ordering::Relaxed), removed(&kernel));
        let (file, log) = (kibibytes(&path, ""), kibibytes(&path, "-wal"));
        let (now, away) = (all - before, removed - gone);
        println!("{second:>6}  {now:>9}  {away:>9}  {file:>10}  {log:>10}");
        (before, gone) = (all, removed);
    }
    stop.store(true, Ordering::Relaxed);
    for starter in starters {
        starter.await.expect("it ends");
    }
    kernel.stop().await;
}

fn start(
    kernel: Kernel,
    stop: Arc<AtomicBool>,
    started: Arc<AtomicU64>,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            let definition = "short".to_owned();
            let start = StartCommand { definition, ..StartCommand::default() };
            if kernel.call(Command::Start(start)).await.is_ok() {
                started.fetch_add(1, Ordering::Relaxed);
            }
        }
    })
}

fn removed(kernel: &Kernel) -> u64 {
    u64::try_from(kernel.maintenance_stats().borrow().instances).unwrap_or_default()
}

fn kibibytes(path: &Path, suffix: &str) -> u64 {
    let file = format!("{}{suffix}", path.display());
    std::fs::metadata(file).map_or(0, |file| file.len() / 1_024)
}

#[expect(clippy::disallowed_methods, reason = "a rig that runs for some seconds has to wait")]
async fn until_next_second() {
    let past = SystemClock.now().real.as_millis().rem_euclid(1_000);
    let left = u64::try_from(1_000 - past).unwrap_or(1_000);
    tokio::time::sleep(std::time::Duration::from_millis(left)).await;
}
