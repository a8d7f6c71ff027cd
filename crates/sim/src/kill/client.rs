//! The client of the kill rig: sends requests and records what was acknowledged.

use std::collections::{BTreeMap, VecDeque};
use std::str::FromStr;

use meantime_core::{InstanceId, TaskId};

use super::protocol::{ClientAction, LeasedTask, NodeResponse, ResponseBody};
use crate::audit::Acknowledged;

/// Signals that a `chat` instance waits for.
const SIGNALS_PER_CHAT: usize = 3;

/// Tasks in one claim.
const TASKS_PER_CLAIM: usize = 16;

/// Every n-th task is completed twice; the second report must be refused.
const TASKS_PER_DUPLICATE_REPORT: usize = 8;

/// The client's state, which outlives every node.
#[derive(Debug, Default)]
pub(super) struct Client {
    /// What was acknowledged.
    pub(super) acknowledged: Acknowledged,
    /// Requests that will be sent next.
    queued: VecDeque<ClientAction>,
    /// Requests without an answer.
    open: BTreeMap<u64, ClientAction>,
    /// The instance of each start, by its key.
    starts: BTreeMap<String, InstanceId>,
    /// The number of signals still to be sent, by instance.
    signals: BTreeMap<InstanceId, usize>,
    next: u64,
    is_claiming: bool,
    /// Answers that violate a promise.
    pub(super) problems: Vec<String>,
    /// Starts that already existed when they were repeated.
    pub(super) repeated: usize,
    pub(super) stale: usize,
    pub(super) nap_count: usize,
    completions: usize,
}

impl Client {
    /// Queues more starts.
    pub(super) fn queue_starts(&mut self, count: usize) {
        for number in 0..count {
            let definition = ["job", "nap", "chat"][number % 3].to_owned();
            self.nap_count += usize::from(definition == "nap");
            let key = format!("start-{}-{number}", self.next);
            self.queued.push_back(ClientAction::Start { definition, key });
            self.next += 1;
        }
    }

    /// Whether only few requests are queued.
    pub(super) fn needs_refill(&self) -> bool {
        self.queued.len() < TASKS_PER_CLAIM
    }

    /// The next request to send, if fewer than `window` are in flight.
    pub(super) fn next_request(&mut self, window: usize) -> Option<(u64, ClientAction)> {
        if self.open.len() >= window {
            return None;
        }
        let action = if self.is_claiming {
            self.queued.pop_front()?
        } else {
            self.is_claiming = true;
            ClientAction::Claim { max: TASKS_PER_CLAIM }
        };
        self.next += 1;
        self.open.insert(self.next, action.clone());
        Some((self.next, action))
    }

    /// Whether every instance has been started and its task completed.
    pub(super) fn is_finished(&self) -> bool {
        let is_work = |action: &ClientAction| !matches!(action, ClientAction::Claim { .. });
        self.queued.is_empty()
            && !self.open.values().any(is_work)
            && self.acknowledged.completed.len() >= self.starts.len()
    }

    /// How many instances were started.
    pub(super) fn started(&self) -> usize {
        self.starts.len()
    }

    /// Processes an answer.
    pub(super) fn on_response(&mut self, response: NodeResponse) {
        let Some(action) = self.open.remove(&response.number) else { return };
        match (action, response.body) {
            (
                ClientAction::Start { definition, key },
                ResponseBody::Started { instance, repeated },
            ) => {
                self.repeated += usize::from(repeated);
                self.record_start(&definition, &key, &instance);
            }
            (ClientAction::Signal { instance }, ResponseBody::Done) => {
                if let Ok(id) = InstanceId::from_str(&instance) {
                    self.acknowledged.signalled.push((id, 0));
                    self.queue_signal(id);
                }
            }
            (ClientAction::Claim { .. }, ResponseBody::Tasks(tasks)) => {
                self.is_claiming = false;
                for task in tasks {
                    self.queue_completion(task);
                }
            }
            (ClientAction::Claim { .. }, _) => self.is_claiming = false,
            (ClientAction::Complete { task, .. }, ResponseBody::Done) => {
                let id = TaskId::from_str(&task).ok();
                if id.is_some_and(|id| self.acknowledged.completed.insert(id, 0).is_some()) {
                    self.problems.push(format!("{task} was completed twice"));
                }
            }
            // A second report, or one whose lease has expired: it is refused and changes nothing.
            (ClientAction::Complete { .. }, ResponseBody::Refused { code })
                if code == "lease_lost" || code == "unknown_task" =>
            {
                self.stale += 1;
            }
            (action, ResponseBody::Refused { code })
                if code == "overloaded" || code == "stopping" =>
            {
                self.queued.push_back(action);
            }
            (action, body) => self.problems.push(format!("{action:?} was answered with {body:?}")),
        }
    }

    /// Handles the death of the node: starts are sent again with their keys; the store is searched
    /// for the effects of other open requests.
    pub(super) fn on_node_death(
        &mut self,
        mut resolve: impl FnMut(&ClientAction) -> Option<ResponseBody>,
    ) {
        self.is_claiming = false;
        for (number, action) in std::mem::take(&mut self.open) {
            match (&action, resolve(&action)) {
                // Both reports of a task may be unanswered; the audit counts the outcomes of tasks.
                (ClientAction::Complete { task, .. }, Some(_)) => {
                    self.acknowledged
                        .completed
                        .extend(TaskId::from_str(task).ok().map(|id| (id, 0)));
                }
                (_, Some(body)) => {
                    self.open.insert(number, action);
                    self.on_response(NodeResponse { number, body });
                }
                (ClientAction::Claim { .. }, None) => {}
                (_, None) => self.queued.push_front(action),
            }
        }
    }

    fn record_start(&mut self, definition: &str, key: &str, instance: &str) {
        let Ok(id) = InstanceId::from_str(instance) else {
            self.problems.push(format!("a start was answered with the id {instance:?}"));
            return;
        };
        if let Some(before) = self.starts.insert(key.to_owned(), id)
            && before != id
        {
            self.problems.push(format!("{key} has started {before} and {id}"));
        }
        if self.acknowledged.started.insert(id, 0).is_some() {
            self.problems.push(format!("{id} was given to two starts"));
        }
        if definition == "chat" {
            self.signals.insert(id, SIGNALS_PER_CHAT);
            self.queue_signal(id);
        }
    }

    /// Completes a task; some tasks twice, like a worker that has lost an answer.
    fn queue_completion(&mut self, leased: LeasedTask) {
        let LeasedTask { task, epoch, claims } = leased;
        let complete = ClientAction::Complete { task, epoch, claims };
        self.completions += 1;
        if self.completions.is_multiple_of(TASKS_PER_DUPLICATE_REPORT) {
            self.queued.push_back(complete.clone());
        }
        self.queued.push_back(complete);
    }

    /// Sends the next signal of an instance, one at a time.
    fn queue_signal(&mut self, id: InstanceId) {
        if let Some(left) = self.signals.get_mut(&id).filter(|left| **left > 0) {
            *left -= 1;
            self.queued.push_back(ClientAction::Signal { instance: id.to_string() });
        }
    }
}
