//! Two nodes on one PostgreSQL database: their throughput together, how soon one learns of the
//! other's work, and the statements of an idle node.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use meantime_core::Json;
use meantime_kernel::clock::Stopwatch;
use meantime_kernel::command::{ClaimCommand, ClaimedTask, Command, Reply, Report};

use super::super::bench_store::{BenchDatabase, BenchStore};
use super::super::child::ChildMessage;
use super::super::child_process::ChildProcess;
use super::super::kernel_rig::{KernelRig, start};
use super::super::report::{Figure, float};
use super::super::sample::Sample;
use super::super::session::Session;
use super::super::starters::pause;

const NAME: &str = "nodes";

/// How often one node wakes the other.
const WAKE_UP_SAMPLES: usize = 300;

pub(crate) async fn nodes(session: &mut Session) -> Result<()> {
    let BenchStore::Postgres(database) = session.common.db.clone() else {
        bail!("several nodes need PostgreSQL");
    };
    measure_throughput(session, &database).await?;
    measure_wake_up(session, &database).await?;
    at_rest(session, &database).await
}

/// Starts per second of one process and of two.
async fn measure_throughput(session: &mut Session, database: &BenchDatabase) -> Result<()> {
    let mut rates = Vec::new();
    for nodes in [1, 2] {
        session.progress.step(format!("{nodes} nodes"), 0);
        drop(database.connect_empty().await?);
        // Starting and stopping a first node creates the tables.
        KernelRig::join(database).await?.end().await?;
        let seconds = session.common.seconds.to_string();
        let args = ["load", "--db", &database.url, "--seconds", &seconds];
        let parts: Result<Vec<_>> = (0..nodes).map(|_| ChildProcess::start(args)).collect();
        let mut rate = 0.0;
        for mut child in parts? {
            let ChildMessage::Loaded { per_second } = child.read_message()? else {
                bail!("it carried nothing")
            };
            rate += per_second;
        }
        let name = format!("1-turn instances, {nodes} nodes with 64 callers each");
        let figure = Figure::new(NAME, name, rate, "/s");
        session.add(match rates.first() {
            Some(alone) => figure.of("one node", *alone).at_least(1.2),
            None => figure,
        });
        rates.push(rate);
    }
    Ok(())
}

/// From the answer to a start on one node to the answer to a claim that waits on the other.
async fn measure_wake_up(session: &mut Session, database: &BenchDatabase) -> Result<()> {
    session.progress.step("wake-ups across nodes", 0);
    drop(database.connect_empty().await?);
    let (worker, caller) = (KernelRig::join(database).await?, KernelRig::join(database).await?);
    let mut late = Sample::default();
    for _ in 0..WAKE_UP_SAMPLES {
        let kernel = worker.kernel.clone();
        let claim = tokio::spawn(async move {
            let claim = ClaimCommand {
                worker: "worker".to_owned(),
                max: 1,
                lease_ms: 60_000,
                wait_ms: 10_000,
                ..ClaimCommand::default()
            };
            let reply = kernel.call(Command::Claim(claim)).await;
            (reply, Stopwatch::start())
        });
        // Gives the claim time to start waiting.
        pause(Duration::from_millis(30)).await;
        let command = Command::Start(start("small-task"));
        caller.kernel.call(command).await.context("a start was refused")?;
        let answered = Stopwatch::start();
        let (reply, claimed) = claim.await?;
        let since = answered.elapsed().saturating_sub(claimed.elapsed());
        late.add(since.as_secs_f64() * 1_000.0);
        let Reply::Tasks(tasks) = reply? else { bail!("a claim was not answered with tasks") };
        complete(&worker, tasks.first().context("a task never arrived")?).await?;
    }
    caller.end().await?;
    worker.end().await?;
    for (percent, limit) in [(50.0, None), (99.0, Some(10.0))] {
        let name = format!("from a start to a claim on the other node, p{percent}");
        let figure = Figure::new(NAME, name, late.percentile(percent), "ms");
        session.add(match limit {
            Some(limit) => figure.at_most(limit),
            None => figure,
        });
    }
    Ok(())
}

async fn complete(rig: &KernelRig, task: &ClaimedTask) -> Result<()> {
    let (token, report) = (Some(task.token), Report::Completed(Json::null()));
    rig.kernel.call(Command::Report { task: task.id, token, report }).await?;
    Ok(())
}

/// Statements of an idle node.
async fn at_rest(session: &mut Session, database: &BenchDatabase) -> Result<()> {
    let seconds = session.common.seconds * 6;
    session.progress.step(format!("resting for {seconds} s"), 0);
    drop(database.connect_empty().await?);
    let rig = KernelRig::join(database).await?;
    pause(Duration::from_secs(2)).await;
    let before = rig.counts();
    pause(Duration::from_secs(seconds)).await;
    let statements = rig.counts().statements - before.statements;
    rig.end().await?;
    let each = float(statements) / float(seconds) * 5.0;
    session.add(Figure::new(NAME, "statements of an idle node in 5 s", each, ""));
    Ok(())
}
