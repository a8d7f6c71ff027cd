//! A million sleeping instances: memory, disk, idle processor, and a restart after kill -9.

use std::path::Path;

use anyhow::{Result, bail};

use super::super::part::Said;
use super::super::partner::Partner;
use super::super::report::{Figure, count, float};
use super::super::rig::new_directory;
use super::super::session::Session;

const NAME: &str = "sleeping";
const MIB: f64 = 1_048_576.0;

/// Sleepers that fall due together after the restart.
const STORM: usize = 1_000;

pub(crate) async fn sleeping(session: &mut Session) -> Result<()> {
    let counts = [100_000, 1_000_000].map(|count| session.common.scaled(count).max(10_000));
    let directory = new_directory(&session.common.db)?;
    let file = directory.path().join("meantime.db");
    asleep(session, &file, counts)?;
    session.progress.step("a restart after kill -9", 0);
    restarted(session, &file)
}

fn asleep(session: &mut Session, file: &Path, counts: [usize; 2]) -> Result<()> {
    session.progress.step(format!("{} sleeping instances", counts[1]), 0);
    let rest_seconds = session.common.seconds * 6;
    let mut part = sleep(file, &counts, STORM, rest_seconds)?;
    let mut resident = Vec::new();
    for expected in counts {
        let Said::Armed { count: armed, resident_bytes, file_bytes, .. } = part.hear()? else {
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
    let Said::Rested { core_percent, statements } = part.hear()? else { bail!("it did not rest") };
    let name = format!("idle for {rest_seconds} s, of one core");
    session.add(Figure::new(NAME, name, core_percent, "%").at_most(0.5));
    session.add(Figure::new(NAME, "statements while idle", float(statements), ""));
    part.kill()
}

fn restarted(session: &mut Session, file: &Path) -> Result<()> {
    let Woken { ready_ms, first_ms, resident_bytes, .. } = wake(file, STORM)?;
    session.add(Figure::new(NAME, "ready after kill -9", ready_ms, "ms").at_most(500.0));
    session
        .add(Figure::new(NAME, "first timer fired after kill -9", first_ms, "ms").at_most(2_000.0));
    let resident = float(resident_bytes) / MIB;
    session.add(Figure::new(NAME, "resident memory after the restart", resident, "MiB"));
    Ok(())
}

/// Starts a process that arms sleepers, rests, and then goes on arming until it is killed.
pub(super) fn sleep(
    file: &Path,
    counts: &[usize],
    storm: usize,
    rest_seconds: u64,
) -> Result<Partner> {
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let (storm, rest) = (storm.to_string(), rest_seconds.to_string());
    let file = file.display().to_string();
    let counts = counts.join(",");
    let args = ["sleep", "--file", &file, "--counts", &counts, "--storm", &storm];
    Partner::start(args.into_iter().chain(["--rest-seconds", &rest]))
}

/// What a process that was started after a kill has said.
pub(super) struct Woken {
    pub(super) ready_ms: f64,
    pub(super) first_ms: f64,
    pub(super) drained_per_second: f64,
    pub(super) resident_bytes: u64,
    pub(super) peek_us: f64,
    pub(super) claim_us: f64,
}

/// Opens a file after a kill and lets its storm fall due.
pub(super) fn wake(file: &Path, storm: usize) -> Result<Woken> {
    let (file, storm) = (file.display().to_string(), storm.to_string());
    let mut part = Partner::start(["wake", "--file", &file, "--storm", &storm])?;
    let Said::Ready = part.hear()? else { bail!("it was not ready") };
    let ready_ms = part.age_ms();
    let Said::Fired = part.hear()? else { bail!("nothing fired") };
    let first_ms = part.age_ms();
    let Said::Drained { per_second, resident_bytes, peek_us, claim_us } = part.hear()? else {
        bail!("the storm was not drained");
    };
    let drained_per_second = per_second;
    Ok(Woken { ready_ms, first_ms, drained_per_second, resident_bytes, peek_us, claim_us })
}
