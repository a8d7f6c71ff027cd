//! Runs the kernel's machine step by step. Batches have exactly the size that the bench chooses, so
//! that the cost of a batch can be counted and not only measured.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use meantime_core::Source;
use meantime_kernel::clock::{Clock, SystemClock};
use meantime_kernel::command::{Command, Deployment, Reply, Wait};
use meantime_kernel::machine::{Config, Input, Machine, Notations, Output, Ticket};
use meantime_kernel::random::SystemEntropy;
use meantime_kernel::store::{DefinitionFilter, Partition, Store};

use super::kernel_rig::notations;

pub(super) struct ManualDriver {
    machine: Machine,
    store: Arc<dyn Store>,
    notations: Notations,
    config: Config,
    next: u64,
    replies: BTreeMap<Ticket, Reply>,
}

impl ManualDriver {
    pub(super) async fn new(store: Arc<dyn Store>) -> Result<Self> {
        let (config, notations) = (Config::default(), notations());
        let entropy = Box::new(SystemEntropy::default());
        let mut machine = Machine::new(config.clone(), notations.clone(), entropy);
        let now = SystemClock.now();
        let recovered = store.recover(Partition::ALL).await?;
        let definitions = store.definitions(DefinitionFilter::default()).await?;
        machine.handle(now, Input::Recovered(recovered, definitions));
        Ok(Self { machine, store, notations, config, next: 1, replies: BTreeMap::new() })
    }

    pub(super) async fn deploy(&mut self, notation: &str, source: Source) -> Result<()> {
        let compiled = self.notations.compile(notation, &source, &self.config.limits);
        let definitions = compiled.into_iter().flat_map(|it| it.definitions).map(Arc::new);
        let (notation, definitions) = (notation.to_owned(), definitions.collect());
        let deployment = Deployment { notation, source, definitions };
        self.call(vec![Command::Deploy(deployment)]).await.map(drop)
    }

    /// Gives commands to the machine at one instant and runs it until it is idle.
    pub(super) async fn call(&mut self, commands: Vec<Command>) -> Result<Vec<Reply>> {
        let first = self.next;
        for command in commands {
            let command = Input::Command(Ticket(self.next), Box::new(command), Wait::Quiet);
            self.machine.handle(SystemClock.now(), command);
            self.next += 1;
        }
        while let Some(output) = self.machine.poll() {
            if let Some(input) = self.perform(output).await? {
                self.machine.handle(SystemClock.now(), input);
            }
        }
        let replies = (first..self.next).map(|number| self.replies.remove(&Ticket(number)));
        replies.collect::<Option<_>>().context("a command was not answered")
    }

    async fn perform(&mut self, output: Output) -> Result<Option<Input>> {
        let store = &self.store;
        Ok(Some(match output {
            Output::Fetch(batch, request) => Input::Fetched(batch, store.fetch(request).await),
            Output::Advance(batch, jobs) => {
                Input::Advanced(batch, jobs.iter().map(|job| Some(job.run())).collect())
            }
            Output::Commit(batch, fetched, plan) => {
                Input::Committed(batch, store.commit(fetched, plan).await)
            }
            Output::LoadTimers(query) => Input::Timers(store.due_timers(query).await),
            Output::LoadDefinition(id) => {
                let row = store.definition(id).await?;
                let limits = &self.config.limits;
                let loaded = row.as_ref().and_then(|row| self.notations.load(row, limits));
                Input::Definition(id, Box::new(loaded))
            }
            Output::Reply(ticket, answer) => {
                self.replies.insert(ticket, answer?);
                return Ok(None);
            }
            Output::Compact(_) | Output::Dispatch(_) => return Ok(None),
            output => bail!("the bench did not expect {output:?}"),
        }))
    }
}
