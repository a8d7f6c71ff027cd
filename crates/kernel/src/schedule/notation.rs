//! The built-in notation of schedules.

use std::sync::Arc;

use meantime_core::{
    Answer, Compiled, Cx, Definition, Diagnostic, Effect, Event, Fault, Json, Limits, Notation,
    Outcome, SCHEDULE_DEFINITION, ScheduleChange, ScheduleSpec, Source, Start, State, Status,
    Timestamp, Turn, Verdict, View,
};

use super::change::Refused;
use super::saved::{Saved, ScheduleView};
use super::scheduler::{End, Scheduler};
use crate::command::SCHEDULE_INVALID;

/// The name of the notation.
pub const SCHEDULE_NOTATION: &str = "schedule";

/// The format of a schedule's saved state.
const FORMAT: u16 = 1;

/// Runs schedules.
#[derive(Debug, Default)]
pub struct ScheduleNotation;

/// The source of the built-in definition, which every kernel deploys when it starts.
pub fn schedule_source() -> Source {
    let (name, text) = (SCHEDULE_DEFINITION.to_owned(), Arc::from("schedule 1\n"));
    Source { name, text, files: Vec::new() }
}

impl Notation for ScheduleNotation {
    fn compile(&self, _source: &Source, _limits: &Limits) -> Compiled {
        let definition = Definition {
            name: SCHEDULE_DEFINITION.to_owned(),
            label: None,
            triggers: Vec::new(),
            execution: None,
            system: true,
            body: Arc::new(()),
        };
        Compiled { definitions: vec![definition], diagnostics: Vec::new() }
    }

    fn lint(&self, _definition: &Definition, _now: Timestamp) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn start(&self, _definition: &Definition, start: &Start, cx: &Cx<'_>) -> Result<Turn, Fault> {
        let spec = match read(&start.input).and_then(|spec| checked(spec, cx.limits)) {
            Ok(spec) => spec,
            Err(problem) => return Ok(refused(&problem)),
        };
        let mut scheduler = Scheduler::new(Saved::new(spec), cx);
        scheduler.arm();
        finish(scheduler, vec![Verdict::taken()])
    }

    fn advance(
        &self,
        _definition: &Definition,
        state: &State,
        events: &[Event],
        cx: &Cx<'_>,
    ) -> Result<Turn, Fault> {
        let saved = minicbor::decode(&state.bytes)
            .map_err(|error| Fault::new("bad_state", error.to_string()))?;
        let mut scheduler = Scheduler::new(saved, cx);
        let verdicts = events.iter().map(|event| take(&mut scheduler, event)).collect();
        scheduler.go_on_filling();
        finish(scheduler, verdicts)
    }

    fn inspect(&self, _definition: &Definition, state: &State) -> View {
        let saved: Option<Saved> = minicbor::decode(&state.bytes).ok();
        let variables = saved.and_then(|saved| Json::of(&saved.spec).ok()).unwrap_or_default();
        View { variables, waiting: Vec::new() }
    }
}

fn take(scheduler: &mut Scheduler<'_>, event: &Event) -> Verdict {
    let taken = match event {
        Event::TimerFired { key, .. } => scheduler.fired(*key),
        // Whatever its outcome, it passes its context on (S6).
        Event::ChildDone { key, context, .. } => scheduler.run_ended(*key, context.clone()),
        Event::EffectDone { key, answer: Answer::Conflict { code } } => {
            scheduler.run_refused(*key, code)
        }
        Event::Submitted { step, payload, .. } => return submitted(scheduler, step, payload),
        Event::Cancel { reason } => {
            scheduler.cancel(reason);
            true
        }
        // The rest of a backfill; see the end of the turn.
        Event::Continue => true,
        _ => false,
    };
    if taken { Verdict::taken() } else { Verdict::NotTaken }
}

fn submitted(scheduler: &mut Scheduler<'_>, step: &str, payload: &Json) -> Verdict {
    match step {
        "pause" => scheduler.pause(),
        "resume" => scheduler.resume(),
        "trigger" => scheduler.trigger(),
        "backfill" => {
            return match payload.read::<[Timestamp; 2]>() {
                Ok([from, to]) => match scheduler.backfill(from, to) {
                    Ok(count) => Verdict::Taken { reply: Json::of(&count).ok() },
                    Err(refused) => refusal(&refused),
                },
                Err(error) => invalid(&error.to_string()),
            };
        }
        "change" => match payload.read::<ScheduleChange>() {
            Ok(change) => {
                if let Err(refused) = scheduler.change(&change) {
                    return refusal(&refused);
                }
            }
            Err(error) => return invalid(&error.to_string()),
        },
        "upsert" => match read(payload).and_then(|spec| checked(spec, scheduler.limits())) {
            Ok(spec) => scheduler.upsert(spec),
            Err(problem) => return invalid(&problem),
        },
        other => return invalid(&format!("a schedule has no action {other:?}")),
    }
    Verdict::taken()
}

fn read(input: &Json) -> Result<ScheduleSpec, String> {
    input.read().map_err(|error| error.to_string())
}

/// Checks that apply however a schedule is created (S11).
fn checked(spec: ScheduleSpec, limits: &Limits) -> Result<ScheduleSpec, String> {
    match spec.problem(limits) {
        None => Ok(spec),
        Some(problem) => Err(problem),
    }
}

fn invalid(problem: &str) -> Verdict {
    refusal(&(SCHEDULE_INVALID, problem.to_owned()))
}

fn refusal((code, problem): &Refused) -> Verdict {
    let problem = Json::of(problem).unwrap_or_default();
    Verdict::Refused { code: (*code).to_owned(), problem }
}

fn refused(problem: &str) -> Turn {
    let (state, effects) = (State::default(), Vec::<Effect>::new());
    Turn { state, effects, status: Status::Running, verdicts: vec![invalid(problem)], ops: 1 }
}

fn finish(scheduler: Scheduler<'_>, verdicts: Vec<Verdict>) -> Result<Turn, Fault> {
    let ops = u64::try_from(verdicts.len()).unwrap_or(1);
    let (saved, mut effects, end, more) = scheduler.finish();
    if end != End::No {
        effects.push(Effect::Summary(Json::of(&ScheduleView::of(&saved)).unwrap_or_default()));
    }
    let bytes =
        minicbor::to_vec(&saved).map_err(|error| Fault::new("bad_state", error.to_string()))?;
    let context = saved.context.clone();
    let status = match end {
        End::No if more => Status::Yield,
        End::No => Status::Running,
        End::Complete => {
            let output = Json::of(&saved.finished).unwrap_or_default();
            Status::Ended(Outcome::Completed { output, context })
        }
        End::Cancelled(reason) => Status::Ended(Outcome::Cancelled { reason, context }),
    };
    Ok(Turn { state: State::new(FORMAT, bytes), effects, status, verdicts, ops })
}
