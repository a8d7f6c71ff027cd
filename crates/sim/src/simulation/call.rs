//! Callers: their commands and the replies.

use meantime_kernel::command::{Command, Error, LeaseToken, Reply, Report, Wait};
use meantime_kernel::machine::{Input, Ticket};
use meantime_kernel::store::TaskRow;

use super::coverage_counts::CountGroup;
use super::run::Simulation;
use crate::checker::{self, CallRecord, Violation};

impl Simulation {
    /// Sends a command to a running process and returns the number of the call.
    pub(super) fn send_command(&mut self, name: &'static str, command: Command) -> Option<u64> {
        self.send_command_and_wait(name, command, Wait::Quiet)
    }

    pub(super) fn send_command_and_wait(
        &mut self,
        name: &'static str,
        command: Command,
        wait: Wait,
    ) -> Option<u64> {
        let up: Vec<usize> = (0..self.nodes.len()).filter(|it| self.nodes[*it].is_up()).collect();
        let node = *self.rng.pick_optional(&up)?;
        Some(self.send_command_to(node, name, command, wait))
    }

    pub(super) fn send_command_to(
        &mut self,
        node: usize,
        name: &'static str,
        command: Command,
        wait: Wait,
    ) -> u64 {
        let number = self.calls.len() as u64 + 1;
        self.logical_time += 1;
        self.trace(|| format!("call {number} to n{node}: {name} {command:?}"));
        self.calls.push(CallRecord {
            number,
            name,
            command: command.clone(),
            wait,
            sent_at: self.logical_time,
            time: self.nodes[node].clock.engine,
            answered: None,
            answer: None,
            lost: false,
            is_overdue: false,
        });
        let ticket = Ticket(number);
        self.nodes[node].waiting.insert(ticket);
        self.nodes[node].handle_input(Input::Command(ticket, Box::new(command), wait));
        number
    }

    pub(super) fn call_mut(&mut self, ticket: Ticket) -> Option<&mut CallRecord> {
        let place = usize::try_from(ticket.0).ok()?.checked_sub(1)?;
        self.calls.get_mut(place)
    }

    /// Records the reply to a call and checks it.
    pub(super) fn record_reply(
        &mut self,
        node: usize,
        ticket: Ticket,
        answer: &Result<Reply, Error>,
    ) {
        self.logical_time += 1;
        self.commit_log.hash_reply(&format!("{} {answer:?}", ticket.0));
        let logical_time = self.logical_time;
        let was_waiting = self.nodes[node].waiting.remove(&ticket);
        let time = self.nodes[node].latest_engine_time;
        let Some(call) = self.call_mut(ticket) else { return };
        call.answered = Some(time);
        let (name, command) = (call.name, call.command.clone());
        let is_second = call.answer.replace((logical_time, answer.clone())).is_some();
        if is_second || !was_waiting {
            let text = format!("call {} was answered twice", ticket.0);
            self.report_violation("anytime_callers_are_answered_once", text);
        }
        match answer {
            Ok(reply) => {
                self.counts.count(CountGroup::Operation, name);
                if !self.is_purged(reply) {
                    checker::check_answer(&*self.store, &command, reply, &mut self.violations);
                }
                self.apply_reply(node, reply);
            }
            Err(error) => self.counts.count(CountGroup::Refused, error.code()),
        }
    }

    /// Whether a reply names an instance that retention has removed since.
    fn is_purged(&self, reply: &Reply) -> bool {
        match reply {
            Reply::Started { instance, .. } | Reply::Scheduled { schedule: instance } => {
                self.purged.contains(instance)
            }
            _ => false,
        }
    }

    /// Records that a process dispatches an engine task.
    pub(super) fn record_dispatch(&mut self, node: usize, task: TaskRow) {
        if !self.commit_log.tasks.contains_key(&task.id) {
            let text = format!("task {} is run, and no commit has scheduled it", task.id);
            self.report_violation("anytime_dispatch_follows_commit", text);
        }
        self.nodes[node].dispatched.push(task);
    }

    /// Reports on an engine task that was dispatched.
    pub(super) fn report_engine_task(&mut self, node: usize, name: &'static str, report: Report) {
        let count = self.nodes[node].dispatched.len();
        if count == 0 {
            return;
        }
        let place = self.rng.below(count);
        let task = self.nodes[node].dispatched.swap_remove(place);
        let token = LeaseToken { epoch: self.nodes[node].epoch, claims: task.claims };
        self.logical_time += 1;
        self.counts.count(CountGroup::Operation, name);
        let (id, number) = (task.id, self.calls.len() as u64 + 1);
        self.trace(|| format!("call {number} of n{node}: {name} {id} {report:?}"));
        // Reports of the engine have no reply.
        self.calls.push(CallRecord {
            number,
            name,
            command: Command::Report { task: id, token: Some(token), report: report.clone() },
            wait: Wait::Quiet,
            sent_at: self.logical_time,
            time: self.nodes[node].clock.engine,
            answered: None,
            answer: None,
            lost: true,
            is_overdue: false,
        });
        self.nodes[node].handle_input(Input::Report(id, token, report));
    }

    pub(super) fn report_violation(&mut self, checker: &'static str, text: String) {
        self.violations.push(Violation { checker, instance: None, text });
    }
}
