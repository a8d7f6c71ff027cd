//! States that a release saved must always load, advance and finish.
//!
//! `golden/v1/NAME.hex` is a saved state of `everything.journey.yaml`, `NAME.trace` the expected
//! turns after it. `UPDATE_EXPECT=1` adds missing files and never changes an existing one.

#![expect(clippy::disallowed_methods, reason = "tests read their cases from files")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use meantime_core::{
    Answer, Cx, Definition, Effect, EffectKey, Event, InstanceId, Json, Limits, Notation, Source,
    Start, StartCause, State, Status, TaskOutcome, Timestamp, Turn,
};
use meantime_journey::{JourneyNotation, Settings};

/// States of the journey at which a state was saved, and the events that lead there.
const PLACES: [(&str, &[&str]); 8] = [
    ("step", &[]),
    ("http", &["submit ask"]),
    ("worker", &["submit ask", "done"]),
    ("parallel", &["submit ask", "done", "done"]),
    ("subjourney", &["submit ask", "done", "done", "submit approve"]),
    ("schedule", &["fire"]),
    ("second_round", &["submit ask", "done", "done", "submit approve", "submit callback"]),
    ("closing", &["submit ask", "done", "cancel"]),
];

/// The events that are tried from every state, one after the other, until the run ends.
const REST: [&str; 7] =
    ["answer", "done", "submit approve", "submit callback", "submit ask", "fire", "child"];

#[test]
fn saved_states_load_and_finish() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    for (name, events) in PLACES {
        let (saved, trace) = (file(&format!("{name}.hex")), file(&format!("{name}.trace")));
        if update && !saved.exists() {
            let mut player = Player::start();
            for event in events {
                player.play(event);
            }
            fs::write(&saved, player.save()).expect("it can be written");
            let mut player = Player::load(&fs::read_to_string(&saved).expect("it is there"));
            fs::write(&trace, player.finish()).expect("it can be written");
        }
        let mut player = Player::load(&fs::read_to_string(&saved).expect("it is there"));
        let expected = fs::read_to_string(&trace).expect("it is there");
        assert_eq!(player.finish(), expected, "after {name}");
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name)
}

/// Plays events on one run and keeps track of what it waits for.
struct Player {
    notation: JourneyNotation,
    definition: Definition,
    limits: Limits,
    now: Timestamp,
    turn_no: u64,
    state: State,
    /// The last effect of each kind that an event may answer.
    timer: Option<EffectKey>,
    task: Option<EffectKey>,
    schedule: Option<EffectKey>,
    child: Option<EffectKey>,
    over: bool,
    trace: String,
}

impl Player {
    fn new(state: State, turn_no: u64) -> Self {
        let notation = JourneyNotation::new(Settings::default());
        let text = fs::read_to_string(file("everything.journey.yaml")).expect("it is there");
        let source = Source { name: "main".to_owned(), text: text.into(), files: Vec::new() };
        let limits = Limits::default();
        let mut compiled = notation.compile(&source, &limits);
        let definition = compiled.definitions.remove(0);
        let now = Timestamp::parse("2026-01-01T00:00:00Z").expect("an instant");
        Self {
            notation,
            definition,
            limits,
            now,
            turn_no,
            state,
            timer: None,
            task: None,
            schedule: None,
            child: None,
            over: false,
            trace: String::new(),
        }
    }

    fn start() -> Self {
        let mut player = Self::new(State::default(), 0);
        let start = Start::new(StartCause::Api, Json::parse("{}").expect("JSON"));
        let turn = player.notation.start(&player.definition, &start, &player.cx());
        player.take(turn.expect("it starts"));
        player
    }

    fn cx(&self) -> Cx<'_> {
        Cx {
            now: self.now,
            turn_no: self.turn_no + 1,
            instance: InstanceId::new(3, 4),
            version: 1,
            started_at: self.now,
            deadline: None,
            key: None,
            catches: &[],
            limits: &self.limits,
        }
    }

    fn play(&mut self, what: &str) {
        let nothing = self.cx().instance.effect(999, 0);
        let event = match what.split_once(' ') {
            Some(("submit", step)) => {
                let payload = Json::parse("{\"ok\":true}").expect("JSON");
                Event::Submitted { step: step.to_owned(), payload, request_bindings: None }
            }
            _ => match what {
                "fire" => {
                    Event::TimerFired { key: self.timer.unwrap_or(nothing), due_at: self.now }
                }
                "done" => {
                    let answer = Json::parse("{\"status\":200,\"headers\":{},\"body\":{}}");
                    let outcome = TaskOutcome::Completed(answer.expect("JSON"));
                    Event::TaskDone { key: self.task.unwrap_or(nothing), outcome }
                }
                "answer" => Event::EffectDone {
                    key: self.schedule.unwrap_or(nothing),
                    answer: Answer::Done,
                },
                "child" => Event::ChildDone {
                    key: self.child.unwrap_or(nothing),
                    outcome: meantime_core::ChildOutcome::Completed(Json::null()),
                    context: None,
                },
                _ => Event::Cancel { reason: what.to_owned() },
            },
        };
        let turn = self.notation.advance(&self.definition, &self.state, &[event], &self.cx());
        let turn = turn.expect("a saved state advances");
        // History records are for people and left out: a later release may add more.
        let lasting = turn.effects.iter().filter(|it| !matches!(it, Effect::Record { .. }));
        let effects: Vec<&str> = lasting.map(Effect::name).collect();
        let verdict = format!("{:?}", turn.verdicts[0]);
        let verdict = verdict.split([' ', '{']).next().unwrap_or_default();
        let _ = writeln!(self.trace, "{what}: {verdict} {}", effects.join(" "));
        self.take(turn);
    }

    fn take(&mut self, turn: Turn) {
        self.turn_no += 1;
        for (ordinal, effect) in (0_u32..).zip(&turn.effects) {
            let key = InstanceId::new(3, 4).effect(self.turn_no, ordinal);
            match effect {
                Effect::StartTimer { .. } => self.timer = Some(key),
                Effect::ScheduleTask(_) => self.task = Some(key),
                Effect::PutSchedule { .. } => self.schedule = Some(key),
                Effect::StartChild(_) => self.child = Some(key),
                _ => {}
            }
        }
        if let Status::Ended(outcome) = &turn.status {
            self.over = true;
            let _ = writeln!(self.trace, "{outcome:?}");
        }
        self.state = turn.state;
    }

    /// Repeats the events until the run ends.
    fn finish(&mut self) -> String {
        for what in REST.iter().cycle().take(100) {
            if !self.over {
                self.play(what);
            }
        }
        assert!(self.over, "it never ended:\n{}", self.trace);
        std::mem::take(&mut self.trace)
    }

    /// Keys of the open effects, then the format and the bytes.
    fn save(&self) -> String {
        let key = |key: Option<EffectKey>| {
            key.map_or_else(|| "-".to_owned(), |it| format!("{}.{}", it.turn_no, it.ordinal))
        };
        let keys = [self.timer, self.task, self.schedule, self.child].map(key).join(" ");
        let mut hex = String::new();
        for byte in self.state.bytes.iter() {
            let _ = write!(hex, "{byte:02x}");
        }
        format!("{} {keys}\n{} {hex}\n", self.turn_no, self.state.format)
    }

    fn load(text: &str) -> Self {
        let mut words = text.split_whitespace();
        let mut word = || words.next().expect("the file is whole");
        let turn_no = word().parse().expect("a number");
        let keys = [word(), word(), word(), word()].map(|key| {
            let (turn, ordinal) = key.split_once('.')?;
            let (turn, ordinal) = (turn.parse().ok()?, ordinal.parse().ok()?);
            Some(InstanceId::new(3, 4).effect(turn, ordinal))
        });
        let (format, hex) = (word().parse().expect("a number"), word());
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let mut player = Self::new(State::new(format, bytes), turn_no);
        [player.timer, player.task, player.schedule, player.child] = keys;
        player
    }
}
