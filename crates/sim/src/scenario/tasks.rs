//! Script lines of workers, people and the engine.

use meantime_core::{Failure, Json, TaskId, TaskKind, Thrown, Timestamp};
use meantime_kernel::command::{
    ClaimCommand, ClaimedTask, Command, LeaseToken, Reply, Report, Wait,
};
use meantime_kernel::store::{Page, TaskFilter, TaskState};

use super::player::{Player, answer};
use super::script::ScriptLine;
use crate::harness::{CallStatus, block_on};

impl Player<'_> {
    pub(super) fn claim(&mut self, line: &ScriptLine) -> String {
        let worker = line.words[1].clone();
        let types = line.words.get(2).cloned().into_iter().collect();
        let command = claim_command(line, &worker, types, line.number("wait").unwrap_or(0));
        let (ticket, status) = self.sim.call(Command::Claim(command.clone()), Wait::Quiet);
        match self.without_loss(status, &command) {
            CallStatus::Answered(Ok(Reply::Tasks(tasks))) => self.remember_claimed(tasks),
            CallStatus::Waiting => {
                self.parked_calls.insert(worker, (ticket, Some(Command::Claim(command))));
                "waits".to_owned()
            }
            status => answer(&status),
        }
    }

    /// The status of a claim, which is repeated if its answer was lost.
    fn without_loss(&mut self, mut status: CallStatus, claim: &ClaimCommand) -> CallStatus {
        while status == CallStatus::Lost {
            status = if self.scenario.exact_attempts {
                let tasks = self.leased_by(&claim.worker);
                CallStatus::Answered(Ok(Reply::Tasks(tasks)))
            } else {
                // The lease must expire before the worker can claim again.
                self.sim.advance_real(i64::try_from(claim.lease_ms).unwrap_or(0) + 1);
                self.sim.call(Command::Claim(claim.clone()), Wait::Quiet).1
            };
        }
        status
    }

    pub(super) fn leased_by(&self, worker: &str) -> Vec<ClaimedTask> {
        let filter = TaskFilter { state: Some(TaskState::Leased), ..TaskFilter::default() };
        let rows = block_on(self.sim.store.tasks(filter, Page::first(1_000))).unwrap_or_default();
        let known: Vec<(TaskId, u32)> =
            self.tasks.values().flatten().map(|task| (task.id, task.token.claims)).collect();
        let mut rows = rows;
        rows.sort_by_key(|row| (-row.spec.priority, row.id));
        let rows = rows.into_iter().filter(|row| !known.contains(&(row.id, row.claims)));
        let rows = rows.filter_map(|row| {
            let lease = row.lease.filter(|lease| lease.worker == worker)?;
            Some(ClaimedTask {
                id: row.id,
                name: row.spec.name,
                input: row.spec.input,
                headers: None,
                attempt: row.attempt,
                token: LeaseToken { epoch: 0, claims: row.claims },
                lease_until: lease.until,
                deadline_at: row.deadline_at,
            })
        });
        rows.collect()
    }

    /// The leases of the tasks that were claimed and not completed, each with its end.
    pub(super) fn leases(&self) -> Vec<(ClaimedTask, Timestamp)> {
        let filter = TaskFilter { state: Some(TaskState::Leased), ..TaskFilter::default() };
        let rows = block_on(self.sim.store.tasks(filter, Page::first(1_000))).unwrap_or_default();
        let leases = self.tasks.values().flatten().filter_map(|task| {
            let row = rows.iter().find(|it| (it.id, it.claims) == (task.id, task.token.claims))?;
            Some((task.clone(), row.lease.as_ref()?.until))
        });
        leases.collect()
    }

    pub(super) fn remember_claimed(&mut self, tasks: Vec<ClaimedTask>) -> String {
        if tasks.is_empty() {
            return "nothing".to_owned();
        }
        let mut lines = Vec::new();
        for task in tasks {
            let deadline =
                task.deadline_at.map_or_else(String::new, |at| format!(" deadline {at}"));
            let input =
                if task.input.is_null() { String::new() } else { format!(" {}", task.input) };
            let key = self.tracer.key(task.id.0);
            let headers =
                task.headers.as_ref().map_or_else(String::new, |it| format!(" headers {it}"));
            lines.push(format!("{} {key}{input}{headers}{deadline}", task.name));
            self.tasks.entry(task.name.clone()).or_default().push(task);
        }
        lines.join("\n")
    }

    /// `complete TYPE JSON`, `fail TYPE CODE [final] [after=MS] [thrown=CODE [variables=JSON]]`;
    /// `stale` keeps the task for another report, `claim=WORKER` claims in the same request.
    pub(super) fn report_task(&mut self, line: &ScriptLine) -> String {
        let kind = line.words[1].clone();
        let tasks = self.tasks.get_mut(&kind).filter(|tasks| !tasks.is_empty());
        let Some(tasks) = tasks else { return format!("no {kind} is claimed") };
        let task = if line.flag("stale") { tasks[0].clone() } else { tasks.remove(0) };
        let report = if line.words[0] == "complete" {
            Report::Completed(line.json(2))
        } else {
            let code = line.words.get(2).cloned().unwrap_or_else(|| "FAILED".to_owned());
            Report::Failed {
                failure: Failure::new(code, "reported by the worker"),
                retryable: !line.flag("final"),
                retry_after_ms: line.number("after"),
                thrown: line.option("thrown").map(|code| Thrown {
                    code: code.to_owned(),
                    variables: line.option("variables").and_then(|it| Json::parse(it).ok()),
                }),
            }
        };
        let report = Command::Report { task: task.id, token: Some(task.token), report };
        match line.option("claim").map(str::to_owned) {
            Some(worker) => self.report_and_claim(report, &claim_command(line, &worker, vec![], 0)),
            None => self.call(report),
        }
    }

    fn report_and_claim(&mut self, report: Command, claim: &ClaimCommand) -> String {
        let mut statuses = self.sim.call_all(vec![report, Command::Claim(claim.clone())]);
        let claimed = statuses.pop().expect("each command has a status");
        let mut lines: Vec<String> = statuses.iter().map(answer).collect();
        lines.push(match self.without_loss(claimed, claim) {
            CallStatus::Answered(Ok(Reply::Tasks(tasks))) => self.remember_claimed(tasks),
            status => answer(&status),
        });
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    pub(super) fn user_task(&mut self, line: &ScriptLine) -> String {
        let filter = TaskFilter { kind: Some(TaskKind::User), ..TaskFilter::default() };
        let rows = block_on(self.sim.store.tasks(filter, Page::first(1_000))).unwrap_or_default();
        let row = rows.into_iter().find(|row| row.spec.name == line.words[2]);
        let Some(row) = row else { return "no such user task".to_owned() };
        if line.words[1] == "assign" {
            let assignee = line.words.get(3).cloned();
            self.call(Command::Assign { task: row.id, assignee })
        } else {
            let report = Report::Completed(line.json(3));
            self.call(Command::Report { task: row.id, token: None, report })
        }
    }

    /// `operator complete TYPE [JSON]`, `operator fail TYPE CODE [final]`: an operator reports on
    /// the first open task of a type, without a lease.
    pub(super) fn operator_task(&mut self, line: &ScriptLine) -> String {
        let rows = block_on(self.sim.store.tasks(TaskFilter::default(), Page::first(1_000)));
        let mut rows = rows.unwrap_or_default().into_iter();
        let row = rows.find(|row| row.spec.name == line.words[2]);
        let Some(row) = row else { return "no such task".to_owned() };
        let (report, rest) = if line.words[1] == "complete" {
            (Report::Completed(line.json(3)), 4)
        } else {
            let failure = Failure::new(line.words[3].clone(), "failed by an operator");
            let (retryable, retry_after_ms, thrown) = (!line.flag("final"), None, None);
            (Report::Failed { failure, retryable, retry_after_ms, thrown }, 4)
        };
        let audit = super::player::audit(line, rest);
        self.call(Command::ReportByOperator { task: row.id, report, audit })
    }

    /// `engine TYPE JSON` or `engine TYPE fail CODE`: a report on an engine task.
    pub(super) fn engine_task(&mut self, line: &ScriptLine) -> String {
        let kind = &line.words[1];
        let place = self.sim.dispatched.iter().position(|task| task.spec.name == *kind);
        let Some(place) = place else { return format!("no {kind} was dispatched") };
        let task = self.sim.dispatched.remove(place);
        let report = match line.words.get(2).map(String::as_str) {
            Some("fail") => Report::Failed {
                failure: Failure::new(line.words_from(3), "reported by the engine"),
                retryable: !line.flag("final"),
                retry_after_ms: None,
                thrown: None,
            },
            _ => Report::Completed(line.json(2)),
        };
        let token = Some(LeaseToken { epoch: 0, claims: task.claims });
        self.call(Command::Report { task: task.id, token, report })
    }

    pub(super) fn extend(&mut self, line: &ScriptLine) -> String {
        let task = self.tasks.get(&line.words[1]).and_then(|tasks| tasks.first().cloned());
        let Some(task) = task else { return "not claimed".to_owned() };
        let lease_ms = line.words[2].parse().unwrap_or(0);
        self.call(Command::Extend { task: task.id, token: task.token, lease_ms })
    }
}

fn claim_command(
    line: &ScriptLine,
    worker: &str,
    types: Vec<String>,
    wait_ms: u64,
) -> ClaimCommand {
    ClaimCommand {
        worker: worker.to_owned(),
        types,
        queues: line.option("queue").map(str::to_owned).into_iter().collect(),
        max: usize::try_from(line.number("max").unwrap_or(1)).unwrap_or(1),
        lease_ms: line.number("lease").unwrap_or(60_000),
        wait_ms,
    }
}
