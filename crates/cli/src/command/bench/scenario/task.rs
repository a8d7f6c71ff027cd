//! What a one-task instance costs, counted: rows, B-trees, bytes of log, commits, syncs.

use std::sync::Arc;

use anyhow::{Result, bail};
use meantime_core::Json;
use meantime_kernel::clock::SystemClock;
use meantime_kernel::command::{ClaimCommand, Command, Reply, Report};

use super::super::by_hand::ByHand;
use super::super::log_pages::LogPages;
use super::super::notation;
use super::super::report::{Figure, count, float};
use super::super::rig::{Database, new_directory, start};
use super::super::session::Session;

const NAME: &str = "task";
const GROUP: usize = 64;
const GROUPS: usize = 500;

/// A frame of the log: a page and its header.
const FRAME: u64 = 4_096 + 24;

pub(in super::super) async fn task(session: &mut Session) -> Result<()> {
    let groups = session.args.scaled(GROUPS).min(GROUPS);
    session.progress.step("the cost of a one-task instance", 0);
    let directory = new_directory(&session.args.db)?;
    let path = directory.path().join("task.db");
    let database = Arc::new(Database::open(&path)?);
    let store = Arc::new(database.watched(Arc::new(SystemClock)));
    let mut machine = ByHand::new(store.clone()).await?;
    machine.deploy(notation::NAME, notation::source()).await?;
    for _ in 0..groups / 10 {
        run(&mut machine, None).await?;
    }
    let before = database.stats();
    store.take_seen();
    for _ in 0..groups {
        run(&mut machine, None).await?;
    }
    let (after, seen) = (database.stats(), store.take_seen());
    let instances = groups * GROUP;
    let commits = float(after.commits - before.commits) / count(groups);
    let log = float((after.wal_pages - before.wal_pages) * FRAME) / count(instances);
    let rows = float(seen.rows) / count(instances);
    session.add(Figure::new(NAME, "row writes", rows, "").at_most(9.0));
    session.add(Figure::new(NAME, "commits, and as many syncs", commits, "").at_most(3.0));
    session.add(Figure::new(NAME, "log, in groups of 64", log, "bytes").at_most(2_500.0));
    let mut pages = LogPages::new(&path)?;
    for (commit, touched) in run(&mut machine, Some(&mut pages)).await? {
        let names: Vec<_> = touched.iter().map(|(name, pages)| format!("{name} {pages}")).collect();
        let what = format!("B-trees touched by the {commit}: {}", names.join(", "));
        session.add(Figure::new(NAME, what, count(touched.len()), ""));
    }
    Ok(())
}

type Touched = Vec<(&'static str, Vec<(String, usize)>)>;

/// One group from start to end, in three commits; says what each has touched, if asked.
async fn run(machine: &mut ByHand, mut pages: Option<&mut LogPages>) -> Result<Touched> {
    let mut touched = Touched::new();
    let mut look = |commit| {
        if let Some(pages) = &mut pages {
            let trees = pages.since()?.into_iter();
            touched.push((commit, trees.filter(|(name, _)| !name.starts_with('(')).collect()));
        }
        anyhow::Ok(())
    };
    machine.call(vec![Command::Start(start("task")); GROUP]).await?;
    look("start")?;
    let claim = ClaimCommand {
        worker: "worker-1".to_owned(),
        max: GROUP,
        lease_ms: 60_000,
        ..ClaimCommand::default()
    };
    let claimed = machine.call(vec![Command::Claim(claim)]).await?;
    look("claim")?;
    let [Reply::Tasks(tasks)] = claimed.as_slice() else { bail!("no tasks: {claimed:?}") };
    if tasks.len() != GROUP {
        bail!("{} tasks instead of {GROUP}", tasks.len());
    }
    let report = |task: &meantime_kernel::command::ClaimedTask| {
        let (token, report) = (Some(task.token), Report::Completed(Json::null()));
        Command::Report { task: task.id, token, report }
    };
    machine.call(tasks.iter().map(report).collect()).await?;
    look("end")?;
    Ok(touched)
}
