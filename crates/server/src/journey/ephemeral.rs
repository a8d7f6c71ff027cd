//! Runs in memory: APIs, which answer one request, and read guards.
//!
//! They run on a separate kernel with an in-memory store: the same semantics without durability. A
//! definition is deployed there on first use. Retention deletes finished runs at once.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_core::{DefinitionId, Failure, InstanceId, Keep, Outcome, Retention, Source};
use meantime_journey::JOURNEY_NOTATION;
use meantime_kernel::clock::Clock;
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use meantime_kernel::driver::{Builder, DeployError, EngineTasks, Kernel};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{self, MemoryStore, Page, Store};

use super::request_clock::RequestClock;

/// The kernel of in-memory runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct EphemeralKernel {
    kernel: Kernel,
    /// Name and version in this kernel, by definition id in the durable store.
    versions: Arc<Mutex<BTreeMap<DefinitionId, (String, u32)>>>,
}

/// How a run in memory ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EphemeralEnd {
    /// With an outcome.
    Ended(Outcome),
    /// With an incident. Nobody can resolve it: the run is cancelled.
    Incident(Failure),
    /// The caller did not wait any longer; the run is cancelled.
    OutOfTime,
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

    /// Runs a definition to its end, to an incident, or until `patience` completes.
    pub(crate) async fn run(
        &self,
        deployed: &dyn Store,
        id: DefinitionId,
        start: StartCommand,
        patience: impl Future<Output = ()>,
    ) -> Result<EphemeralEnd, Error> {
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
        if let Some(outcome) = outcome {
            return Ok(EphemeralEnd::Ended(outcome));
        }
        let failure = self.incident_of(instance).await?;
        let reason = if failure.is_some() { "incident" } else { "time limit of the request" };
        let audit = AuditInfo { actor: "engine".to_owned(), reason: reason.to_owned() };
        self.kernel.call(Command::Cancel { instance, audit }).await?;
        Ok(failure.map_or(EphemeralEnd::OutOfTime, EphemeralEnd::Incident))
    }

    /// The failure of the incident that a run rests with, if there is one. It goes with the run, so
    /// it is logged for the operator.
    async fn incident_of(&self, instance: InstanceId) -> Result<Option<Failure>, Error> {
        let found = self.kernel.store().incidents(Some(instance), Page::first(1)).await;
        let first = found.map_err(|error| Error::from(&error))?.into_iter().next();
        if let Some(incident) = &first {
            let (code, message) = (&incident.failure.code, &incident.failure.message);
            let element = &incident.element;
            tracing::warn!(%code, %message, %element, "a run in memory stopped with an incident");
        }
        Ok(first.map(|incident| incident.failure))
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

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use meantime_core::{
        Compiled, Cx, Definition, Diagnostic, Event, Fault, Limits, Notation, Start, State,
        Timestamp, Turn, View,
    };
    use meantime_kernel::clock::SystemClock;
    use meantime_kernel::command::Report;
    use meantime_kernel::store::{InstanceFilter, TaskRow};
    use meantime_sim::probe::Probe;

    use super::*;

    /// Probes; the one named `panics` cannot start.
    struct Panics(Probe);

    impl Notation for Panics {
        fn compile(&self, source: &Source, limits: &Limits) -> Compiled {
            self.0.compile(source, limits)
        }

        fn lint(&self, definition: &Definition, now: Timestamp) -> Vec<Diagnostic> {
            self.0.lint(definition, now)
        }

        fn start(&self, of: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
            assert!(of.name != "panics", "it cannot start");
            self.0.start(of, start, cx)
        }

        fn advance(
            &self,
            definition: &Definition,
            state: &State,
            events: &[Event],
            cx: &Cx<'_>,
        ) -> Result<Turn, Fault> {
            self.0.advance(definition, state, events, cx)
        }

        fn inspect(&self, definition: &Definition, state: &State) -> View {
            self.0.inspect(definition, state)
        }
    }

    /// There are no engine tasks.
    struct NoTasks;

    impl EngineTasks for NoTasks {
        fn run(&self, _: TaskRow) -> Pin<Box<dyn Future<Output = Report> + Send + '_>> {
            Box::pin(std::future::pending())
        }
    }

    const PROBES: &str = "
probe panics
end

probe troubled
incident t E_ELEMENT
await t
end

probe waits
signal s go
await s
end

probe ends
end \"done\"
";

    #[tokio::test]
    async fn a_run_that_stops_with_an_incident_is_told_from_one_that_takes_too_long() {
        let notations = Notations::default().with(JOURNEY_NOTATION, Arc::new(Panics(Probe)));
        let durable = Builder::new(Arc::new(MemoryStore::new()), notations.clone());
        let durable = durable.start().await.expect("the kernel starts");
        let source = Source { name: "probes".to_owned(), text: PROBES.into(), files: Vec::new() };
        durable.deploy(JOURNEY_NOTATION, source).await.expect("the probes are good");
        let (clock, tasks) = (Arc::new(SystemClock), Arc::new(NoTasks));
        let memory = EphemeralKernel::start(notations, Config::default(), clock, tasks).await;
        let memory = memory.expect("the kernel starts");
        let run = async |name: &str| {
            let id = durable.latest(name).await.expect("it reads").expect("it is deployed");
            let (start, now) = (StartCommand::default(), std::future::ready(()));
            let store: &dyn Store = &**durable.store();
            match name {
                // It would wait for ever.
                "waits" => memory.run(store, id, start, now).await.expect("it runs"),
                _ => memory.run(store, id, start, std::future::pending()).await.expect("it runs"),
            }
        };
        let code = |end: EphemeralEnd| match end {
            EphemeralEnd::Incident(failure) => failure.code,
            other => format!("{other:?}"),
        };
        assert_eq!(code(run("panics").await), "notation_panicked");
        assert_eq!(code(run("troubled").await), "E_ELEMENT");
        assert_eq!(run("waits").await, EphemeralEnd::OutOfTime);
        assert!(matches!(run("ends").await, EphemeralEnd::Ended(Outcome::Completed { .. })));
        let left = memory.kernel().store().instances(InstanceFilter::default(), Page::first(9));
        let left = left.await.expect("it reads");
        assert!(left.iter().all(|row| row.phase.is_ended()), "nothing goes on without a caller");
    }
}
