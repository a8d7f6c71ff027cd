//! The notation of the bench: definitions with as little work as possible, so that the kernel and
//! its store dominate what is measured.
//!
//! A source has a line per definition: `name shape number`.

use std::sync::Arc;

use meantime_core::{
    Compiled, Cx, Definition, Diagnostic, Effect, Event, Fault, Json, Limits, Notation, Outcome,
    Source, Start, State, Status, TaskSpec, Timestamp, Turn, Verdict, View,
};

/// The name under which the kernel knows it.
pub(super) const NAME: &str = "bench";

/// The size of an ordinary state in bytes, the same as in the baselines.
pub(super) const CONTEXT_BYTES: usize = 500;

/// A year: after it has fired, a sleeper sleeps this long.
pub(super) const YEAR_MS: i64 = 365 * 86_400_000;

/// The behaviour of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Ends after this many turns; each turn but the last yields.
    Turns(u64),
    /// Sleeps until the instant in its input, then for a year, and so on.
    Sleeper,
    /// Runs one task and ends; the number is the size of its state in bytes.
    Task(usize),
    /// Rewrites a state of one mebibyte in each of this many turns.
    Heavy(u64),
}

pub(super) struct BenchNotation;

/// The definitions of every scenario.
pub(super) fn source() -> Source {
    let text = "once turns 1\nother turns 1\nfive turns 5\nsleeper sleeper 0\n\
                small-task task 100\nlarge-task task 500\nheavy heavy 1000\n";
    Source { name: "bench".to_owned(), text: text.into(), files: Vec::new() }
}

impl Notation for BenchNotation {
    fn compile(&self, source: &Source, _limits: &Limits) -> Compiled {
        let definitions = source.text.lines().filter_map(definition).collect();
        Compiled { definitions, diagnostics: Vec::new() }
    }

    fn lint(&self, _definition: &Definition, _now: Timestamp) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn start(&self, definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        let shape = shape(definition)?;
        let effects = match shape {
            Shape::Turns(_) | Shape::Heavy(_) => Vec::new(),
            Shape::Task(_) => {
                let input = start.input.clone();
                vec![Effect::ScheduleTask(TaskSpec::worker("charge-card", "charge", input))]
            }
            Shape::Sleeper => {
                let due_ms: i64 = start.input.read().map_err(|error| fault(error.to_string()))?;
                vec![sleep(Timestamp::from_millis(due_ms))]
            }
        };
        Ok(turn(shape, cx, effects, vec![Verdict::taken()]))
    }

    fn advance(
        &self,
        definition: &Definition,
        _state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let shape = shape(definition)?;
        let fired = events.iter().find_map(|event| match event {
            Event::TimerFired { due_at, .. } => Some(*due_at),
            _ => None,
        });
        let effects = fired.map(|due_at| sleep(due_at.saturating_add_millis(YEAR_MS)));
        let mut turn =
            turn(shape, cx, effects.into_iter().collect(), vec![Verdict::taken(); events.len()]);
        if matches!(shape, Shape::Task(_)) {
            turn.status = Status::Ended(completed());
        }
        Ok(turn)
    }

    fn inspect(&self, _definition: &Definition, _state: &State) -> View {
        View::default()
    }
}

fn definition(line: &str) -> Option<Definition> {
    let mut words = line.split_whitespace();
    let (name, shape) = (words.next()?, words.next()?);
    let number = words.next()?.parse().ok()?;
    let shape = match shape {
        "turns" => Shape::Turns(number),
        "sleeper" => Shape::Sleeper,
        "task" => Shape::Task(usize::try_from(number).ok()?),
        "heavy" => Shape::Heavy(number),
        _ => return None,
    };
    Some(Definition {
        name: name.to_owned(),
        label: None,
        triggers: Vec::new(),
        execution: None,
        system: false,
        body: Arc::new(shape),
    })
}

fn shape(definition: &Definition) -> Result<Shape, Fault> {
    definition.body::<Shape>().copied().ok_or_else(|| fault("not a definition of the bench"))
}

fn fault(message: impl Into<String>) -> Fault {
    Fault::new("bench", message)
}

fn sleep(due_at: Timestamp) -> Effect {
    Effect::StartTimer { element: "sleep".to_owned(), due_at }
}

fn completed() -> Outcome {
    Outcome::Completed { output: Json::null(), context: Json::null() }
}

fn turn(shape: Shape, cx: &Cx<'_>, effects: Vec<Effect>, verdicts: Vec<Verdict>) -> Turn {
    let (status, size) = match shape {
        Shape::Turns(count) => (until(count, cx), CONTEXT_BYTES),
        Shape::Heavy(count) => (until(count, cx), 1 << 20),
        Shape::Sleeper => (Status::Running, CONTEXT_BYTES),
        Shape::Task(size) => (Status::Running, size),
    };
    // The state changes in every turn, so that the store must write it every time.
    let byte = cx.turn_no.to_le_bytes()[0];
    Turn { state: State::new(1, vec![byte; size]), effects, status, verdicts, ops: 1 }
}

fn until(count: u64, cx: &Cx<'_>) -> Status {
    if cx.turn_no < count { Status::Yield } else { Status::Ended(completed()) }
}
