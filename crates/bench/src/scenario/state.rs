//! A state of one mebibyte, rewritten in each of a thousand turns: how much is written to the disk.

use anyhow::{Context, Result};
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::command::Command;

use super::super::kernel_rig::{KernelRig, start};
use super::super::report::{Figure, float};
use super::super::session::Session;

const NAME: &str = "state";
const MIB: f64 = 1_048_576.0;

/// A frame of the log: a page and its header.
const WAL_FRAME_BYTES: f64 = 4_096.0 + 24.0;

pub(crate) async fn state(session: &mut Session) -> Result<()> {
    session.progress.step("a mebibyte of state over 1,000 turns", 0);
    let rig = KernelRig::new(&session.common.db).await?;
    let (before, watch) = (rig.counts(), Stopwatch::start());
    rig.kernel.call(Command::Start(start("heavy"))).await.context("the start was refused")?;
    let (seconds, after) = (watch.elapsed().as_secs_f64(), rig.counts());
    let turns = float(after.turns - before.turns);
    let written = float(after.log_pages - before.log_pages) * WAL_FRAME_BYTES / MIB;
    let log = float(rig.store.take_observations().log_bytes) / MIB;
    rig.end().await?;
    session.add(Figure::new(NAME, "turns with 1 MiB of state", turns / seconds, "/s"));
    session.add(Figure::new(NAME, "written to the log per turn", written / turns, "MiB"));
    session.add(Figure::new(NAME, "longest log", log, "MiB").at_most(256.0));
    Ok(())
}
