//! Drives the notation without a kernel, and checks the effects that it requests.

use std::collections::BTreeMap;

use meantime_bpmn::Bpmn;
use meantime_core::{
    Cx, Definition, Effect, EffectKey, Event, Fault, InstanceId, Json, Limits, Notation, Outcome,
    Source, Start, StartCause, State, Status, TaskOutcome, Timestamp, Turn, Verdict,
};

/// An instance between turns.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) definition: Definition,
    pub(crate) limits: Limits,
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    pub(crate) turn_no: u64,
    pub(crate) open: BTreeMap<EffectKey, Open>,
    pub(crate) incidents: Vec<String>,
    pub(crate) outcome: Option<Outcome>,
    /// How often each node was entered and not left, by the records of the turns.
    pub(crate) inside: BTreeMap<String, i64>,
    /// All states, to compare runs.
    pub(crate) states: Vec<State>,
}

/// An open effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Open {
    Task,
    Timer(Timestamp),
    Wait,
    Child,
}

impl Driver {
    /// Compiles a text and starts its first process.
    pub(crate) fn start(text: &str, input: &str, limits: Limits) -> Self {
        let mut driver = Self::new(text, limits);
        let start = Start::new(StartCause::Api, Json::parse(input).expect("JSON"));
        let turn = driver.turn(|definition, cx| Bpmn.start(definition, &start, cx));
        driver.apply(turn);
        driver
    }

    /// Compiles a text without starting it.
    pub(crate) fn new(text: &str, limits: Limits) -> Self {
        let source = Source { name: "test".to_owned(), text: text.into(), files: Vec::new() };
        let compiled = Bpmn.compile(&source, &limits);
        let definition = compiled.definitions.into_iter().next();
        Self {
            definition: definition.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics)),
            limits,
            state: State::default(),
            now: Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant"),
            turn_no: 0,
            open: BTreeMap::new(),
            incidents: Vec::new(),
            outcome: None,
            inside: BTreeMap::new(),
            states: Vec::new(),
        }
    }

    /// Processes events in one turn, and all turns that follow by yielding.
    pub(crate) fn advance(&mut self, events: &[Event]) -> Vec<Verdict> {
        let state = self.state.clone();
        let turn = self.turn(|definition, cx| Bpmn.advance(definition, &state, events, cx));
        let verdicts = turn.verdicts.clone();
        assert_eq!(verdicts.len(), events.len(), "one verdict for each event");
        self.apply(turn);
        verdicts
    }

    /// Finishes the open effect of a key; for a timer, time passes.
    pub(crate) fn finish(&mut self, key: EffectKey) -> Verdict {
        let event = match self.open.remove(&key) {
            Some(Open::Task) => {
                Event::TaskDone { key, outcome: TaskOutcome::Completed(Json::null()) }
            }
            Some(Open::Timer(due_at)) => {
                self.now = self.now.max(due_at);
                Event::TimerFired { key, due_at }
            }
            Some(Open::Wait) => {
                let (name, payload) = ("m".to_owned(), Json::null());
                Event::Message { key, name, payload }
            }
            Some(Open::Child) | None => panic!("{key} is not open"),
        };
        self.advance(&[event]).remove(0)
    }

    fn turn(&mut self, run: impl FnOnce(&Definition, &Cx<'_>) -> Result<Turn, Fault>) -> Turn {
        self.turn_no += 1;
        let cx = Cx {
            now: self.now,
            turn_no: self.turn_no,
            instance: InstanceId::new(1, 1),
            version: 1,
            started_at: self.now,
            deadline: None,
            key: Some("key"),
            catches: &[],
            limits: &self.limits,
        };
        run(&self.definition, &cx).unwrap_or_else(|fault| panic!("{fault:?}"))
    }

    /// Performs the effects of a turn, and continues as long as it yields.
    fn apply(&mut self, mut turn: Turn) {
        loop {
            assert!(turn.effects.len() <= self.limits.effects_per_turn, "too many effects");
            for (ordinal, effect) in turn.effects.iter().enumerate() {
                let ordinal = u32::try_from(ordinal).expect("few effects");
                let key = InstanceId::new(1, 1).effect(self.turn_no, ordinal);
                self.perform(key, effect);
            }
            self.state = turn.state;
            self.states.push(self.state.clone());
            match turn.status {
                Status::Running => return,
                Status::Closing(_) => panic!("a process never closes"),
                Status::Ended(outcome) => {
                    // The kernel cancels what is still armed, such as event sub-processes.
                    assert!(!self.open.values().any(|open| *open == Open::Task), "a task is left");
                    self.outcome = Some(outcome);
                    return;
                }
                Status::Yield => {}
            }
            let (state, events) = (self.state.clone(), [Event::Continue]);
            turn = self.turn(|definition, cx| Bpmn.advance(definition, &state, &events, cx));
        }
    }

    fn perform(&mut self, key: EffectKey, effect: &Effect) {
        let opened = match effect {
            Effect::ScheduleTask(_) => Some(Open::Task),
            Effect::StartTimer { due_at, .. } => Some(Open::Timer(*due_at)),
            Effect::Subscribe { .. } => Some(Open::Wait),
            Effect::StartChild(_) => Some(Open::Child),
            _ => None,
        };
        if let Some(opened) = opened {
            self.open.insert(key, opened);
        }
        let closed = match effect {
            Effect::CancelTask { key } => Some((key, "task")),
            Effect::CancelTimer { key } => Some((key, "timer")),
            Effect::Unsubscribe { key } => Some((key, "wait")),
            _ => None,
        };
        if let Some((key, what)) = closed {
            assert!(self.open.remove(key).is_some(), "a {what} that is not open is cancelled");
        }
        if let Effect::Record { kind, data } = effect
            && kind == "path"
        {
            let path: Vec<String> = data.read().expect("a list of nodes");
            for mark in &path {
                self.count(mark);
            }
        }
        if let Effect::Incident { element, failure } = effect {
            self.incidents.push(format!("{element}: {}: {}", failure.code, failure.message));
        }
    }

    /// A node was entered (`+`), left (`-`), cancelled (`!`), or only passed.
    fn count(&mut self, mark: &str) {
        let change = match mark.get(..1) {
            Some("+") => 1,
            Some("-" | "!") => -1,
            _ => return,
        };
        *self.inside.entry(mark[1..].to_owned()).or_default() += change;
    }
}
