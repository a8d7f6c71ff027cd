//! In-process workers that do no work: claim, complete, claim again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use meantime_core::Json;
use meantime_kernel::command::{ClaimCommand, ClaimedTask, Command, Reply, Report};
use meantime_kernel::driver::Kernel;
use tokio::task::JoinSet;

/// Tasks in one claim.
const TASKS_PER_CLAIM: usize = 256;

/// How long a claim waits; between claims, workers check whether the bench has ended.
const CLAIM_WAIT_MS: u64 = 200;

/// Workers that run until they are stopped.
pub(super) struct Workers {
    stop: Arc<AtomicBool>,
    workers: JoinSet<Result<()>>,
}

impl Workers {
    pub(super) fn begin(kernel: &Kernel, count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = JoinSet::new();
        for number in 0..count {
            let (kernel, stop) = (kernel.clone(), stop.clone());
            workers.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    complete(&kernel, claim(&kernel, number).await?).await?;
                }
                Ok(())
            });
        }
        Self { stop, workers }
    }

    pub(super) async fn end(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.workers.join_all().await.into_iter().collect()
    }
}

async fn claim(kernel: &Kernel, number: usize) -> Result<Vec<ClaimedTask>> {
    let claim = ClaimCommand {
        worker: format!("worker-{number}"),
        max: TASKS_PER_CLAIM,
        lease_ms: 60_000,
        wait_ms: CLAIM_WAIT_MS,
        ..ClaimCommand::default()
    };
    match kernel.call(Command::Claim(claim)).await.context("a claim was refused")? {
        Reply::Tasks(tasks) => Ok(tasks),
        other => anyhow::bail!("a claim was answered with {other:?}"),
    }
}

/// Completes all tasks concurrently, so that they share commits.
async fn complete(kernel: &Kernel, tasks: Vec<ClaimedTask>) -> Result<()> {
    let mut reports = JoinSet::new();
    for task in tasks {
        let kernel = kernel.clone();
        let report = Report::Completed(Json::null());
        let command = Command::Report { task: task.id, token: Some(task.token), report };
        reports.spawn(async move { kernel.call(command).await });
    }
    for answer in reports.join_all().await {
        answer.context("a completion was refused")?;
    }
    Ok(())
}
