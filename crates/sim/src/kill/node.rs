//! The process that is killed: a kernel that executes requests from its standard input.

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

use super::early_ack_store::EarlyAckStore;
use super::protocol::{ClientAction, ClientRequest, LeasedTask, NodeResponse, ResponseBody};
use crate::probe::Probe;

/// Every instance ends with a task, so that the client decides when it ends.
const PROBE_SOURCE: &str = "
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

/// How long a task stays leased after the process that handed it out was killed.
const LEASE_MS: u64 = 500;

/// How long a claim waits for tasks.
const CLAIM_WAIT_MS: u64 = 200;

/// Runs a node on a store until its input ends or it is killed; with `early_ack` it answers before
/// it has committed.
///
/// # Panics
///
/// If the kernel does not start.
pub fn run_node(store: Arc<dyn Store>, early_ack: bool) {
    let store = if early_ack { Arc::new(EarlyAckStore(store)) } else { store };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (requests, incoming) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if let Ok(request) = serde_json::from_str::<ClientRequest>(&line)
                && requests.send(request).is_err()
            {
                return;
            }
        }
    });
    runtime.block_on(serve(store, incoming));
}

async fn serve(store: Arc<dyn Store>, mut incoming: mpsc::UnboundedReceiver<ClientRequest>) {
    let notations = Notations::default().with("probe", Arc::new(Probe));
    let kernel = Builder::new(store, notations).start().await.expect("the kernel starts");
    let source = Source { name: "kill".to_owned(), text: PROBE_SOURCE.into(), files: Vec::new() };
    kernel.deploy("probe", source).await.expect("the probes are good");
    write_response(&NodeResponse { number: 0, body: ResponseBody::Ready });
    while let Some(ClientRequest { number, action }) = incoming.recv().await {
        let kernel = kernel.clone();
        tokio::spawn(async move {
            let body = answer(&kernel, action).await;
            write_response(&NodeResponse { number, body });
        });
    }
    kernel.stop().await;
}

async fn answer(kernel: &Kernel, action: ClientAction) -> ResponseBody {
    let Some(command) = command(action) else {
        return ResponseBody::Refused { code: "unreadable".to_owned() };
    };
    match kernel.call(command).await {
        Ok(reply) => response_body(reply),
        Err(error) => error_response(&error),
    }
}

fn command(action: ClientAction) -> Option<Command> {
    Some(match action {
        ClientAction::Start { definition, key } => {
            let idempotency = Some(key);
            Command::Start(StartCommand { definition, idempotency, ..StartCommand::default() })
        }
        ClientAction::Signal { instance } => {
            let instance = InstanceId::from_str(&instance).ok()?;
            Command::Signal { instance, name: "s".to_owned(), payload: Json::null() }
        }
        ClientAction::Claim { max } => Command::Claim(ClaimCommand {
            worker: "client".to_owned(),
            max,
            lease_ms: LEASE_MS,
            wait_ms: CLAIM_WAIT_MS,
            ..ClaimCommand::default()
        }),
        ClientAction::Complete { task, epoch, claims } => {
            let task = TaskId::from_str(&task).ok()?;
            let token = Some(LeaseToken { epoch, claims });
            Command::Report { task, token, report: Report::Completed(Json::null()) }
        }
    })
}

fn response_body(reply: Reply) -> ResponseBody {
    match reply {
        Reply::Started { instance, repeated, .. } => {
            ResponseBody::Started { instance: instance.to_string(), repeated }
        }
        Reply::Tasks(tasks) => {
            let tasks = tasks.into_iter().map(|task| LeasedTask {
                task: task.id.to_string(),
                epoch: task.token.epoch,
                claims: task.token.claims,
            });
            ResponseBody::Tasks(tasks.collect())
        }
        _ => ResponseBody::Done,
    }
}

fn error_response(error: &Error) -> ResponseBody {
    ResponseBody::Refused { code: error.code().to_owned() }
}

/// Writes a line with one write, so that a process that dies leaves no partial line.
fn write_response(response: &NodeResponse) {
    let mut line = serde_json::to_string(response).unwrap_or_default();
    line.push('\n');
    // If the client has ended, the answer has no receiver.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}
