//! A host that starts every effect and records it.

use std::sync::Arc;

use meantime_core::{EffectKey, Fault, InstanceId, Json, Limits, Timestamp};
use meantime_script::{
    EffectKind, EffectRequest, EffectStartError, Host, Machine, Operation, Program, Settlement,
    StartedEffect, StopReason, compile_script,
};

/// A host for tests.
pub(crate) struct Recorder {
    pub(crate) turn: u64,
    pub(crate) lines: Vec<String>,
    pub(crate) room: usize,
    ordinal: u32,
    random: u64,
}

impl Recorder {
    pub(crate) fn new(turn: u64) -> Self {
        Self { turn, lines: Vec::new(), room: 10_000, ordinal: 0, random: turn }
    }

    fn next_key(&mut self) -> EffectKey {
        self.ordinal += 1;
        self.instance().effect(self.turn, self.ordinal - 1)
    }
}

impl Host for Recorder {
    fn now(&self) -> Timestamp {
        Timestamp::parse("2026-01-31T12:00:00Z").expect("as the test says")
    }

    fn instance(&self) -> InstanceId {
        InstanceId::new(1, 2)
    }

    fn key(&self) -> Option<&str> {
        Some("order-7")
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        self.random
    }

    fn has_room(&self, effects: usize) -> bool {
        self.ordinal as usize + effects <= self.room
    }

    fn start(&mut self, request: &EffectRequest) -> Result<StartedEffect, EffectStartError> {
        let args: Vec<&str> =
            request.args.iter().map(|arg| arg.as_ref().map_or("-", Json::as_str)).collect();
        let (what, name) = match request.operation {
            Operation::Task => (EffectKind::Task, args[0]),
            Operation::Delay | Operation::Until => (EffectKind::Timer, args[0]),
            Operation::Signal => (EffectKind::Signal, args[0]),
            Operation::Child => (EffectKind::Child, args[0]),
            Operation::Http => (EffectKind::Http, "http"),
        };
        let name = name.trim_matches('"').to_owned();
        if name == "refuse" {
            return Err(EffectStartError::type_error("refused by the host"));
        }
        self.lines.push(format!("{:?} {}", request.operation, args.join(" ")));
        Ok(StartedEffect { what, key: self.next_key(), timer: None, name })
    }

    fn cancel(&mut self, what: EffectKind, key: EffectKey) {
        self.ordinal += 1;
        self.lines.push(format!("cancel {what:?} {}.{}", key.turn_no, key.ordinal));
    }

    fn log(&mut self, level: &'static str, message: Json, data: Option<Json>) {
        self.ordinal += 1;
        self.lines.push(format!("log {level} {message} {}", data.unwrap_or_default()));
    }
}

/// Compiles a script that must be valid.
pub(crate) fn program(text: &str) -> Program {
    let compiled = compile_script(&Arc::from(text), "test.flow.js");
    match compiled.program {
        Some(program) => program,
        None => panic!("{:#?}", compiled.diagnostics),
    }
}

/// Runs a script that never waits to its end; returns its result or its error.
pub(crate) fn eval(text: &str) -> String {
    eval_with(text, "{}", &Limits::default())
}

/// Like [`eval`], with an input and limits; a script that yields is saved and loaded.
pub(crate) fn eval_with(text: &str, input: &str, limits: &Limits) -> String {
    let program = program(text);
    let mut host = Recorder::new(1);
    let input = Json::parse(input).expect("as the test says");
    let mut saved: Option<Vec<u8>> = None;
    for _ in 0..100_000 {
        let machine = match &saved {
            None => Machine::start(&program, 0, &input, &mut host, limits),
            Some(bytes) => Machine::load(&program, bytes, &mut host, limits),
        };
        let mut machine = match machine {
            Ok(machine) => machine,
            Err(fault) => return fault_text(&fault),
        };
        match machine.run() {
            Ok(StopReason::Finished) => {
                return match machine.result() {
                    Ok(Ok(json)) => json.to_string(),
                    Ok(Err(failure)) => failure.message,
                    Err(fault) => fault_text(&fault),
                };
            }
            Ok(StopReason::Uncaught { .. }) => return format!("threw {}", machine.error().1),
            Ok(StopReason::Waiting) => return "waits".to_owned(),
            Ok(StopReason::Yield) => saved = Some(machine.save().expect("as the test says")),
            Err(fault) => return fault_text(&fault),
        }
    }
    "does not end".to_owned()
}

fn fault_text(fault: &Fault) -> String {
    format!("fault {}: {}", fault.code, fault.message)
}

/// A script whose effects end one by one; it is saved and loaded in between.
pub(crate) struct Story {
    program: Program,
    limits: Limits,
    state: Vec<u8>,
    turn: u64,
    /// What happened, one line each.
    pub(crate) lines: Vec<String>,
}

impl Story {
    pub(crate) fn start(text: &str, input: &str) -> Self {
        let program = program(text);
        let (limits, lines) = (Limits::default(), Vec::new());
        let mut story = Self { program, limits, state: Vec::new(), turn: 1, lines };
        let input = Json::parse(input).expect("as the test says");
        let mut host = Recorder::new(1);
        let mut machine = Machine::start(&story.program, 0, &input, &mut host, &story.limits)
            .expect("as the test says");
        let (line, state) = play(&mut machine);
        drop(machine);
        story.lines.extend(host.lines);
        story.lines.push(line);
        story.state = state;
        story
    }

    /// Completes the effect with this turn and ordinal.
    pub(crate) fn done(&mut self, turn: u64, ordinal: u32, json: &str) {
        self.take(turn, ordinal, Settlement::Done(Json::parse(json).expect("as the test says")));
    }

    /// Lets an effect fail.
    pub(crate) fn failed(&mut self, turn: u64, ordinal: u32, code: &str) {
        let (name, code) = ("TaskError", code.to_owned());
        let message = "failed".to_owned();
        self.take(turn, ordinal, Settlement::Failed { name, code, message, data: None });
    }

    fn take(&mut self, turn: u64, ordinal: u32, with: Settlement) {
        self.turn += 1;
        let mut host = Recorder::new(self.turn);
        let key = host.instance().effect(turn, ordinal);
        let mut machine = Machine::load(&self.program, &self.state, &mut host, &self.limits)
            .expect("as the test says");
        let taken = machine.settle_effect(key, with).expect("as the test says");
        let (line, state) = play(&mut machine);
        drop(machine);
        self.lines.push(format!("{} {turn}.{ordinal}", if taken { "took" } else { "ignored" }));
        self.lines.extend(host.lines);
        self.lines.push(line);
        self.state = state;
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.state.len()
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }
}

fn play(machine: &mut Machine<'_>) -> (String, Vec<u8>) {
    match machine.run().expect("as the test says") {
        StopReason::Finished => (
            format!(
                "returned {}",
                machine.result().expect("as the test says").expect("as the test says")
            ),
            Vec::new(),
        ),
        StopReason::Uncaught { trace } => {
            (format!("threw {} {trace}", machine.error().0), Vec::new())
        }
        StopReason::Waiting => {
            let state = machine.save().expect("as the test says");
            ("waits".to_owned(), state)
        }
        StopReason::Yield => {
            let state = machine.save().expect("as the test says");
            ("yields".to_owned(), state)
        }
    }
}
