//! The counted cost of a one-task instance: rows, B-trees, bytes of log, commits, syncs.
//!
//! Each commit contains exactly 64 instances. J, the same writes without an engine, is reported
//! beside it. SQLite logs whole pages, so the size of the state decides most of the log volume.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use meantime_core::Json;
use meantime_kernel::clock::SystemClock;
use meantime_kernel::command::{ClaimCommand, ClaimedTask, Command, Reply, Report, StartCommand};

use super::super::baseline;
use super::super::database::MeasuredDatabase;
use super::super::kernel_rig::{new_bench_directory, start};
use super::super::manual_driver::ManualDriver;
use super::super::notation;
use super::super::report::{Figure, count, float};
use super::super::session::Session;
use super::super::wal_pages::WalPages;

const NAME: &str = "task";
const GROUP_SIZE: usize = 64;
const GROUP_COUNT: usize = 500;

/// A frame of the log: a page and its header.
const WAL_FRAME_BYTES: u64 = 4_096 + 24;

/// The cost of a group of instances, per instance.
struct CostPerInstance {
    rows: f64,
    commits: f64,
    log_bytes: f64,
    touched: TouchedTables,
}

pub(crate) async fn task(session: &mut Session) -> Result<()> {
    session.progress.step("the cost of a one-task instance", 0);
    let groups = session.common.scaled(GROUP_COUNT).min(GROUP_COUNT);
    let directory = new_bench_directory(&session.common.db)?;
    let small = cost("small-task", &directory.path().join("small.db"), groups).await?;
    let large = cost("large-task", &directory.path().join("large.db"), groups).await?;
    let plain = |bytes| baseline::appended_log_bytes(&session.common.db, bytes, groups);
    let (plain_small, plain_large) = (plain(100)?, plain(500)?);
    session.add(Figure::new(NAME, "row writes", small.rows, "").at_most(9.0));
    session.add(Figure::new(NAME, "commits, and as many syncs", small.commits, "").at_most(3.0));
    let log = |state: &str, bytes| {
        Figure::new(NAME, format!("log, groups of 64, state of {state} bytes"), bytes, "bytes")
    };
    session.add(log("100", small.log_bytes).of("J", plain_small).at_most(2_500.0));
    session.add(log("500", large.log_bytes).of("J", plain_large));
    for (commit, trees) in small.touched {
        let names: Vec<_> = trees.iter().map(|(name, pages)| format!("{name} {pages}")).collect();
        let what = format!("B-trees touched by the {commit}, with pages: {}", names.join(", "));
        session.add(Figure::new(NAME, what, count(trees.len()), ""));
    }
    Ok(())
}

async fn cost(definition: &str, path: &Path, groups: usize) -> Result<CostPerInstance> {
    let database = MeasuredDatabase::file(path)?;
    let store = Arc::new(database.observed(Arc::new(SystemClock)));
    let mut machine = ManualDriver::new(store.clone()).await?;
    machine.deploy(notation::NAME, notation::source()).await?;
    for _ in 0..groups / 10 {
        run(definition, &mut machine, None).await?;
    }
    let before = database.counts();
    store.take_observations();
    for _ in 0..groups {
        run(definition, &mut machine, None).await?;
    }
    let (after, observations) = (database.counts(), store.take_observations());
    let instances = count(groups * GROUP_SIZE);
    let mut pages = WalPages::new(path)?;
    Ok(CostPerInstance {
        rows: float(observations.rows) / instances,
        commits: float(after.commits - before.commits) / count(groups),
        log_bytes: float((after.log_pages - before.log_pages) * WAL_FRAME_BYTES) / instances,
        touched: run(definition, &mut machine, Some(&mut pages)).await?,
    })
}

/// The B-trees that each commit has changed, with the number of pages of each.
type TouchedTables = Vec<(&'static str, Vec<(String, usize)>)>;

/// One group from start to end, in three commits; on request returns what each has changed.
async fn run(
    definition: &str,
    machine: &mut ManualDriver,
    mut pages: Option<&mut WalPages>,
) -> Result<TouchedTables> {
    let mut touched = TouchedTables::new();
    let mut look = |commit| {
        if let Some(pages) = &mut pages {
            touched.push((commit, pages.since()?.into_iter().collect()));
        }
        anyhow::Ok(())
    };
    let input = Json::parse("{\"order\":4711,\"customer\":\"c-1\"}")?;
    let start = StartCommand { input, ..start(definition) };
    machine.call(vec![Command::Start(start); GROUP_SIZE]).await?;
    look("start")?;
    let worker = "worker-1".to_owned();
    let claim =
        ClaimCommand { worker, max: GROUP_SIZE, lease_ms: 60_000, ..ClaimCommand::default() };
    let claimed = machine.call(vec![Command::Claim(claim)]).await?;
    look("claim")?;
    let [Reply::Tasks(tasks)] = claimed.as_slice() else { bail!("no tasks: {claimed:?}") };
    if tasks.len() != GROUP_SIZE {
        bail!("{} tasks instead of {GROUP_SIZE}", tasks.len());
    }
    let output = Json::parse("{\"receipt\":\"r-1\"}")?;
    machine.call(tasks.iter().map(|task| completed(task, &output)).collect()).await?;
    look("end")?;
    Ok(touched)
}

fn completed(task: &ClaimedTask, output: &Json) -> Command {
    let (token, report) = (Some(task.token), Report::Completed(output.clone()));
    Command::Report { task: task.id, token, report }
}
