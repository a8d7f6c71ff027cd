//! A million sleeping instances: memory, disk, idle processor, and a restart after kill -9.

use std::path::Path;

use anyhow::{Result, bail};

use super::super::child::ChildMessage;
use super::super::child_process::ChildProcess;
use super::super::kernel_rig::new_bench_directory;
use super::super::report::{Figure, count, float};
use super::super::session::Session;

const NAME: &str = "sleeping";
const MIB: f64 = 1_048_576.0;

/// Sleepers that fall due together after the restart.
const STORM_TIMERS: usize = 1_000;

pub(crate) async fn sleeping(session: &mut Session) -> Result<()> {
    let counts = [100_000, 1_000_000].map(|count| session.common.scaled(count).max(10_000));
    let directory = new_bench_directory(&session.common.db)?;
    let file = directory.path().join("meantime.db");
    measure_sleeping(session, &file, counts)?;
    session.progress.step("a restart after kill -9", 0);
    measure_restart(session, &file)
}

fn measure_sleeping(session: &mut Session, file: &Path, counts: [usize; 2]) -> Result<()> {
    session.progress.step(format!("{} sleeping instances", counts[1]), 0);
    let rest_seconds = session.common.seconds * 6;
    let mut child = sleep(file, &counts, STORM_TIMERS, rest_seconds)?;
    let mut resident = Vec::new();
    for expected in counts {
        let ChildMessage::Armed { count: armed, resident_bytes, file_bytes, .. } =
            child.read_message()?
        else {
            bail!("expected {expected} armed sleepers");
        };
        resident.push(float(resident_bytes) / MIB);
        let each = float(file_bytes) / count(armed);
        let figure = Figure::new(NAME, format!("{armed} asleep, disk each"), each, "bytes");
        session.add(figure.at_most(1_228.8));
    }
    if let [small, large] = resident[..] {
        let name = format!("{} asleep, resident memory", counts[1]);
        session.add(Figure::new(NAME, name, large, "MiB").at_most(150.0));
        let name = format!("growth of it since {}", counts[0]);
        session.add(Figure::new(NAME, name, large - small, "MiB").at_most(50.0));
    }
    session.progress.step(format!("resting for {rest_seconds} s"), 0);
    let ChildMessage::Rested { core_percent, statements } = child.read_message()? else {
        bail!("it did not rest")
    };
    let name = format!("idle for {rest_seconds} s, of one core");
    session.add(Figure::new(NAME, name, core_percent, "%").at_most(0.5));
    session.add(Figure::new(NAME, "statements while idle", float(statements), ""));
    child.kill()
}

fn measure_restart(session: &mut Session, file: &Path) -> Result<()> {
    let WakeReport { ready_ms, first_ms, resident_bytes, .. } = wake(file, STORM_TIMERS)?;
    session.add(Figure::new(NAME, "ready after kill -9", ready_ms, "ms").at_most(500.0));
    session
        .add(Figure::new(NAME, "first timer fired after kill -9", first_ms, "ms").at_most(2_000.0));
    let resident = float(resident_bytes) / MIB;
    session.add(Figure::new(NAME, "resident memory after the restart", resident, "MiB"));
    Ok(())
}

/// Starts a process that arms sleepers, pauses, and then continues to arm until it is killed.
pub(super) fn sleep(
    file: &Path,
    counts: &[usize],
    storm: usize,
    rest_seconds: u64,
) -> Result<ChildProcess> {
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let (storm, rest) = (storm.to_string(), rest_seconds.to_string());
    let file = file.display().to_string();
    let counts = counts.join(",");
    let args = ["sleep", "--file", &file, "--counts", &counts, "--storm", &storm];
    ChildProcess::start(args.into_iter().chain(["--rest-seconds", &rest]))
}

/// Messages of a process that was started after a kill.
pub(super) struct WakeReport {
    pub(super) ready_ms: f64,
    pub(super) first_ms: f64,
    pub(super) drained_per_second: f64,
    pub(super) resident_bytes: u64,
    pub(super) peek_us: f64,
    pub(super) claim_us: f64,
}

/// Opens a file after a kill and lets its storm of timers fall due.
pub(super) fn wake(file: &Path, storm: usize) -> Result<WakeReport> {
    let (file, storm) = (file.display().to_string(), storm.to_string());
    let mut child = ChildProcess::start(["wake", "--file", &file, "--storm", &storm])?;
    let ChildMessage::Ready = child.read_message()? else { bail!("it was not ready") };
    let ready_ms = child.age_ms();
    let ChildMessage::Fired = child.read_message()? else { bail!("nothing fired") };
    let first_ms = child.age_ms();
    let ChildMessage::Drained { per_second, resident_bytes, peek_us, claim_us } =
        child.read_message()?
    else {
        bail!("the storm was not drained");
    };
    let drained_per_second = per_second;
    Ok(WakeReport { ready_ms, first_ms, drained_per_second, resident_bytes, peek_us, claim_us })
}
