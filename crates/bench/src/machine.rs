//! Facts about the machine, needed to interpret the figures.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use meantime_kernel::clock::Stopwatch;

use super::bench_store::BenchStore;
use super::sample::Sample;

/// Samples of the sync time of the disk.
const SYNC_SAMPLES: usize = 200;

/// The machine on which the figures were measured.
#[derive(Debug, serde::Serialize)]
pub(super) struct HostMachine {
    /// Processors that this process may use.
    cores: usize,
    memory_bytes: u64,
    /// The file system of the directory that is measured.
    file_system: String,
    /// The median time to append a page and call fdatasync, in milliseconds.
    pub(super) fdatasync_p50_ms: f64,
    fdatasync_p99_ms: f64,
    /// The load average of the last minute, before the first scenario: well above zero means that
    /// other processes were running.
    load_before: f64,
    kernel: String,
    /// Whether the binary is an optimised build.
    optimised: bool,
}

impl HostMachine {
    pub(super) fn look(bench_store: &BenchStore) -> Result<Self> {
        let directory = match bench_store {
            BenchStore::Sqlite(directory) => directory.clone(),
            // The database may be on another machine; its clients run on this one.
            BenchStore::Postgres(_) => std::env::temp_dir(),
        };
        let syncs = syncs(&directory)?;
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_bytes: memory(),
            file_system: file_system(&directory),
            fdatasync_p50_ms: syncs.percentile(50.0),
            fdatasync_p99_ms: syncs.percentile(99.0),
            load_before: load(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            optimised: !cfg!(debug_assertions),
        })
    }

    /// The facts for people, a line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let gib = self.memory_bytes >> 30;
        let mut lines = vec![
            format!("{} cores, {gib} GiB, {}, Linux {}", self.cores, self.file_system, self.kernel),
            format!(
                "fdatasync of an appended page: p50 {:.2} ms, p99 {:.2} ms; load before: {:.1}",
                self.fdatasync_p50_ms, self.fdatasync_p99_ms, self.load_before
            ),
        ];
        if !self.optimised {
            lines.push("built without optimisations: the figures mean nothing".to_owned());
        }
        lines
    }
}

fn syncs(directory: &Path) -> Result<Sample> {
    let path = directory.join("meantime-bench.sync");
    let open = OpenOptions::new().create(true).append(true).open(&path);
    let mut file = open.with_context(|| format!("cannot write to {}", directory.display()))?;
    let mut sample = Sample::default();
    for _ in 0..SYNC_SAMPLES {
        let watch = Stopwatch::start();
        file.write_all(&[7; 4_096])?;
        file.sync_data()?;
        sample.add(watch.elapsed().as_secs_f64() * 1_000.0);
    }
    drop(file);
    std::fs::remove_file(&path)?;
    Ok(sample)
}

/// The type of the file system that holds the directory: that of the longest mount point above it.
fn file_system(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let mounts = read("/proc/mounts");
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounts.filter(|(point, _)| directory.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map_or("unknown", |(_, kind)| kind).to_owned()
}

fn memory() -> u64 {
    let text = read("/proc/meminfo");
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1_024
}

fn load() -> f64 {
    read("/proc/loadavg").split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
