//! Somebody outside who keeps asking, and writes down what was answered.

use std::collections::{BTreeMap, VecDeque};
use std::str::FromStr;

use meantime_core::{InstanceId, TaskId};

use super::protocol::{Claimed, Said, Told, Want};
use crate::audit::Facts;

/// Signals that a chat waits for.
const SIGNALS: usize = 3;

/// Tasks in one claim.
const CLAIM: usize = 16;

/// Every so many tasks are completed twice; the second report must be refused.
const TWICE_EVERY: usize = 8;

/// What the client knows. It outlives every node.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// What was acknowledged.
    pub(super) facts: Facts,
    /// What is to be asked next.
    todo: VecDeque<Want>,
    /// What was asked and not answered.
    open: BTreeMap<u64, Want>,
    /// The instance of each start, by its key.
    starts: BTreeMap<String, InstanceId>,
    /// Signals that are still to be sent, by instance.
    signals: BTreeMap<InstanceId, usize>,
    next: u64,
    is_claiming: bool,
    /// What must not be.
    pub(super) wrong: Vec<String>,
    /// Reports that came too late, starts that were known already: signs that kills hit something.
    pub(super) repeated: usize,
    pub(super) stale: usize,
    pub(super) naps: usize,
    worked: usize,
}

impl Client {
    /// More instances to start.
    pub(super) fn plan(&mut self, count: usize) {
        for number in 0..count {
            let definition = ["job", "nap", "chat"][number % 3].to_owned();
            self.naps += usize::from(definition == "nap");
            let key = format!("start-{}-{number}", self.next);
            self.todo.push_back(Want::Start { definition, key });
            self.next += 1;
        }
    }

    /// Whether it will soon have nothing to ask.
    pub(super) fn has_little_to_do(&self) -> bool {
        self.todo.len() < CLAIM
    }

    /// What to ask now, so that so many requests are under way.
    pub(super) fn next(&mut self, window: usize) -> Option<(u64, Want)> {
        if self.open.len() >= window {
            return None;
        }
        let want = if self.is_claiming {
            self.todo.pop_front()?
        } else {
            self.is_claiming = true;
            Want::Claim { max: CLAIM }
        };
        self.next += 1;
        self.open.insert(self.next, want.clone());
        Some((self.next, want))
    }

    /// Whether every instance has been started and its task completed.
    pub(super) fn is_finished(&self) -> bool {
        let is_work = |want: &Want| !matches!(want, Want::Claim { .. });
        self.todo.is_empty()
            && !self.open.values().any(is_work)
            && self.facts.completed.len() >= self.starts.len()
    }

    /// How many instances were started.
    pub(super) fn started(&self) -> usize {
        self.starts.len()
    }

    /// Takes in an answer.
    pub(super) fn told(&mut self, told: Told) {
        let Some(want) = self.open.remove(&told.number) else { return };
        match (want, told.said) {
            (Want::Start { definition, key }, Said::Started { instance, repeated }) => {
                self.repeated += usize::from(repeated);
                self.started_as(&definition, &key, &instance);
            }
            (Want::Signal { instance }, Said::Done) => {
                if let Ok(id) = InstanceId::from_str(&instance) {
                    self.facts.signalled.push((id, 0));
                    self.signal(id);
                }
            }
            (Want::Claim { .. }, Said::Tasks(tasks)) => {
                self.is_claiming = false;
                for task in tasks {
                    self.work(task);
                }
            }
            (Want::Claim { .. }, _) => self.is_claiming = false,
            (Want::Complete { task, .. }, Said::Done) => {
                let id = TaskId::from_str(&task).ok();
                if id.is_some_and(|id| self.facts.completed.insert(id, 0).is_some()) {
                    self.wrong.push(format!("{task} was completed twice"));
                }
            }
            // It was the second report, or its lease ran out: it changes nothing.
            (Want::Complete { .. }, Said::Refused { code })
                if code == "lease_lost" || code == "unknown_task" =>
            {
                self.stale += 1;
            }
            (want, Said::Refused { code }) if code == "overloaded" || code == "stopping" => {
                self.todo.push_back(want);
            }
            (want, said) => self.wrong.push(format!("{want:?} was answered with {said:?}")),
        }
    }

    /// The node is dead. Starts are asked again, with their keys; what else was open is looked up
    /// in the store.
    pub(super) fn node_died(&mut self, mut resolve: impl FnMut(&Want) -> Option<Said>) {
        self.is_claiming = false;
        for (number, want) in std::mem::take(&mut self.open) {
            match (&want, resolve(&want)) {
                // Both reports of a task may have been cut off; the audit counts its outcomes.
                (Want::Complete { task, .. }, Some(_)) => {
                    self.facts.completed.extend(TaskId::from_str(task).ok().map(|id| (id, 0)));
                }
                (_, Some(said)) => {
                    self.open.insert(number, want);
                    self.told(Told { number, said });
                }
                (Want::Claim { .. }, None) => {}
                (_, None) => self.todo.push_front(want),
            }
        }
    }

    fn started_as(&mut self, definition: &str, key: &str, instance: &str) {
        let Ok(id) = InstanceId::from_str(instance) else {
            self.wrong.push(format!("a start was answered with the id {instance:?}"));
            return;
        };
        if let Some(before) = self.starts.insert(key.to_owned(), id)
            && before != id
        {
            self.wrong.push(format!("{key} has started {before} and {id}"));
        }
        if self.facts.started.insert(id, 0).is_some() {
            self.wrong.push(format!("{id} was given to two starts"));
        }
        if definition == "chat" {
            self.signals.insert(id, SIGNALS);
            self.signal(id);
        }
    }

    /// Completes a task; some tasks twice, as a worker does that has lost an answer.
    fn work(&mut self, claimed: Claimed) {
        let Claimed { task, epoch, claims } = claimed;
        let complete = Want::Complete { task, epoch, claims };
        self.worked += 1;
        if self.worked.is_multiple_of(TWICE_EVERY) {
            self.todo.push_back(complete.clone());
        }
        self.todo.push_back(complete);
    }

    /// Sends the next signal of an instance, one at a time.
    fn signal(&mut self, id: InstanceId) {
        if let Some(left) = self.signals.get_mut(&id).filter(|left| **left > 0) {
            *left -= 1;
            self.todo.push_back(Want::Signal { instance: id.to_string() });
        }
    }
}
