//! Promises, async functions and generators continue in the same order as in Node, also if the
//! script is saved and loaded wherever it can be.
//!
//! `cargo xtask vectors flow` generates the programs and runs them in Node.

use std::sync::Arc;

use meantime_core::{EffectKey, InstanceId, Json, Limits, Timestamp};
use meantime_script::{
    EffectKind, EffectRequest, EffectStartError, Host, Machine, Program, Settlement, StartedEffect,
    StopReason, compile_script,
};

/// One program per line: its text and its output, both as JSON strings.
const PROGRAMS: &str = include_str!("node/programs.txt");

/// Writes a value as text, in Node and here.
const SHOW: &str = include_str!("node/show.js");

/// A clock, timers and an output.
#[derive(Default)]
struct Recorder {
    now: u64,
    turn: u64,
    ordinal: u32,
    /// Due time, and key in the order of creation.
    timers: Vec<(u64, EffectKey)>,
    output: Vec<String>,
}

impl Host for Recorder {
    fn now(&self) -> Timestamp {
        Timestamp::default()
    }

    fn instance(&self) -> InstanceId {
        InstanceId::new(3, 4)
    }

    fn key(&self) -> Option<&str> {
        None
    }

    fn random(&mut self) -> u64 {
        7
    }

    fn has_room(&self, _: usize) -> bool {
        true
    }

    fn start(&mut self, request: &EffectRequest) -> Result<StartedEffect, EffectStartError> {
        let seconds = request.args.first().cloned().flatten().and_then(|it| it.read::<u64>().ok());
        let key = self.instance().effect(self.turn, self.ordinal);
        self.ordinal += 1;
        self.timers.push((self.now + seconds.expect("a number of seconds"), key));
        Ok(StartedEffect { what: EffectKind::Timer, key, timer: None, name: "t".to_owned() })
    }

    fn cancel(&mut self, _: EffectKind, key: EffectKey) {
        self.timers.retain(|(_, known)| *known != key);
    }

    fn log(&mut self, _: &'static str, message: Json, _: Option<Json>) {
        self.output.push(message.read().expect("a text"));
    }
}

fn compiled(text: &str) -> Result<Program, String> {
    let head = "const log = (...values) => { console.log(values.map(show).join(\" \")) }; \
                const sleep = seconds => Timer.delay(seconds).then(() => undefined);";
    let text = format!("{}; {head} {text}", SHOW.trim_end());
    let compiled = compile_script(&Arc::from(text.as_str()), "p.flow.js");
    compiled.program.ok_or_else(|| format!("{:?}", compiled.diagnostics))
}

/// Runs a program to its end. It is saved and loaded after so many operations.
fn output(program: &Program, slice: u64) -> Vec<String> {
    let limits = Limits { ops_per_slice: slice, ..Limits::default() };
    let mut host = Recorder::default();
    let mut state: Option<Vec<u8>> = None;
    let mut fired = None;
    for turn in 1..20_000 {
        (host.turn, host.ordinal) = (turn, 0);
        let machine = match &state {
            None => Machine::start(program, 0, &Json::null(), &mut host, &limits),
            Some(bytes) => Machine::load(program, bytes, &mut host, &limits),
        };
        let mut machine = machine.expect("what was saved can be loaded");
        if let Some(key) = fired.take() {
            machine.settle_effect(key, Settlement::Done(Json::null())).expect("an event is taken");
        }
        let mut stop = machine.run().expect("no fault");
        if matches!(stop, StopReason::Waiting) && machine.is_stuck() {
            machine.fail_stuck();
            stop = machine.run().expect("no fault");
        }
        match stop {
            StopReason::Finished => return host.output,
            StopReason::Uncaught { .. } => {
                let text = |part: Option<Json>| part.and_then(|it| it.read::<String>().ok());
                let line =
                    match (text(machine.error_part("name")), text(machine.error_part("code"))) {
                        (_, Some(code)) if code == "never_settles" => "! never".to_owned(),
                        (Some(name), _) => format!("! {name}"),
                        _ => match machine.error().0.to_string() {
                            object if object.starts_with(['{', '[']) => "! object".to_owned(),
                            value => format!("! {value}"),
                        },
                    };
                host.output.push(line);
                return host.output;
            }
            StopReason::Waiting | StopReason::Yield => {
                let waits = matches!(stop, StopReason::Waiting);
                state = Some(machine.save().expect("it can be saved"));
                if waits {
                    host.timers.sort_by_key(|(due, _)| *due);
                    assert!(
                        !host.timers.is_empty(),
                        "nothing is left to wait for: {:?}",
                        host.output
                    );
                    let (due, key) = host.timers.remove(0);
                    host.now = due;
                    fired = Some(key);
                }
            }
        }
    }
    host.output.push("it runs on".to_owned());
    host.output
}

#[test]
fn continues_as_in_node() {
    let (mut count, mut wrong) = (0, Vec::new());
    for line in PROGRAMS.lines() {
        let (text, wanted) = line.split_once('\t').expect("a program and its output");
        let read = |it: &str| Json::parse(it).and_then(|it| it.read::<String>()).expect("a text");
        let (text, wanted) = (read(text), read(wanted));
        count += 1;
        let program = match compiled(&text) {
            Ok(program) => program,
            Err(problems) => {
                wrong.push(format!("{text}\n  is refused: {problems}"));
                continue;
            }
        };
        // At every point where it can be saved, for some of them: the others would take long.
        let often = if count % 12 == 1 { 3 } else { 60 };
        for slice in [1_000_000, often] {
            let found = output(&program, slice).join("\n");
            if found != wanted {
                wrong.push(format!(
                    "{text}\n--- Node\n{wanted}\n--- found, saved after {slice} operations\n{found}"
                ));
                break;
            }
        }
    }
    let first = wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{first}", wrong.len());
    assert!(count >= 2_000, "only {count} programs");
}
