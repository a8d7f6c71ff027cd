//! Properties of the script language: any text is compiled or refused, any saved bytes are loaded
//! or refused, and nothing panics.

use std::sync::Arc;

use meantime_core::{EffectKey, InstanceId, Json, Limits, Timestamp};
use meantime_script::{
    EffectKind, EffectRequest, EffectStartError, Host, Machine, Operation, Program, Settlement,
    StartedEffect, StopReason, compile_script,
};
use proptest::prelude::*;

use self::programs::program_text;

#[path = "generate/programs.rs"]
mod programs;

/// Words of the language, and other words.
const WORDS: &[&str] = &[
    "let",
    "const",
    "if",
    "else",
    "while",
    "do",
    "for",
    "of",
    "in",
    "switch",
    "case",
    "default",
    "try",
    "catch",
    "finally",
    "throw",
    "return",
    "break",
    "continue",
    "function",
    "await",
    "typeof",
    "new",
    "delete",
    "null",
    "true",
    "false",
    "undefined",
    "workflow",
    "async",
    "class",
    "this",
    "super",
    "extends",
    "static",
    "get",
    "set",
    "instanceof",
    "void",
    "constructor",
    "#x",
    "/a(b)?/g",
    "var",
    "x",
    "y",
    "f",
    "Inputs",
    "Task",
    "run",
    "delay",
    "all",
    "race",
    "Signal",
    "next",
    "Math",
    "Error",
    "map",
    "length",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ".",
    "?.",
    "...",
    "=>",
    "=",
    "==",
    "+",
    "-",
    "*",
    "**",
    "/",
    "%",
    "!",
    "?",
    ":",
    "&&",
    "||",
    "??",
    "+=",
    "++",
    "<",
    ">=",
    ">>>=",
    "~",
    "&",
    "1",
    "2.5",
    "0x1f",
    "\"a\"",
    "'b'",
    "`c`",
    "`d${",
    "}`",
    "/*",
    "*/",
    "//",
    "\n",
    "é",
    "😀",
    "\\",
    "@",
    "#",
    "$",
    "_",
];

fn soup() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS).prop_map(str::to_owned);
    let words = prop::collection::vec(prop_oneof![9 => word, 1 => ".{0,3}"], 0..60);
    words.prop_map(|words| words.join(" "))
}

fn compiled(text: &str) -> Program {
    let compiled = compile_script(&Arc::from(text), "p.flow.js");
    compiled.program.unwrap_or_else(|| panic!("{text}\n{:?}", compiled.diagnostics))
}

/// The limit of effects per turn in these tests.
const FULL: u32 = 50;

/// A host that starts everything and remembers the keys.
struct Keys {
    turn: u64,
    keys: Vec<(EffectKind, EffectKey)>,
    ordinal: u32,
}

impl Host for Keys {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_000)
    }

    fn instance(&self) -> InstanceId {
        InstanceId::new(3, 4)
    }

    fn key(&self) -> Option<&str> {
        None
    }

    fn random(&mut self) -> u64 {
        self.turn
    }

    fn has_room(&self, effects: usize) -> bool {
        self.ordinal + u32::try_from(effects).unwrap_or(FULL) < FULL
    }

    fn start(&mut self, request: &EffectRequest) -> Result<StartedEffect, EffectStartError> {
        let what = match request.operation {
            Operation::Task => EffectKind::Task,
            Operation::Delay | Operation::Until => EffectKind::Timer,
            Operation::Signal => EffectKind::Signal,
            Operation::Child => EffectKind::Child,
            Operation::Http => EffectKind::Http,
        };
        let key = self.instance().effect(self.turn, self.ordinal);
        self.ordinal += 1;
        self.keys.push((what, key));
        Ok(StartedEffect { what, key, timer: None, name: "n".to_owned() })
    }

    fn cancel(&mut self, _: EffectKind, key: EffectKey) {
        self.ordinal += 1;
        self.keys.retain(|(_, known)| *known != key);
    }

    fn log(&mut self, _: &'static str, _: Json, _: Option<Json>) {
        self.ordinal += 1;
    }
}

/// The result of a run: a line per turn, and the states in between.
struct Run {
    lines: Vec<String>,
    states: Vec<Vec<u8>>,
}

/// Runs a script with events chosen by numbers; `together` events share a turn.
fn play(program: &Program, choices: &[u8], together: usize) -> Run {
    let limits = Limits { ops_per_slice: 500, ops_runaway: 20_000, ..Limits::default() };
    let mut host = Keys { turn: 1, keys: Vec::new(), ordinal: 0 };
    let mut run = Run { lines: Vec::new(), states: Vec::new() };
    let mut saved: Option<Vec<u8>> = None;
    let (mut choices, mut yields) = (choices.iter(), 0);
    for _ in 0..200 {
        (host.turn, host.ordinal) = (host.turn + 1, 0);
        let mut known = host.keys.clone();
        let machine = match &saved {
            None => Machine::start(program, 0, &Json::null(), &mut host, &limits),
            Some(bytes) => Machine::load(program, bytes, &mut host, &limits),
        };
        let mut machine = machine.expect("what was saved can be loaded");
        let mut stop = machine.run();
        for _ in 0..together {
            if !matches!(stop, Ok(StopReason::Waiting)) || known.is_empty() {
                break;
            }
            let Some(choice) = choices.next() else { break };
            let (_, key) = known.remove(*choice as usize % known.len());
            let with = if choice % 5 == 0 {
                let (code, message) = ("E".to_owned(), "failed".to_owned());
                Settlement::Failed { name: "TaskError", code, message, data: None }
            } else {
                Settlement::Done(Json::parse("{\"r\":1}").expect("JSON"))
            };
            machine.settle_effect(key, with).expect("an event is taken");
            machine.cancel_losers_now();
            stop = machine.run();
        }
        // One operation may cost as much as its longest string.
        assert!(machine.ops() < 100_000, "a slice of {} operations", machine.ops());
        let line = match stop {
            Ok(StopReason::Finished) => format!("returned {:?}", machine.result()),
            Ok(StopReason::Uncaught { trace }) => format!("threw {} {trace}", machine.error().1),
            Err(fault) => format!("fault {fault:?}"),
            Ok(stop @ (StopReason::Waiting | StopReason::Yield)) => {
                let bytes = machine.save().expect("a state can be saved");
                run.states.push(bytes.clone());
                saved = Some(bytes);
                yields += usize::from(matches!(stop, StopReason::Yield));
                drop(machine);
                host.keys.retain(|it| known.contains(it) || it.1.turn_no == host.turn);
                if yields > 60 || (host.keys.is_empty() && matches!(stop, StopReason::Waiting)) {
                    run.lines.push("stuck".to_owned());
                    return run;
                }
                continue;
            }
        };
        run.lines.push(line);
        return run;
    }
    run
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(text in ".{0,200}") {
        let compiled = compile_script(&Arc::from(text.as_str()), "any.flow.js");
        prop_assert!(compiled.program.is_some() || !compiled.diagnostics.is_empty());
    }

    #[test]
    fn any_soup_of_words_is_compiled_or_refused(text in soup()) {
        let compiled = compile_script(&Arc::from(text.as_str()), "soup.flow.js");
        prop_assert!(compiled.program.is_some() || !compiled.diagnostics.is_empty());
        for it in &compiled.diagnostics {
            let lines = text.lines().count().max(1) + 1;
            prop_assert!((it.start.line as usize) <= lines, "{it:?}");
        }
    }

    #[test]
    fn a_script_plays_the_same_twice(
        text in program_text(),
        choices in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let program = compiled(&text);
        let (one, other) = (play(&program, &choices, 1), play(&program, &choices, 1));
        prop_assert_eq!(one.lines, other.lines);
        prop_assert_eq!(one.states, other.states);
    }

    #[test]
    fn a_saved_state_loads_and_saves_to_the_same_bytes(
        text in program_text(),
        choices in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let program = compiled(&text);
        let limits = Limits::default();
        for state in play(&program, &choices, 3).states {
            let mut host = Keys { turn: 9, keys: Vec::new(), ordinal: FULL };
            let mut machine = Machine::load(&program, &state, &mut host, &limits).expect("it loads");
            prop_assert_eq!(machine.save().expect("it saves"), state);
        }
    }

    #[test]
    fn damaged_states_are_refused_or_run_but_never_panic(
        text in program_text(),
        choices in prop::collection::vec(any::<u8>(), 0..20),
        damage in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4),
    ) {
        let program = compiled(&text);
        let limits = Limits { ops_per_slice: 2_000, ..Limits::default() };
        for mut state in play(&program, &choices, 2).states {
            for (place, byte) in &damage {
                let place = *place as usize % state.len();
                state[place] = *byte;
            }
            let mut host = Keys { turn: 9, keys: Vec::new(), ordinal: 0 };
            let Ok(mut machine) = Machine::load(&program, &state, &mut host, &limits) else {
                continue;
            };
            let _ = machine.variables();
            for pending in machine.pending() {
                let _ = machine.settle_effect(pending.key, Settlement::Done(Json::null()));
            }
            if machine.run().is_ok() {
                let _ = machine.save();
            }
        }
    }
}
