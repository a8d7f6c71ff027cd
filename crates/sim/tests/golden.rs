//! States that earlier releases saved can be loaded, continue, and end as they would have.
//!
//! A golden file holds a source, the events before, the saved state, the events after, and the
//! expected results. A file is written once: a state without bytes gets them from this release with
//! `UPDATE_EXPECT=1`, and is never edited again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use meantime_core::{
    Cx, Definition, Effect, Event, Failure, Fault, InstanceId, Json, Limits, Notation, Source,
    Start, StartCause, State, Status, TaskCause, TaskOutcome, Timestamp, Turn,
};
use meantime_flow::Flow;

/// The format that this release writes: its states must be reproduced byte by byte.
const CURRENT: u16 = 3;

fn main() {
    let arguments = Arguments::from_args();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flow/tests/golden");
    let mut trials = Vec::new();
    for format in 1..=CURRENT {
        for path in files(&directory.join(format!("v{format}"))) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let test = format!("flow::v{format}::{name}");
            trials.push(Trial::test(test, move || check(&path, format)));
        }
    }
    assert!(!trials.is_empty(), "the golden files are there");
    libtest_mimic::run(&arguments, trials).exit();
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    paths.sort();
    paths
}

fn check(path: &Path, format: u16) -> Result<(), Failed> {
    let golden = Golden::read(path);
    let made = golden.story(None, &golden.before);
    let state = match &golden.state {
        Some(state) => state.clone(),
        None if std::env::var_os("UPDATE_EXPECT").is_some() => {
            let after = golden.story(Some(&made.state), &golden.after);
            golden.write(&made.state, &after.lines.join("\n"))?;
            return Ok(());
        }
        None => return Err("it has no state: run it with UPDATE_EXPECT=1 once".into()),
    };
    if format == CURRENT && made.state.bytes != state.bytes {
        return Err("this release saves other bytes: a change of format needs a new number".into());
    }
    let after = golden.story(Some(&state), &golden.after);
    let found = after.lines.join("\n");
    if found == golden.expected {
        return Ok(());
    }
    Err(format!("wanted\n{}\nfound\n{found}", golden.expected).into())
}

/// A golden file.
struct Golden {
    path: PathBuf,
    source: String,
    input: Json,
    limits: Limits,
    before: Vec<String>,
    state: Option<State>,
    after: Vec<String>,
    expected: String,
}

/// The results of some events, one line each, and the last state.
struct Story {
    lines: Vec<String>,
    state: State,
    ended: bool,
}

impl Golden {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a golden file can be read");
        let block = |kind: &str| {
            let start = text.find(&format!("```{kind}\n"))? + kind.len() + 4;
            let length = text[start..].find("```")?;
            Some(text[start..start + length].trim_end().to_owned())
        };
        let lines = |kind: &str| {
            let text = block(kind).unwrap_or_default();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let mut limits = Limits::default();
        for (name, value) in lines("limits").iter().filter_map(|line| line.split_once('=')) {
            match name {
                "ops_per_slice" => limits.ops_per_slice = value.parse().expect("a number"),
                "effects_per_turn" => limits.effects_per_turn = value.parse().expect("a number"),
                other => panic!("no limit {other}"),
            }
        }
        let state = block("state").map(|hex| State::new(1, unhex(&hex)));
        Self {
            path: path.to_owned(),
            source: block("flow").expect("a golden file has a source"),
            input: block("input").map_or_else(Json::null, |text| json(&text)),
            limits,
            before: lines("before"),
            state: state.filter(|state| !state.bytes.is_empty()),
            after: lines("after"),
            expected: block("expected").unwrap_or_default(),
        }
    }

    fn write(&self, state: &State, expected: &str) -> std::io::Result<()> {
        let text = fs::read_to_string(&self.path)?;
        // The state stands between the events before it and the events after it.
        let head = text.split("```after\n").next().unwrap_or_default().trim_end();
        let (state, after) = (hex(&state.bytes), self.after.join("\n"));
        let tail = format!("```after\n{after}\n```\n\n```expected\n{expected}\n```\n");
        fs::write(&self.path, format!("{head}\n\n```state\n{state}\n```\n\n{tail}"))
    }

    fn definition(&self) -> Definition {
        let name = "golden.flow.js".to_owned();
        let source = Source { name, text: self.source.as_str().into(), files: Vec::new() };
        let compiled = Flow.compile(&source, &Limits::default());
        let problems = compiled.diagnostics;
        let first = compiled.definitions.into_iter().next();
        first.unwrap_or_else(|| panic!("{}: {problems:?}", self.path.display()))
    }

    /// Plays events, from the start or from a state. Turn numbers continue from the last one.
    fn story(&self, from: Option<&State>, events: &[String]) -> Story {
        let definition = self.definition();
        let mut number = 1;
        let mut story = Story { lines: Vec::new(), state: State::default(), ended: false };
        match from {
            None => {
                let start = Start::new(StartCause::Api, self.input.clone());
                let turn = Flow.start(&definition, &start, &self.cx(number));
                story.take(turn);
            }
            Some(state) => {
                story.state = state.clone();
                number += self.before.len() as u64;
            }
        }
        for line in events {
            if story.ended {
                break;
            }
            number += 1;
            let event = event(line);
            let turn = Flow.advance(&definition, &story.state, &[event], &self.cx(number));
            story.lines.push(format!("> {line}"));
            story.take(turn);
        }
        story
    }

    fn cx(&self, number: u64) -> Cx<'_> {
        let second = i64::try_from(number).expect("a small number") * 1_000;
        Cx {
            now: Timestamp::from_millis(1_767_225_600_000 + second),
            turn_no: number,
            instance: instance(),
            version: 1,
            started_at: Timestamp::from_millis(1_767_225_600_000),
            deadline: None,
            key: Some("golden"),
            catches: &[],
            limits: &self.limits,
        }
    }
}

impl Story {
    fn take(&mut self, turn: Result<Turn, Fault>) {
        let turn = match turn {
            Ok(turn) => turn,
            Err(fault) => {
                return self.lines.push(format!("fault {}: {}", fault.code, fault.message));
            }
        };
        self.ended = matches!(turn.status, Status::Ended(_));
        self.lines.extend(turn.effects.iter().map(effect));
        self.lines.push(match turn.status {
            Status::Running => "waits".to_owned(),
            Status::Yield => "yields".to_owned(),
            Status::Ended(outcome) | Status::Closing(outcome) => format!("{outcome:?}"),
        });
        self.state = turn.state;
    }
}

fn instance() -> InstanceId {
    InstanceId::new(77, 88)
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `done 1.0 JSON`, `failed 1.0 CODE`, `fired 1.0`, `signal 1.0 JSON`, `continue`.
fn event(line: &str) -> Event {
    let mut words = line.splitn(3, ' ');
    let (kind, place, rest) = (words.next(), words.next(), words.next().unwrap_or("null"));
    let key = || {
        let (turn, ordinal) = place.and_then(|it| it.split_once('.')).expect("turn.ordinal");
        instance().effect(turn.parse().expect("a turn"), ordinal.parse().expect("an ordinal"))
    };
    match kind {
        Some("done") => Event::TaskDone { key: key(), outcome: TaskOutcome::Completed(json(rest)) },
        Some("failed") => {
            let failure = Failure::new(rest, "failed");
            let (cause, thrown) = (TaskCause::Reported, None);
            Event::TaskDone { key: key(), outcome: TaskOutcome::Failed { failure, cause, thrown } }
        }
        Some("fired") => Event::TimerFired { key: key(), due_at: Timestamp::default() },
        Some("signal") => Event::Signal { key: key(), name: "s".to_owned(), payload: json(rest) },
        Some("continue") => Event::Continue,
        other => panic!("no event {other:?}"),
    }
}

fn effect(effect: &Effect) -> String {
    match effect {
        Effect::ScheduleTask(task) => format!("{} {} {}", effect.name(), task.name, task.input),
        Effect::StartTimer { element, due_at } => format!("{} {element} {due_at}", effect.name()),
        Effect::CancelTask { key } | Effect::CancelTimer { key } | Effect::Unsubscribe { key } => {
            format!("{} {}.{}", effect.name(), key.turn_no, key.ordinal)
        }
        Effect::StartChild(child) => {
            format!("{} {} {}", effect.name(), child.definition, child.input)
        }
        Effect::Record { data, .. } => format!("{} {data}", effect.name()),
        other => other.name().to_owned(),
    }
}

/// Bytes as text, forty a line.
fn hex(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    bytes.chunks(40).map(line).collect::<Vec<_>>().join("\n")
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    digits.chunks(2).map(|pair| byte(pair).expect("hexadecimal digits")).collect()
}
