//! How the cost of timers grows, from ten thousand to ten million of them.

use anyhow::{Result, bail};

use super::super::child::ChildMessage;
use super::super::kernel_rig::new_bench_directory;
use super::super::report::{Figure, count, float};
use super::super::session::Session;
use super::sleeping::{WakeReport, sleep, wake};

const NAME: &str = "growth";
const MIB: f64 = 1_048_576.0;
const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The time to peek and to claim at one size, in microseconds.
type QueryTimes = (f64, f64);

pub(crate) async fn growth(session: &mut Session) -> Result<()> {
    let mut before: Option<QueryTimes> = None;
    for size in SIZES.map(|size| session.common.scaled(size).max(10_000)) {
        let is_last = size == session.common.scaled(10_000_000);
        let looks = at(session, size, is_last, before).await?;
        before = Some(looks);
    }
    Ok(())
}

async fn at(
    session: &mut Session,
    size: usize,
    is_last: bool,
    before: Option<QueryTimes>,
) -> Result<QueryTimes> {
    let random = session.random_among(size).await?;
    session.progress.step(format!("{size} timers"), 0);
    let directory = new_bench_directory(&session.common.db)?;
    let file = directory.path().join("meantime.db");
    let storm = (size / 5).min(100_000);
    let mut child = sleep(&file, &[size], storm, 1)?;
    let ChildMessage::Armed { per_second, resident_bytes, file_bytes, .. } =
        child.read_message()?
    else {
        bail!("expected armed sleepers");
    };
    let ChildMessage::Rested { .. } = child.read_message()? else { bail!("it did not rest") };
    child.kill()?;
    let WakeReport { ready_ms, first_ms, drained_per_second, peek_us, claim_us, .. } =
        wake(&file, storm)?;
    let figure =
        |what: &str, value, unit| Figure::new(NAME, format!("{size}: {what}"), value, unit);
    session.add(figure("armed", per_second, "/s").of("B", random));
    session.add(figure("disk each", float(file_bytes) / count(size), "bytes"));
    session.add(figure("resident memory", float(resident_bytes) / MIB, "MiB"));
    session.add(figure("ready after kill -9", ready_ms, "ms"));
    session.add(figure("first fired after kill -9", first_ms, "ms"));
    let fired = figure("fired", drained_per_second, "/s").of("B", random);
    session.add(if is_last { fired.at_least(0.4) } else { fired });
    let looks = (peek_us, claim_us);
    for (what, now, then) in [
        ("looking for the next timer", peek_us, before.map(|(peek, _)| peek)),
        ("claiming one of 1,000", claim_us, before.map(|(_, claim)| claim)),
    ] {
        let figure = figure(what, now, "µs");
        session.add(match then.filter(|_| is_last) {
            Some(then) => figure.of("a tenth", then).at_most(1.5),
            None => figure,
        });
    }
    Ok(looks)
}
