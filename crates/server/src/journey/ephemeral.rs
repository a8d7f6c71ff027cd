//! Runs in memory: APIs, which answer one request, and read guards.
//!
//! They run on a separate kernel with an in-memory store: the same semantics without durability. A
//! definition is deployed there on first use. Retention deletes finished runs at once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{DefinitionId, Keep, Outcome, Retention, Source};
use meantime_journey::JOURNEY_NOTATION;
use meantime_kernel::clock::Clock;
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use meantime_kernel::driver::{Builder, DeployError, EngineTasks, Kernel};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{self, MemoryStore, Store};

use super::request_clock::RequestClock;

/// The kernel of in-memory runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EphemeralKernel {
    kernel: Kernel,
    /// Name and version in this kernel, by definition id in the durable store.
    versions: Arc<Mutex<BTreeMap<DefinitionId, (String, u32)>>>,
}

impl EphemeralKernel {
    pub(crate) async fn start(
        notations: Notations,
        config: Config,
        clock: Arc<dyn Clock>,
        engine_tasks: Arc<dyn EngineTasks>,
    ) -> Result<Self, store::Error> {
        let retention = Retention {
            completed: Keep::days(0),
            failed: Keep::days(0),
            cancelled: Keep::days(0),
            detached_tasks: Keep::days(0),
            ..Retention::default()
        };
        let builder = Builder::new(Arc::new(MemoryStore::new()), notations);
        let clock = RequestClock::wrap(clock);
        let builder = builder.config(config).clock(clock).retention(retention);
        let kernel = builder.engine_tasks(engine_tasks).start().await?;
        Ok(Self { kernel, versions: Arc::default() })
    }

    /// Runs a definition to its end. Returns none if `patience` completes first; the run is then
    /// cancelled.
    pub(crate) async fn run(
        &self,
        deployed: &dyn Store,
        id: DefinitionId,
        start: StartCommand,
        patience: impl Future<Output = ()>,
    ) -> Result<Option<Outcome>, Error> {
        let (definition, version) = self.version(deployed, id).await?;
        let version = Some(version);
        let start = StartCommand { definition, version, ..start };
        let reply = self.kernel.start_until(start, Wait::Idle, patience).await?;
        let Reply::Started { instance, row, .. } = reply else {
            return Err(Error::Invalid("a start was answered by something else".to_owned()));
        };
        let row = match row {
            Some(row) => Some(*row),
            None => self.kernel.store().instance(instance).await.map_err(|it| Error::from(&it))?,
        };
        let outcome = row.filter(|row| row.phase.is_ended()).and_then(|row| row.meta.outcome);
        if outcome.is_none() {
            let (actor, reason) = ("engine".to_owned(), "time limit of the request".to_owned());
            self.kernel
                .call(Command::Cancel { instance, audit: AuditInfo { actor, reason } })
                .await?;
        }
        Ok(outcome)
    }

    /// The kernel itself.
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Whether the kernel would accept a start now.
    pub(crate) fn has_room(&self) -> Result<(), Error> {
        self.kernel.has_room()
    }

    pub(crate) async fn stop(&self) {
        self.kernel.stop().await;
    }

    /// Deploys a definition to this kernel on first use; returns its name and version there.
    async fn version(
        &self,
        deployed: &dyn Store,
        id: DefinitionId,
    ) -> Result<(String, u32), Error> {
        if let Some(known) = self.versions().get(&id) {
            return Ok(known.clone());
        }
        let row = deployed.definition(id).await.map_err(|error| Error::from(&error))?;
        let row =
            row.ok_or_else(|| Error::Invalid("its definition no longer exists".to_owned()))?;
        let (name, text, files) = (row.source_name.clone(), row.source.clone(), row.files.clone());
        let source = Source { name, text, files };
        let deployed = self.kernel.deploy(JOURNEY_NOTATION, source).await;
        let (reply, _) = deployed.map_err(deploy_failure)?;
        let Reply::Deployed(deployed) = reply else {
            return Err(Error::Invalid("a deployment was answered by something else".to_owned()));
        };
        let ours = deployed.iter().find(|it| it.name == row.name).map(|it| it.version);
        let version = ours.ok_or_else(|| Error::Invalid("its source defines it not".to_owned()))?;
        let known = (row.name, version);
        self.versions().insert(id, known.clone());
        Ok(known)
    }

    fn versions(&self) -> std::sync::MutexGuard<'_, BTreeMap<DefinitionId, (String, u32)>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn deploy_failure(error: DeployError) -> Error {
    match error {
        DeployError::Kernel(error) => error,
        DeployError::Diagnostics(_) => Error::Invalid(error.to_string()),
    }
}
