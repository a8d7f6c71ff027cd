//! Runs a probe: processes events, then operations until one blocks.

use meantime_core::time::{First, Rule, Span, TimeError, Zone};
use meantime_core::{
    Answer, CatchUp, ChildOutcome, ChildSpec, Cx, Effect, EffectKey, Event, Failure, Fault, Json,
    Outcome, Overlap, ParentClose, ScheduleInput, ScheduleSpec, Status, TaskOutcome, TaskSpec,
    Termination, Timestamp, Verdict, unknown_scope,
};

use super::program::{Operation, Program, Scheduled};
use super::saved::{Handle, HandleKind, Saved};

/// One turn of a probe.
pub(super) struct Interpreter<'a> {
    program: &'a Program,
    saved: Saved,
    cx: &'a Cx<'a>,
    effects: Vec<Effect>,
    status: Status,
    ops: u64,
}

/// The handle under which compensation runs.
const COMPENSATION: &str = "compensation";

impl<'a> Interpreter<'a> {
    pub(super) fn new(program: &'a Program, saved: Saved, cx: &'a Cx<'a>) -> Self {
        Self { program, saved, cx, effects: Vec::new(), status: Status::Running, ops: 0 }
    }

    pub(super) fn finish(self) -> (Saved, Vec<Effect>, Status, u64) {
        (self.saved, self.effects, self.status, self.ops)
    }

    /// Processes one event and returns whether it was taken.
    pub(super) fn take(&mut self, event: &Event) -> Result<Verdict, Fault> {
        self.ops += 1;
        if matches!(self.status, Status::Ended(_)) {
            return Ok(Verdict::NotTaken);
        }
        let taken = match event {
            Event::Continue => true,
            Event::TaskDone { outcome: TaskOutcome::Completed(output), .. }
            | Event::ChildDone { outcome: ChildOutcome::Completed(output), .. } => {
                self.settle(event, Ok(output.as_str().to_owned()))
            }
            Event::TaskDone { outcome: TaskOutcome::Failed { failure, .. }, .. }
            | Event::ChildDone { outcome: ChildOutcome::Failed { failure, .. }, .. } => {
                self.settle(event, Err(failure.code.clone()))
            }
            Event::ChildDone { outcome: ChildOutcome::Cancelled, .. } => {
                self.settle(event, Err("Cancelled".to_owned()))
            }
            Event::TimerFired { .. } => self.settle(event, Ok("null".to_owned())),
            Event::Signal { payload, .. } | Event::Message { payload, .. } => {
                match payload.as_str() {
                    "\"poison\"" => return Err(Fault::new("poison", "a poisoned payload")),
                    "\"panic\"" => panic!("a payload that panics"),
                    text => self.settle(event, Ok(text.to_owned())),
                }
            }
            Event::EffectDone { answer, .. } => match answer {
                Answer::Conflict { code } => self.settle(event, Err(code.clone())),
                Answer::Done => {
                    self.settle(event, Ok("null".to_owned()));
                    true
                }
            },
            Event::ChildRaised { raised, .. } => self.child_raised(event, raised),
            Event::Submitted { step, payload, .. } => return Ok(self.submitted(step, payload)),
            Event::IncidentRetried { incident, key } => {
                self.saved.retried = Some(*incident);
                self.settle(event, Ok("null".to_owned())) || self.leave_incident(*key)
            }
            Event::IncidentResolved { key, variables, .. } => {
                let settled = self.settle(event, Ok(variables.as_str().to_owned()));
                let is_here = !settled && self.leave_incident(Some(*key));
                if is_here {
                    self.set_variables(variables);
                }
                settled || is_here
            }
            Event::VariablesSet { scope: Some(scope), .. } => return Ok(unknown_scope(scope)),
            Event::VariablesSet { values, scope: None } => self.set_variables(values),
            Event::Cancel { reason } => {
                let (reason, context) = (reason.clone(), self.context());
                self.conclude(Outcome::Cancelled { reason, context });
                true
            }
            // The kernel handles this event itself.
            Event::DeadlineMoved { .. } => false,
            // The kernel knows the declared outcome and ends the instance; a probe only has to run
            // its compensation, if it has one.
            Event::DeadlineReached => {
                if self.program.compensate.is_some() {
                    let (code, reason) = self.program.timeout.clone().unwrap_or_default();
                    self.fail_with(Failure::new(code, reason), Termination::Timeout);
                }
                true
            }
        };
        Ok(if taken { Verdict::taken() } else { Verdict::NotTaken })
    }

    /// Goes on behind the operation whose incident was retried or resolved; whether it is this one.
    fn leave_incident(&mut self, key: Option<EffectKey>) -> bool {
        let is_this = self.saved.incident == key;
        if is_this {
            self.saved.incident = None;
            self.saved.position += 1;
        }
        is_this
    }

    fn fail_with(&mut self, failure: Failure, termination: Termination) {
        let context = self.context();
        self.conclude(Outcome::Failed { failure, termination, context });
    }

    /// Runs operations until one blocks, the budget of the turn is used up, or the probe has ended.
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        if self.saved.closing.is_some() {
            self.finish_closing();
            return Ok(());
        }
        if self.saved.incident.is_some() || self.saved.raised {
            return Ok(());
        }
        self.status = match std::mem::replace(&mut self.status, Status::Running) {
            Status::Yield => Status::Running,
            status => status,
        };
        while matches!(self.status, Status::Running) {
            let program = self.program;
            let Some(operation) = program.operations.get(self.saved.position) else {
                self.end("null");
                break;
            };
            self.ops += 1;
            if !self.perform(operation)? {
                break;
            }
        }
        Ok(())
    }

    /// Performs one operation; false if it blocks and must be repeated.
    fn perform(&mut self, operation: &Operation) -> Result<bool, Fault> {
        match operation {
            Operation::Task(name, spec, deadline) => {
                self.start_task(name, (**spec).clone(), deadline.as_ref())?;
            }
            Operation::Timer(name, span, zone) => {
                let due_at = span.add_to(self.cx.now, zone).map_err(|error| time_fault(&error))?;
                self.start_timer(name, due_at);
            }
            Operation::TimerOf(name, variable) => {
                // A computed text that is not a duration fails the instance with the code of the
                // error (T2).
                match self.computed_instant(variable) {
                    Ok(due_at) => self.start_timer(name, due_at),
                    Err(error) => return Ok(self.failed(error.code())),
                }
            }
            Operation::Until(name, due_at) => self.start_timer(name, *due_at),
            Operation::Subscribe(name, channel) => {
                let (element, channel) = (name.clone(), channel.clone());
                let key = self.push(Effect::Subscribe { element, channel });
                self.begin(name, HandleKind::Subscription, key, Vec::new());
            }
            Operation::Step(_, id, _) if self.saved.scheduled => {
                let text = format!("a scheduled run cannot wait for step {id}");
                let failure = Failure::new("NON_INTERACTIVE", text);
                self.fail_with(failure, Termination::RuntimeError);
                return Ok(false);
            }
            Operation::Step(name, id, field) => self.wait_for_step(name, id, field),
            Operation::Child(name, spec) => {
                let key = self.push(Effect::StartChild((**spec).clone()));
                self.begin(name, HandleKind::Child, key, spec.catches.clone());
            }
            Operation::Schedule(name, scheduled) => self.schedule(name, scheduled)?,
            Operation::Await(name) => return Ok(self.await_one(name)),
            Operation::Race(names) => return Ok(self.race(names)),
            Operation::All(names) => return Ok(self.all(names)),
            Operation::Drop(name) => self.cancel(name),
            Operation::Incident(name, code) => {
                let failure = Failure::new(code.clone(), "an incident beside the run");
                let key = self.push(Effect::Incident { element: name.clone(), failure });
                self.begin(name, HandleKind::Incident, key, Vec::new());
            }
            Operation::Publish(_)
            | Operation::Broadcast(..)
            | Operation::Note(_)
            | Operation::Attribute(..) => self.push_plain_effect(operation),
            Operation::Set(name, value) => {
                self.saved.variables.insert(name.clone(), value.as_str().to_owned());
            }
            Operation::Goto(position) => {
                self.saved.position = *position;
                return Ok(true);
            }
            Operation::Repeat(times, position) => {
                if self.repeats(*times) {
                    self.saved.position = *position;
                    return Ok(true);
                }
            }
            Operation::Spin(ops) => return Ok(self.spin(*ops)),
            Operation::Fan(count, kind) => return Ok(self.fan(*count, kind, false)),
            Operation::Brood(count, definition) => return Ok(self.fan(*count, definition, true)),
            Operation::Join if self.saved.fan_open > 0 => return Ok(false),
            Operation::Join => {}
            Operation::Throw(code) => return Ok(self.throw(code)),
            Operation::Fault(code) => return Err(Fault::new(code.clone(), "as written")),
            Operation::End(value) => {
                self.end(value);
                return Ok(false);
            }
            Operation::Fail(code) => {
                self.fail(code);
                return Ok(false);
            }
        }
        self.saved.position += 1;
        Ok(true)
    }

    fn wait_for_step(&mut self, name: &str, id: &str, field: &str) {
        let words = vec![id.to_owned(), field.to_owned()];
        let handle = Handle { kind: HandleKind::Step, key: None, result: None, words };
        self.saved.handles.insert(name.to_owned(), handle);
    }

    /// An operation that is one effect, which has no answer.
    fn push_plain_effect(&mut self, operation: &Operation) {
        let effect = match operation {
            Operation::Publish(message) => Effect::PublishMessage(message.clone()),
            Operation::Broadcast(name, payload) => {
                Effect::Broadcast { name: name.clone(), payload: payload.clone() }
            }
            Operation::Note(text) => {
                let data = Json::of(text).unwrap_or_default();
                Effect::Record { kind: "note".to_owned(), data }
            }
            Operation::Attribute(name, value) => {
                let (name, value) = (name.clone(), value.clone());
                Effect::SetAttributes(vec![meantime_core::Attribute { name, value }])
            }
            _ => unreachable!("only operations that are one effect come here"),
        };
        self.push(effect);
    }

    fn start_task(
        &mut self,
        name: &str,
        mut spec: TaskSpec,
        deadline: Option<&Span>,
    ) -> Result<(), Fault> {
        let after = deadline.map(|span| span.add_to(self.cx.now, &Zone::utc()));
        spec.deadline_at = after.transpose().map_err(|error| time_fault(&error))?;
        let detached = spec.detached;
        let key = self.push(Effect::ScheduleTask(spec));
        if !detached {
            self.begin(name, HandleKind::Task, key, Vec::new());
        }
        Ok(())
    }

    /// The instant after the duration that a variable holds.
    fn computed_instant(&self, variable: &str) -> Result<Timestamp, TimeError> {
        let text = self.saved.variables.get(variable).cloned().unwrap_or_default();
        Span::parse_delay(text.trim_matches('"'))?.add_to(self.cx.now, &Zone::utc())
    }

    /// Whether the operation here jumps back once more.
    fn repeats(&mut self, times: u32) -> bool {
        let here = self.saved.position;
        let count = self.saved.repeats.entry(here).or_default();
        *count += 1;
        let again = *count < times;
        if !again {
            self.saved.repeats.remove(&here);
        }
        again
    }

    fn push(&mut self, effect: Effect) -> EffectKey {
        let key = self.cx.key_of(self.effects.len());
        self.effects.push(effect);
        key
    }

    fn begin(&mut self, name: &str, kind: HandleKind, key: EffectKey, words: Vec<String>) {
        let handle = Handle { kind, key: Some(key), result: None, words };
        self.saved.handles.insert(name.to_owned(), handle);
    }

    fn start_timer(&mut self, name: &str, due_at: Timestamp) {
        let key = self.push(Effect::StartTimer { element: name.to_owned(), due_at });
        self.begin(name, HandleKind::Timer, key, Vec::new());
    }

    /// Creates a schedule; its handle is awaited like any other.
    fn schedule(&mut self, name: &str, scheduled: &Scheduled) -> Result<(), Fault> {
        let anchor = scheduled.at.unwrap_or(self.cx.now);
        let rule = Rule::every(anchor, scheduled.every, Zone::utc(), First::AtAnchor)
            .map_err(|error| time_fault(&error))?;
        let spec = ScheduleSpec {
            definition: scheduled.definition.clone(),
            version: 1,
            start: scheduled.from.clone(),
            subject: scheduled.subject.clone(),
            label: None,
            rule,
            max_runs: scheduled.runs,
            overlap: Overlap::Skip,
            catch_up: CatchUp::Coalesce,
            input: scheduled
                .context
                .clone()
                .map_or_else(ScheduleInput::default, ScheduleInput::Context),
            anchored: scheduled.at.is_some(),
            is_binding: true,
        };
        let on_existing = scheduled.existing;
        let key = self.push(Effect::PutSchedule { spec: Box::new(spec), on_existing });
        self.begin(name, HandleKind::Task, key, Vec::new());
        Ok(())
    }

    /// Gives an event's result to the handle that waits for it.
    fn settle(&mut self, event: &Event, result: Result<String, String>) -> bool {
        let key = event.key();
        let waits = |handle: &&mut Handle| handle.key == key && handle.result.is_none();
        if let Some(handle) = self.saved.handles.values_mut().find(waits) {
            handle.result = Some(result);
            return true;
        }
        let counted = match event {
            Event::TaskDone { .. } | Event::ChildDone { .. } => true,
            // A child of a `brood` could not be started.
            Event::EffectDone { answer: Answer::Conflict { code }, .. } => {
                !code.starts_with(meantime_core::SCHEDULE_CONFLICT)
            }
            _ => false,
        };
        if counted && self.saved.fan_open > 0 {
            self.saved.fan_open -= 1;
            return true;
        }
        false
    }

    fn child_raised(&mut self, event: &Event, raised: &Failure) -> bool {
        let key = event.key();
        let Some(handle) = self.saved.handles.values_mut().find(|it| it.key == key) else {
            return false;
        };
        if handle.words.contains(&raised.code) {
            handle.result = Some(Ok(format!("\"raised {}\"", raised.code)));
            let cancelled = handle.key;
            handle.key = None;
            if let Some(key) = cancelled {
                self.push(Effect::CancelChild { key });
            }
        } else {
            self.push(Effect::NotifyParent { raised: raised.clone() });
        }
        true
    }

    fn submitted(&mut self, step: &str, payload: &Json) -> Verdict {
        let active = |handle: &&mut Handle| {
            handle.kind == HandleKind::Step
                && handle.result.is_none()
                && handle.words.first().is_some_and(|id| id == step)
        };
        let Some(handle) = self.saved.handles.values_mut().find(active) else {
            let problem = Json::of(&format!("step {step} is not active")).unwrap_or_default();
            return Verdict::Refused { code: "step_not_active".to_owned(), problem };
        };
        let field = handle.words.get(1).cloned().unwrap_or_default();
        if !payload.as_str().contains(&format!("\"{field}\"")) {
            let problem = Json::of(&format!("{field} is missing")).unwrap_or_default();
            return Verdict::Refused { code: "schema".to_owned(), problem };
        }
        handle.result = Some(Ok(payload.as_str().to_owned()));
        let reply = Json::parse(&format!("{{\"echo\":{payload}}}")).ok();
        Verdict::Taken { reply }
    }

    fn set_variables(&mut self, values: &Json) -> bool {
        let parsed: Result<std::collections::BTreeMap<String, serde_json::Value>, _> =
            values.read();
        let Ok(parsed) = parsed else { return false };
        for (name, value) in parsed {
            self.saved.variables.insert(name, value.to_string());
        }
        true
    }

    /// Stores the result of a handle in a variable; a failure goes to `catch` or ends the probe.
    fn await_one(&mut self, name: &str) -> bool {
        let Some(handle) = self.saved.handles.get(name) else {
            self.saved.position += 1;
            return true;
        };
        let Some(result) = handle.result.clone() else { return false };
        self.saved.handles.remove(name);
        self.saved.position += 1;
        match result {
            Ok(value) => {
                self.saved.variables.insert(name.to_owned(), value);
                true
            }
            Err(code) => self.failed(&code),
        }
    }

    fn failed(&mut self, code: &str) -> bool {
        self.saved.variables.insert("error".to_owned(), format!("{code:?}"));
        if let Some(position) = self.program.catch {
            self.saved.position = position;
            return true;
        }
        self.fail(code);
        false
    }

    fn race(&mut self, names: &[String]) -> bool {
        let done = |name: &&String| {
            self.saved.handles.get(*name).is_some_and(|handle| handle.result.is_some())
        };
        let Some(winner) = names.iter().find(done).cloned() else { return false };
        self.saved.variables.insert("winner".to_owned(), format!("{winner:?}"));
        names.iter().filter(|name| **name != winner).for_each(|name| self.cancel(name));
        self.await_one(&winner)
    }

    fn all(&mut self, names: &[String]) -> bool {
        let pending = |name: &String| {
            self.saved.handles.get(name).is_some_and(|handle| handle.result.is_none())
        };
        if names.iter().any(pending) {
            return false;
        }
        let position = self.saved.position;
        for name in names {
            self.saved.position = position;
            if !self.await_one(name) {
                return false;
            }
        }
        true
    }

    fn cancel(&mut self, name: &str) {
        let Some(handle) = self.saved.handles.remove(name) else { return };
        let Some(key) = handle.key.filter(|_| handle.result.is_none()) else { return };
        self.push(match handle.kind {
            HandleKind::Task => Effect::CancelTask { key },
            HandleKind::Timer => Effect::CancelTimer { key },
            HandleKind::Subscription => Effect::Unsubscribe { key },
            HandleKind::Incident => Effect::CancelIncident { key },
            HandleKind::Child | HandleKind::Step => Effect::CancelChild { key },
        });
    }

    /// Uses up operations, at most a budget per turn.
    fn spin(&mut self, ops: u64) -> bool {
        if self.saved.spin_left == 0 {
            self.saved.spin_left = ops;
        }
        let room = self.cx.limits.ops_per_slice.saturating_sub(self.ops);
        let used = self.saved.spin_left.min(room);
        self.ops += used;
        self.saved.spin_left -= used;
        if self.saved.spin_left > 0 {
            self.status = Status::Yield;
            return false;
        }
        self.saved.position += 1;
        true
    }

    /// Begins many tasks or children, as many per turn as the limit allows.
    fn fan(&mut self, count: u32, name: &str, children: bool) -> bool {
        if self.saved.fan_left == 0 {
            self.saved.fan_left = count;
        }
        while self.saved.fan_left > 0 {
            if self.effects.len() >= self.cx.limits.effects_per_turn {
                self.status = Status::Yield;
                return false;
            }
            self.push(if children {
                Effect::StartChild(ChildSpec::new(name, "brood", Json::null()))
            } else {
                Effect::ScheduleTask(TaskSpec::worker(name, "fan", Json::null()))
            });
            self.saved.fan_left -= 1;
            self.saved.fan_open += 1;
        }
        self.saved.position += 1;
        true
    }

    /// Raises an error: to the parent if an ancestor catches it, otherwise as an incident here.
    fn throw(&mut self, code: &str) -> bool {
        let failure = Failure::new(code, "thrown by the definition");
        if self.cx.is_caught(code) {
            self.push(Effect::NotifyParent { raised: failure });
            self.saved.raised = true;
        } else {
            let key = self.push(Effect::Incident { element: "throw".to_owned(), failure });
            self.saved.incident = Some(key);
        }
        false
    }

    fn end(&mut self, value: &str) {
        let text = value.strip_prefix('$').map_or_else(
            || value.to_owned(),
            |name| self.saved.variables.get(name).cloned().unwrap_or_else(|| "null".to_owned()),
        );
        let output = Json::parse(&text).unwrap_or_default();
        let context = self.context();
        self.status = Status::Ended(Outcome::Completed { output, context });
    }

    fn fail(&mut self, code: &str) {
        let failure = Failure::new(code, "failed by the definition");
        let (termination, context) = (Termination::Fail, self.context());
        self.conclude(Outcome::Failed { failure, termination, context });
    }

    /// Ends, or runs the compensation first and ends when it has ended.
    fn conclude(&mut self, outcome: Outcome) {
        self.status = match self.program.compensate.clone() {
            None => Status::Ended(outcome),
            Some(definition) => {
                let key = self.push(Effect::StartChild(ChildSpec {
                    parent_close: ParentClose::Abandon,
                    own_budget: true,
                    ..ChildSpec::new(definition, COMPENSATION, Json::null())
                }));
                self.begin(COMPENSATION, HandleKind::Child, key, Vec::new());
                self.saved.closing = Some(outcome.clone());
                Status::Closing(outcome)
            }
        };
    }

    fn finish_closing(&mut self) {
        let ended = self.saved.handles.get(COMPENSATION).is_none_or(|it| it.result.is_some());
        if let Some(outcome) = self.saved.closing.clone() {
            self.status = if ended { Status::Ended(outcome) } else { Status::Closing(outcome) };
        }
    }

    fn context(&self) -> Json {
        let entries: Vec<String> =
            self.saved.variables.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
        Json::parse(&format!("{{{}}}", entries.join(","))).unwrap_or_default()
    }
}

fn time_fault(error: &meantime_core::time::TimeError) -> Fault {
    Fault::new(error.code(), error.to_string())
}
