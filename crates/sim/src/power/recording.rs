//! A load on a kernel whose disk operations are recorded, with what was acknowledged.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{Json, Source, TaskId};
use meantime_disk::{DiskOp, Recorder, start_recording};
use meantime_kernel::command::{ClaimCommand, Command, Error, Reply, Report, StartCommand};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::Notations;
use meantime_store::sqlite::{Options, SqliteStore};
use tokio::task::JoinSet;

use super::sim_disk::DiskFiles;
use crate::audit::Acknowledged;
use crate::probe::Probe;

/// The name of the database in its directory.
pub(super) const DATABASE_FILE: &str = "power.db";

const PROBE_SOURCE: &str = "
probe quick
end \"done\"

probe nap
timer t PT0.005S
await t
end

probe chat
again:
signal s s
await s
repeat 3 again
end

probe job
task t work
await t
end
";

/// The recorded operations of a disk, and what was acknowledged meanwhile.
pub struct Recording {
    pub(super) before: DiskFiles,
    pub(super) ops: Vec<DiskOp>,
    pub(super) acknowledged: Acknowledged,
}

impl Recording {
    /// The number of acknowledgements.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// The number of writes, truncations and syncs.
    pub fn ops(&self) -> usize {
        self.ops.len()
    }
}

/// Runs callers on a new database in a directory, each for `rounds` rounds.
///
/// # Panics
///
/// If the engine rejects ordinary work.
pub fn record_load(
    directory: &Path,
    options: &Options,
    callers: usize,
    rounds: usize,
) -> Recording {
    let path = directory.join(DATABASE_FILE);
    // The database is created and closed before the recording begins, so its files are durable.
    block_on_new_runtime(async {
        let kernel = start_kernel(&path, options).await;
        let source =
            Source { name: "power".to_owned(), text: PROBE_SOURCE.into(), files: Vec::new() };
        kernel.deploy("probe", source).await.expect("the probes are good");
        kernel.stop().await;
    });
    let bytes = std::fs::read(&path).expect("the file is there");
    let before = DiskFiles::from([(DATABASE_FILE.into(), bytes)]);
    let recorder = Arc::new(start_recording(directory));
    let acknowledged = block_on_new_runtime(run_load(&path, options, &recorder, callers, rounds));
    Recording { before, ops: recorder.ops(), acknowledged }
}

/// Runs a future to its end on a new runtime. Dropping the runtime ends all its tasks, so the file
/// is closed afterwards.
fn block_on_new_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

async fn start_kernel(path: &Path, options: &Options) -> Kernel {
    let store = SqliteStore::open(path, options.clone()).expect("the store opens");
    let notations = Notations::default().with("probe", Arc::new(Probe));
    Builder::new(Arc::new(store), notations).start().await.expect("the kernel starts")
}

async fn run_load(
    path: &Path,
    options: &Options,
    recorder: &Arc<Recorder>,
    callers: usize,
    rounds: usize,
) -> Acknowledged {
    let kernel = start_kernel(path, options).await;
    let acknowledged = Arc::new(Mutex::new(Acknowledged::default()));
    let mut set = JoinSet::new();
    for number in 0..callers {
        let (kernel, recorder, acknowledged) =
            (kernel.clone(), Arc::clone(recorder), Arc::clone(&acknowledged));
        set.spawn(async move {
            let caller = Caller { number, kernel, recorder, acknowledged };
            for _ in 0..rounds {
                caller.run_round().await.expect("ordinary work is done");
            }
        });
    }
    set.join_all().await;
    kernel.stop().await;
    let acknowledged = acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
    acknowledged.clone()
}

/// A caller that records what was acknowledged.
struct Caller {
    number: usize,
    kernel: Kernel,
    recorder: Arc<Recorder>,
    acknowledged: Arc<Mutex<Acknowledged>>,
}

impl Caller {
    async fn run_round(&self) -> Result<(), Error> {
        for definition in ["quick", "nap", "job"] {
            self.start(definition).await?;
        }
        let chat = self.start("chat").await?;
        for _ in 0..3 {
            if let Some(instance) = chat {
                let (name, payload) = ("s".to_owned(), Json::null());
                self.kernel.call(Command::Signal { instance, name, payload }).await?;
                self.acknowledge(|acknowledged, position| {
                    acknowledged.signalled.push((instance, position));
                });
            }
        }
        self.complete_tasks().await
    }

    async fn start(&self, definition: &str) -> Result<Option<meantime_core::InstanceId>, Error> {
        let definition = definition.to_owned();
        let start = StartCommand { definition, ..StartCommand::default() };
        let Reply::Started { instance, .. } = self.kernel.call(Command::Start(start)).await? else {
            return Ok(None);
        };
        self.acknowledge(|acknowledged, position| acknowledged.started.insert(instance, position));
        Ok(Some(instance))
    }

    /// Claims a few tasks of any instance and completes them.
    async fn complete_tasks(&self) -> Result<(), Error> {
        let worker = format!("worker-{}", self.number);
        let claim = ClaimCommand { worker, max: 2, lease_ms: 60_000, ..ClaimCommand::default() };
        let Reply::Tasks(tasks) = self.kernel.call(Command::Claim(claim)).await? else {
            return Ok(());
        };
        for task in tasks {
            let (id, token): (TaskId, _) = (task.id, Some(task.token));
            let report = Report::Completed(Json::null());
            self.kernel.call(Command::Report { task: id, token, report }).await?;
            self.acknowledge(|acknowledged, position| acknowledged.completed.insert(id, position));
        }
        Ok(())
    }

    /// Records an acknowledgement with the current position of the disk recording.
    fn acknowledge<T>(&self, note: impl FnOnce(&mut Acknowledged, usize) -> T) {
        let position = self.recorder.position();
        note(&mut self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner), position);
    }
}
