//! `schedule:v1`: creates a schedule and continues with the answer of the commit (S7, JS7).

use meantime_core::time::{First, Rule, Span, Zone};
use meantime_core::{
    Answer, CatchUp, Effect, EffectKey, Failure, Fault, Overlap, ScheduleInput, ScheduleSpec,
    Timestamp,
};
use meantime_value::Value;

use crate::definition::{MaxRuns, Schedule, TimeSource};
use crate::json;
use crate::machine::data::PAYLOAD_FIELD;
use crate::machine::evaluate::StateEvaluation;
use crate::machine::run::Run;
use crate::machine::saved::{FrameId, WaitState};
use crate::machine::transition::{StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_schedule(
        &mut self,
        id: FrameId,
        schedule: &Schedule,
    ) -> Result<Transition, Fault> {
        let spec = match self.schedule_spec(id, schedule)? {
            Ok(spec) => spec,
            Err(error) => return Ok(error.into()),
        };
        if let Some(problem) = spec.problem(self.cx.limits) {
            return Ok(StateError::schedule_invalid(problem).into());
        }
        let (spec, on_existing) = (Box::new(spec), schedule.on_existing);
        let key = self.push(Effect::PutSchedule { spec, on_existing });
        Ok(Transition::Wait(WaitState::Schedule(key)))
    }

    /// The commit has answered.
    pub(in crate::machine) fn schedule_answered(
        &mut self,
        key: EffectKey,
        answer: &Answer,
    ) -> Result<bool, Fault> {
        let waits = |wait_state: &WaitState| *wait_state == WaitState::Schedule(key);
        let found = self.saved.frames.iter().find(|(_, frame)| waits(&frame.wait_state));
        let Some(id) = found.map(|(id, _)| *id) else { return Ok(false) };
        let flow = match answer {
            Answer::Done => Self::next_transition(self.state_of(id)?)?,
            Answer::Conflict { code } => {
                let text = match code.as_str() {
                    "SCHEDULE_EXISTS" => "an active schedule of the same identity exists",
                    _ => "the schedule could not be made",
                };
                Transition::fail(Failure::new(code.clone(), text))
            }
        };
        self.apply_transition(id, flow)?;
        Ok(true)
    }

    fn schedule_spec(&mut self, id: FrameId, schedule: &Schedule) -> StateEvaluation<ScheduleSpec> {
        let anchor = match self.schedule_start(id, schedule)? {
            Ok(anchor) => anchor,
            Err(problem) => return Ok(Err(invalid_schedule("startAt", &problem))),
        };
        let interval = match self.schedule_interval(id, &schedule.interval)? {
            Ok(interval) => interval,
            Err(problem) => return Ok(Err(invalid_schedule("interval", &problem))),
        };
        let max_runs = match self.schedule_runs(id, &schedule.max_runs)? {
            Ok(runs) => runs,
            Err(error) => return Ok(Err(error)),
        };
        let subject = match self.schedule_subject(id, schedule)? {
            Ok(subject) => subject,
            Err(error) => return Ok(Err(error)),
        };
        let context = match self.schedule_context(id, schedule)? {
            Ok(context) => context,
            Err(error) => return Ok(Err(error)),
        };
        let (zone, first, count, until) = (Zone::utc(), First::AtAnchor, None, None);
        Ok(Ok(ScheduleSpec {
            definition: self.journey.name.clone(),
            version: self.cx.version,
            start: Some(schedule.start.id.clone()),
            subject,
            label: Some(self.journey.version.clone()),
            rule: Rule::Every { anchor, interval, zone, first, count, until },
            max_runs: Some(max_runs),
            overlap: Overlap::QueueOne,
            catch_up: CatchUp::Coalesce,
            input: ScheduleInput::Context(json::document(&context)?),
            anchored: schedule.start_at.is_some(),
            is_binding: true,
        }))
    }

    fn schedule_start(
        &mut self,
        id: FrameId,
        schedule: &Schedule,
    ) -> Result<Result<Timestamp, String>, Fault> {
        match &schedule.start_at {
            Some(at) => self.instant(id, at),
            None => Ok(Ok(self.cx.now)),
        }
    }

    fn schedule_interval(
        &mut self,
        id: FrameId,
        interval: &TimeSource<Span>,
    ) -> Result<Result<Span, String>, Fault> {
        Ok(match interval {
            TimeSource::Literal(span) => Ok(*span),
            other => match self.timed_text(id, other)? {
                Ok(text) => Span::parse_delay(&text).map_err(|error| error.to_string()),
                Err(problem) => Err(problem),
            },
        })
    }

    fn schedule_runs(&mut self, id: FrameId, runs: &MaxRuns) -> StateEvaluation<u64> {
        let mapper = match runs {
            MaxRuns::Literal(runs) => return Ok(Ok(*runs)),
            MaxRuns::Mapper(mapper) => mapper,
        };
        Ok(match self.evaluate(id, mapper, Vec::new())? {
            Ok(value) => {
                let number = match &value {
                    Value::Number(_) => json::shown(&value).parse::<u64>().ok(),
                    _ => None,
                };
                let found = json::shown(&value);
                number.filter(|it| *it >= 1).ok_or_else(|| {
                    invalid_schedule(
                        "maxRuns",
                        &format!("{found} is not a whole number of at least 1"),
                    )
                })
            }
            Err(error) => Err(error),
        })
    }

    fn schedule_subject(
        &mut self,
        id: FrameId,
        schedule: &Schedule,
    ) -> StateEvaluation<Option<String>> {
        let Some(mapper) = &schedule.subject else { return Ok(Ok(None)) };
        Ok(match self.evaluate(id, mapper, Vec::new())? {
            Ok(value) => match json::string(&value).filter(|text| !text.is_empty()) {
                Some(text) => Ok(Some(text)),
                None => Err(invalid_schedule("subjectId", "it is not a text, or empty")),
            },
            Err(error) => Err(error),
        })
    }

    /// The context of the first run: the mapper's result, or the context without the last
    /// submission (JS11).
    fn schedule_context(&mut self, id: FrameId, schedule: &Schedule) -> StateEvaluation<Value> {
        let Some(mapper) = &schedule.context else {
            let context = self.context(id)?;
            return Ok(Ok(json::without(&context, &[PAYLOAD_FIELD.to_owned()])));
        };
        Ok(match self.evaluate(id, mapper, Vec::new())? {
            Ok(value) if json::object(&value).is_some() => Ok(value),
            Ok(_) => Err(invalid_schedule("context", "it is not an object")),
            Err(error) => Err(error),
        })
    }
}

fn invalid_schedule(field: &str, problem: &str) -> StateError {
    StateError::schedule_invalid(format!("`{field}`: {problem}"))
}
