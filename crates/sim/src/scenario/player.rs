//! Plays a script on a store and records its trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::{
    Diagnostic, IncidentId, InstanceId, Message, Severity, Source, TimerId, Timestamp,
};
use meantime_kernel::command::{
    ClaimedTask, Command, Deployment, Reply, Restart, StartCommand, SuspendedTimers, Suspending,
    TimerEdit, Wait,
};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Config, Notations, Ticket};
use meantime_kernel::store::{Page, Store, TimerFilter, TimerRow};

use super::file::Scenario;
use super::notations::notations;
use super::script::{ScriptLine, instant};
use super::trace::{LEASE_EXPIRED, Tracer, describe_state};
use crate::harness::{CallStatus, SimKernel, SlowTurns, block_on};

/// The result of a play.
#[derive(Debug, Clone, Default)]
pub struct ScenarioRun {
    /// The whole trace.
    pub trace: String,
    /// The history of each instance without the times of answers: it is the same after any crash.
    pub timelines: BTreeMap<String, Vec<String>>,
    /// The number of commits.
    pub commits: u64,
}

const START_TIME: &str = "2026-01-01T00:00:00Z";

/// Plays a scenario on an empty store, with a crash after commit `crash_after` if one is given.
pub fn play(scenario: &Scenario, store: Arc<dyn Store>, crash_after: Option<u64>) -> ScenarioRun {
    play_with(scenario, store, crash_after, SlowTurns::None)
}

/// Plays a scenario in which every turn takes so long that its batch does not wait for it.
pub fn play_with_slow_turns(
    scenario: &Scenario,
    store: Arc<dyn Store>,
    crash_after: Option<u64>,
) -> ScenarioRun {
    play_with(scenario, store, crash_after, SlowTurns::All)
}

fn play_with(
    scenario: &Scenario,
    store: Arc<dyn Store>,
    crash_after: Option<u64>,
    slow_turns: SlowTurns,
) -> ScenarioRun {
    let notations = notations();
    let config = Config { limits: scenario.limits.clone(), ..Config::default() };
    let start = Timestamp::parse(START_TIME).unwrap_or_default();
    let sim = SimKernel::new(store, notations.clone(), config, start)
        .crash_after(crash_after)
        .with_commit_latency(scenario.commit_ms)
        .with_slow_turns(slow_turns);
    let mut player = Player {
        sim,
        notations,
        scenario,
        tracer: Tracer::default(),
        tasks: BTreeMap::new(),
        parked_calls: BTreeMap::new(),
        commits_seen: 0,
        crashes_seen: 0,
        play: ScenarioRun::default(),
    };
    player.play();
    player.play
}

pub(super) struct Player<'a> {
    pub(super) sim: SimKernel,
    pub(super) notations: Notations,
    pub(super) scenario: &'a Scenario,
    pub(super) tracer: Tracer,
    /// Claimed tasks by type, oldest first.
    pub(super) tasks: BTreeMap<String, Vec<ClaimedTask>>,
    /// Calls that still wait, by worker or instance, with the claim to repeat if its answer is
    /// lost.
    pub(super) parked_calls: BTreeMap<String, (Ticket, Option<Command>)>,
    commits_seen: u64,
    crashes_seen: u64,
    play: ScenarioRun,
}

impl Player<'_> {
    fn play(&mut self) {
        let deploys = self.scenario.script.iter().any(|line| line.starts_with("deploy"));
        if !deploys {
            for source in &self.scenario.sources {
                let line = ScriptLine::parse(&format!("deploy {}", source.name));
                let answer = line.map(|line| self.deploy(&line)).unwrap_or_default();
                if answer.lines().any(|line| line.starts_with("error")) {
                    self.push_trace(&answer);
                }
            }
        }
        for text in &self.scenario.script {
            let Some(line) = ScriptLine::parse(text) else { continue };
            self.push_trace(&format!("> {}", text.split(" #").next().unwrap_or_default().trim()));
            let answer = self.run_line(&line);
            for answer in answer.lines() {
                self.push_trace(&format!("  {answer}"));
            }
            self.push_parked_answers();
            self.send_heartbeats();
            self.push_new_history();
            self.run_watchdog();
        }
        self.push_trace("= end");
        let store = self.sim.store.clone();
        for (name, row) in self.tracer.instances(&*store) {
            let line = self.tracer.with_names(&describe_state(&row));
            self.push_trace(&format!("  {name} {line}"));
            self.play.timelines.entry(name).or_default().push(line);
        }
        self.play.commits = self.sim.commits();
    }

    fn push_trace(&mut self, line: &str) {
        self.play.trace.push_str(self.tracer.with_names(line).trim_end());
        self.play.trace.push('\n');
    }

    fn push_new_history(&mut self) {
        let store = self.sim.store.clone();
        for (name, line) in self.tracer.new_history(&*store) {
            let line = self.tracer.with_names(&line);
            self.push_trace(&format!("  {name} | {line}"));
            // A claim whose answer was lost in a crash adds this line, so it is compared only if
            // attempts are exact.
            if self.scenario.exact_attempts || !line.contains(LEASE_EXPIRED) {
                self.play.timelines.entry(name).or_default().push(line);
            }
        }
    }

    fn push_parked_answers(&mut self) {
        for (worker, (ticket, claim)) in std::mem::take(&mut self.parked_calls) {
            let mut status = self.sim.call_status(ticket);
            if let Some(claim) = claim.clone().filter(|_| status == CallStatus::Lost) {
                let tasks = self.leased_by(&worker);
                status = if tasks.is_empty() {
                    self.sim.call(claim, Wait::Quiet).1
                } else {
                    CallStatus::Answered(Ok(Reply::Tasks(tasks)))
                };
            }
            match status {
                CallStatus::Waiting => {
                    self.parked_calls.insert(worker, (ticket, claim));
                }
                CallStatus::Answered(Ok(Reply::Tasks(tasks))) => {
                    let text = self.remember_claimed(tasks);
                    self.push_trace(&format!("  {worker} got {text}"));
                }
                CallStatus::Answered(Ok(Reply::Started { .. })) => {
                    self.push_trace(&format!("  {worker} is idle"));
                }
                CallStatus::Lost => {}
                status @ CallStatus::Answered(_) => {
                    self.push_trace(&format!("  {worker} got {status:?}"));
                }
            }
        }
    }

    fn run_line(&mut self, line: &ScriptLine) -> String {
        if let Some(command) = self.command_of(line) {
            return self.call(command);
        }
        if self.move_time(line) {
            return String::new();
        }
        let word = |index: usize| line.words.get(index).map_or("", String::as_str);
        match word(0) {
            "deploy" => self.deploy(line),
            "start" => self.start(line),
            "together" => self.call_together(line),
            "claim" => self.claim(line),
            "complete" | "fail" => self.report_task(line),
            "user" => self.user_task(line),
            "operator" => self.operator_task(line),
            "engine" => self.engine_task(line),
            "extend" => self.extend(line),
            "move" | "fire" | "freeze" | "release" => self.edit_timers(line),
            "retry" | "resolve" => self.answer_incident(line),
            "show" => self.show(word(1)),
            "timers" => self.list_timers(),
            "tasks" => self.list_tasks(),
            "why" => match word(2) {
                "" => self.why_instance(word(1)),
                "tasks" => self.why_tasks(word(1)),
                "occurrences" => self.why_occurrences(word(1)),
                element => self.why_timer(word(1), element),
            },
            "schedule" => self.schedule(line),
            "pause" | "resume" | "trigger" | "backfill" | "change" => self.act_on_schedule(line),
            "ledger" => self.ledger(word(1)),
            "occurrences" => self.show_schedule(word(1)),
            "preview" => self.preview(word(1), word(2)),
            "forecast" => self.forecast(word(1), word(2)),
            "variables" => self.variables(word(1)),
            "scopes" => self.scopes(word(1)),
            "waiting" => self.waiting(word(1)),
            "failure" => self.failure(word(1)),
            "state" => self.state_bytes(word(1)),
            "dispatched" => self.dispatched(),
            "turns" => self.turns(word(1)),
            "counter" => self.counter(word(1)),
            "commits" => self.commits(),
            other => panic!("unknown command {other:?} in {}", self.scenario.path.display()),
        }
    }

    /// A line that is a command of the engine as it stands.
    fn command_of(&mut self, line: &ScriptLine) -> Option<Command> {
        let word = |index: usize| line.words.get(index).map_or("", String::as_str);
        Some(match word(0) {
            "undeploy" => Command::Undeploy {
                name: word(1).to_owned(),
                version: word(2).parse().unwrap_or(0),
            },
            "signal" => Command::Signal {
                instance: self.instance(word(1)),
                name: word(2).to_owned(),
                payload: line.json(3),
            },
            "submit" => Command::Submit {
                instance: self.instance(word(1)),
                step: word(2).to_owned(),
                payload: line.json(3),
                request_bindings: None,
            },
            "pause-definition" | "resume-definition" => Command::PauseDefinition {
                name: word(1).to_owned(),
                pauses: word(0) == "pause-definition",
                audit: audit(line, 2),
            },
            "suspend" | "unsuspend" => {
                let timers = match line.option("timers") {
                    Some("run") => SuspendedTimers::Run,
                    _ => SuspendedTimers::Freeze,
                };
                let suspends = word(0) == "suspend";
                let what = if suspends { Suspending::Suspend(timers) } else { Suspending::Resume };
                let (instance, audit) = (self.instance(word(1)), audit(line, 2));
                Command::Suspend { instance, what, audit }
            }
            "cancel" => Command::Cancel { instance: self.instance(word(1)), audit: audit(line, 2) },
            "set" => Command::SetVariables {
                instance: self.instance(word(1)),
                values: line.json(2),
                scope: line.option("scope").map(str::to_owned),
                audit: audit(line, 3),
            },
            "publish" => Command::Publish(Message {
                name: word(1).to_owned(),
                key: word(2).to_owned(),
                payload: line.json(3),
                ttl_ms: line.number("ttl"),
                id: line.option("id").map(str::to_owned),
            }),
            "broadcast" => Command::Broadcast { name: word(1).to_owned(), payload: line.json(2) },
            "resume-store" => Command::Resume { audit: audit(line, 1) },
            _ => return None,
        })
    }

    /// A line that moves a clock, stops the process or crashes it; returns whether it is one.
    fn move_time(&mut self, line: &ScriptLine) -> bool {
        let word = |index: usize| line.words.get(index).map_or("", String::as_str);
        let now = self.sim.now().engine;
        let to = || instant(word(1), now);
        match word(0) {
            "at" => self.sim.advance_to(to()),
            "real" => self.sim.advance_real(word(1).parse().unwrap_or(0)),
            "clock" => self.sim.set_clock(to()),
            "unnoticed" => self.sim.set_clock_silently(to()),
            "down" => self.sim.stop_until(to()),
            "restored" => {
                let marked = self.sim.store.mark_restored(to(), audit(line, 2));
                block_on(marked).expect("the store can be marked");
                self.sim.stop_until(to());
            }
            "crash" => {
                self.sim.crash();
                self.sim.run();
            }
            _ => return false,
        }
        true
    }

    fn counter(&self, name: &str) -> String {
        let counters = self.sim.counters();
        let count = match name {
            "stale_fires" => counters.stale_fires,
            "fired" => counters.fired,
            "returned" => counters.returned,
            "overloaded" => counters.overloaded,
            other => panic!("no counter {other:?}"),
        };
        count.to_string()
    }

    /// The number of commits since the last line that asked for it.
    fn commits(&mut self) -> String {
        let commits = self.sim.commits() - self.commits_seen;
        self.commits_seen = self.sim.commits();
        commits.to_string()
    }

    /// After a crash that the scenario does not speak of, the workers that have an answer to their
    /// claim are heard of: otherwise their tasks would be offered to others.
    fn send_heartbeats(&mut self) {
        let crashes = self.sim.injected_crashes();
        if crashes == std::mem::replace(&mut self.crashes_seen, crashes) {
            return;
        }
        let now = self.sim.now().real;
        for (task, until) in self.leases() {
            let left = u64::try_from(until.saturating_since(now)).unwrap_or_default();
            if left > 0 {
                let (task, token, lease_ms) = (task.id, task.token, left);
                self.call(Command::Extend { task, token, lease_ms });
            }
        }
    }

    pub(super) fn call(&mut self, command: Command) -> String {
        let (_, status) = self.sim.call(command, Wait::Quiet);
        answer(&status)
    }

    pub(super) fn instance(&mut self, name: &str) -> InstanceId {
        let store = self.sim.store.clone();
        self.tracer.instances(&*store);
        self.tracer.find(name).unwrap_or_else(|| {
            name.parse().unwrap_or_else(|_| panic!("no instance is called {name:?}"))
        })
    }

    fn deploy(&mut self, line: &ScriptLine) -> String {
        let name = line.words.get(1).map_or("main", String::as_str);
        let Some(found) = self.scenario.sources.iter().find(|it| it.name == name) else {
            return format!("no source is called {name}");
        };
        let (notation, text) = (found.notation.clone(), found.text.as_str().into());
        let source = Source { name: name.to_owned(), text, files: Vec::new() };
        let compiled = self.notations.compile(&notation, &source, &self.scenario.limits);
        let compiled = compiled.unwrap_or_default();
        let problems: Vec<String> = compiled.diagnostics.iter().map(describe_diagnostic).collect();
        if compiled.diagnostics.iter().any(|it| it.severity == Severity::Error) {
            return problems.join("\n");
        }
        let definitions = compiled.definitions.into_iter().map(Arc::new).collect();
        let answer = self.call(Command::Deploy(Deployment { notation, source, definitions }));
        let lines = problems.into_iter().chain([answer]).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }

    fn start(&mut self, line: &ScriptLine) -> String {
        let name = line.words[1].clone();
        let now = self.sim.now().engine;
        let restart = line
            .option("restart")
            .map(|of| Restart { of: self.instance(of), audit: audit(line, line.words.len()) });
        let command = Command::Start(StartCommand {
            definition: line.words.get(2).cloned().unwrap_or_default(),
            version: line.number("version").map(|it| u32::try_from(it).unwrap_or(0)),
            input: line.json(3),
            at: None,
            request_bindings: None,
            key: line.option("key").map(str::to_owned),
            deadline_at: line.option("deadline").map(|text| instant(text, now)),
            deadline_after: None,
            tags: line.option("tag").map(str::to_owned).into_iter().collect(),
            idempotency: line.option("idempotency").map(str::to_owned),
            restart,
        });
        let wait = if line.flag("idle") { Wait::Idle } else { Wait::Quiet };
        let (ticket, status) = self.sim.call(command, wait);
        if status == CallStatus::Waiting {
            self.parked_calls.insert(name.clone(), (ticket, None));
        }
        let store = self.sim.store.clone();
        let started = match &status {
            CallStatus::Answered(Ok(Reply::Started { instance, repeated: false, .. })) => {
                Some(*instance)
            }
            CallStatus::Answered(_) => None,
            CallStatus::Lost | CallStatus::Waiting => {
                let definition = line.words.get(2).map_or("", String::as_str);
                self.tracer.newest_unnamed(&*store, definition)
            }
        };
        if let Some(id) = started {
            self.tracer.set_name(id, &name);
        }
        match &status {
            CallStatus::Answered(Ok(Reply::Started { instance, repeated: true, .. })) => {
                self.tracer.set_name(*instance, &name);
                "the same instance as before".to_owned()
            }
            status => answer(status),
        }
    }

    /// Several commands at the same instant: `together a SIGNAL {} step:ID {} publish:NAME:KEY {}`.
    fn call_together(&mut self, line: &ScriptLine) -> String {
        let instance = self.instance(&line.words[1]);
        let pairs = line.words[2..].chunks(2);
        let commands = pairs.enumerate().map(|(number, pair)| {
            let (name, payload) = (pair[0].clone(), line.json(3 + 2 * number));
            match name.split(':').collect::<Vec<_>>()[..] {
                ["step", step] => Command::Submit {
                    instance,
                    step: step.to_owned(),
                    payload,
                    request_bindings: None,
                },
                ["publish", name, key] => {
                    let (name, key) = (name.to_owned(), key.to_owned());
                    Command::Publish(Message { name, key, payload, ttl_ms: None, id: None })
                }
                ["suspend"] => Command::Suspend {
                    instance,
                    what: Suspending::Suspend(SuspendedTimers::Freeze),
                    audit: audit(line, line.words.len()),
                },
                _ => Command::Signal { instance, name, payload },
            }
        });
        let statuses = self.sim.call_all(commands.collect());
        statuses.iter().map(answer).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn find_timer(&mut self, name: &str, element: &str) -> Option<TimerRow> {
        let instance = Some(self.instance(name));
        let filter = TimerFilter { instance, ..TimerFilter::default() };
        let rows = block_on(self.sim.store.timers(filter, Page::first(1_000))).ok()?;
        rows.into_iter().find(|row| row.element == element)
    }

    /// `move INSTANCE ELEMENT INSTANT who why…`; ELEMENT `*` of INSTANCE `*` means all timers.
    fn edit_timers(&mut self, line: &ScriptLine) -> String {
        let (name, element) = (line.words[1].clone(), line.words[2].clone());
        let now = self.sim.now().engine;
        let (edit, rest) = match line.words[0].as_str() {
            "move" => (TimerEdit::Move(instant(&line.words[3], now)), 4),
            "fire" => (TimerEdit::Fire, 3),
            "freeze" => (TimerEdit::Freeze, 3),
            _ => (TimerEdit::Release, 3),
        };
        let audit = audit(line, rest);
        let timers: Vec<TimerId> = if name == "*" {
            let filter = TimerFilter {
                element: Some(element).filter(|element| element != "*"),
                ..TimerFilter::default()
            };
            let rows = block_on(self.sim.store.timers(filter, Page::first(1_000)));
            rows.unwrap_or_default().into_iter().map(|row| row.id).collect()
        } else {
            match self.find_timer(&name, &element) {
                Some(row) => vec![row.id],
                None => vec![TimerId(self.instance(&name).effect(99, 0))],
            }
        };
        let commands = timers.into_iter().map(|timer| {
            let audit = audit.clone();
            Command::EditTimer { timer, edit, audit }
        });
        let statuses = self.sim.call_all(commands.collect());
        statuses.iter().map(answer).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn answer_incident(&mut self, line: &ScriptLine) -> String {
        let instance = self.instance(&line.words[1]);
        let rows = block_on(self.sim.store.incidents(Some(instance), Page::first(10)));
        let incident = rows.unwrap_or_default().first().map_or(IncidentId::new(0, 0), |it| it.id);
        let is_retry = line.words[0] == "retry";
        let audit = audit(line, if is_retry { 2 } else { 3 });
        self.call(if is_retry {
            Command::RetryIncident { incident, audit }
        } else {
            let variables = line.json(2);
            Command::ResolveIncident { incident, variables, audit }
        })
    }
}

/// Actor and reason: `audit=who` and the rest of the words.
pub(super) fn audit(line: &ScriptLine, from: usize) -> AuditInfo {
    let actor = line.option("by").unwrap_or("operator").to_owned();
    AuditInfo { actor, reason: line.words_from(from) }
}

/// A diagnostic in one line.
fn describe_diagnostic(it: &Diagnostic) -> String {
    let severity = match it.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let column = if it.start.column > 1 { format!(":{}", it.start.column) } else { String::new() };
    let help = it.help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
    format!("{severity} {} line {}{column}: {}{help}", it.code, it.start.line, it.message)
}

pub(super) fn answer(status: &CallStatus) -> String {
    match status {
        CallStatus::Lost | CallStatus::Answered(Ok(Reply::Done | Reply::Started { .. })) => {
            String::new()
        }
        CallStatus::Answered(Ok(Reply::Deployed(deployed))) => {
            let lines = deployed.iter().map(|it| {
                let new = if it.new { "new" } else { "identical" };
                format!("{} version {} {new}", it.name, it.version)
            });
            lines.collect::<Vec<_>>().join("\n")
        }
        CallStatus::Answered(Ok(Reply::Published { delivered, kept, duplicate })) => {
            let kept = if *kept { ", kept" } else { "" };
            let duplicate = if *duplicate { ", a duplicate" } else { "" };
            format!("delivered to {}{kept}{duplicate}", delivered.len())
        }
        CallStatus::Answered(Ok(Reply::Submitted { reply })) => {
            reply.as_ref().map_or_else(|| "taken".to_owned(), |it| format!("taken {it}"))
        }
        CallStatus::Answered(Ok(Reply::Extended { until })) => format!("lease until {until}"),
        CallStatus::Answered(Ok(reply)) => format!("{reply:?}"),
        CallStatus::Answered(Err(error)) => {
            let detail = match error {
                meantime_kernel::command::Error::Refused { code, problem } => {
                    format!(" {code} {problem}")
                }
                _ => String::new(),
            };
            format!("refused: {}{detail}", error.code())
        }
        CallStatus::Waiting => "waits".to_owned(),
    }
}
