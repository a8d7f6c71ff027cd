//! The process that is killed: a kernel that does what lines on its input say.

use std::io::{BufRead, Write};
use std::str::FromStr;
use std::sync::Arc;

use meantime_core::{InstanceId, Json, Source, TaskId};
use meantime_kernel::command::{
    ClaimCommand, Command, Error, LeaseToken, Reply, Report, StartCommand,
};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_kernel::store::Store;
use tokio::sync::mpsc;

use super::hasty::Hasty;
use super::protocol::{Ask, Claimed, Said, Told, Want};
use crate::probe::Probe;

/// Every instance ends with a task, so that its end is something that the client does.
const PROBES: &str = "
probe job
task t work
await t
end

probe nap
timer n PT0.05S
await n
task t work
await t
end

probe chat
again:
signal s s
await s
repeat 3 again
task t work
await t
end
";

/// How long a task that a dead process handed out stays away.
const LEASE_MS: u64 = 500;

/// How long a claim waits for tasks.
const WAIT_MS: u64 = 200;

/// Runs a node on a store until its input ends or it is killed; a hasty one answers before it has
/// committed.
///
/// # Panics
///
/// If the kernel does not start.
pub fn run_node(store: Arc<dyn Store>, is_hasty: bool) {
    let store = if is_hasty { Arc::new(Hasty(store)) } else { store };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (asks, asked) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if let Ok(ask) = serde_json::from_str::<Ask>(&line)
                && asks.send(ask).is_err()
            {
                return;
            }
        }
    });
    runtime.block_on(serve(store, asked));
}

async fn serve(store: Arc<dyn Store>, mut asked: mpsc::UnboundedReceiver<Ask>) {
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let kernel = Builder::new(store, notations).start().await.expect("the kernel starts");
    let source = Source { name: "kill".to_owned(), text: PROBES.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    tell(&Told { number: 0, said: Said::Ready });
    while let Some(Ask { number, want }) = asked.recv().await {
        let kernel = kernel.clone();
        tokio::spawn(async move {
            let said = answer(&kernel, want).await;
            tell(&Told { number, said });
        });
    }
    kernel.stop().await;
}

async fn answer(kernel: &Kernel, want: Want) -> Said {
    let Some(command) = command(want) else {
        return Said::Refused { code: "unreadable".to_owned() };
    };
    match kernel.call(command).await {
        Ok(reply) => said(reply),
        Err(error) => refused(&error),
    }
}

fn command(want: Want) -> Option<Command> {
    Some(match want {
        Want::Start { definition, key } => {
            let idempotency = Some(key);
            Command::Start(StartCommand { definition, idempotency, ..StartCommand::default() })
        }
        Want::Signal { instance } => {
            let instance = InstanceId::from_str(&instance).ok()?;
            Command::Signal { instance, name: "s".to_owned(), payload: Json::null() }
        }
        Want::Claim { max } => Command::Claim(ClaimCommand {
            worker: "client".to_owned(),
            max,
            lease_ms: LEASE_MS,
            wait_ms: WAIT_MS,
            ..ClaimCommand::default()
        }),
        Want::Complete { task, epoch, claims } => {
            let task = TaskId::from_str(&task).ok()?;
            let token = Some(LeaseToken { epoch, claims });
            Command::Report { task, token, report: Report::Completed(Json::null()) }
        }
    })
}

fn said(reply: Reply) -> Said {
    match reply {
        Reply::Started { instance, repeated, .. } => {
            Said::Started { instance: instance.to_string(), repeated }
        }
        Reply::Tasks(tasks) => {
            let tasks = tasks.into_iter().map(|task| Claimed {
                task: task.id.to_string(),
                epoch: task.token.epoch,
                claims: task.token.claims,
            });
            Said::Tasks(tasks.collect())
        }
        _ => Said::Done,
    }
}

fn refused(error: &Error) -> Said {
    Said::Refused { code: error.code().to_owned() }
}

/// One line in one write: a process that dies leaves no half of it behind another.
fn tell(told: &Told) {
    let mut line = serde_json::to_string(told).unwrap_or_default();
    line.push('\n');
    // A client that has gone hears nothing.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}
