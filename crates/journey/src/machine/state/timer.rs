//! `timer`: sleeps. The due time is computed once, on entry (T4); the context does not change
//! (T11).

use meantime_core::time::{Span, Zone};
use meantime_core::{Effect, Fault, Timestamp};

use crate::definition::{TimeSource, Timer};
use crate::json;
use crate::machine::evaluate::{Encode, StateEvaluation};
use crate::machine::run::Run;
use crate::machine::saved::{FrameId, WaitState};
use crate::machine::transition::{StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_timer(
        &mut self,
        id: FrameId,
        timer: &Timer,
    ) -> Result<Transition, Fault> {
        let due_at = match timer {
            Timer::Duration(duration) => self.after(id, duration)?,
            Timer::Until(until) => self.instant(id, until)?,
        };
        let due_at = match due_at {
            Ok(due_at) => due_at,
            Err(problem) => return Ok(StateError::timer_invalid(problem).into()),
        };
        let element = self.element_path(id);
        let key = self.push(Effect::StartTimer { element, due_at });
        Ok(Transition::Wait(WaitState::Timer { key, due_at }))
    }

    fn after(&mut self, id: FrameId, duration: &TimeSource<Span>) -> TimeResult<Timestamp> {
        let span = match duration {
            TimeSource::Literal(span) => Ok(*span),
            other => match self.timed_text(id, other)? {
                Ok(text) => Span::parse_delay(&text).map_err(|error| error.to_string()),
                Err(problem) => Err(problem),
            },
        };
        let due = span
            .and_then(|span| span.add_to(self.cx.now, &Zone::utc()).map_err(|it| it.to_string()));
        Ok(due)
    }

    pub(in crate::machine) fn instant(
        &mut self,
        id: FrameId,
        until: &TimeSource<Timestamp>,
    ) -> TimeResult<Timestamp> {
        Ok(match until {
            TimeSource::Literal(at) => Ok(*at),
            other => match self.timed_text(id, other)? {
                Ok(text) => Timestamp::parse(&text).map_err(|error| error.to_string()),
                Err(problem) => Err(problem),
            },
        })
    }

    /// The text that a mapper or template returns.
    pub(in crate::machine) fn timed_text<T>(
        &mut self,
        id: FrameId,
        timed: &TimeSource<T>,
    ) -> TimeResult<String> {
        let text: StateEvaluation<String> = match timed {
            TimeSource::Literal(_) => return Ok(Err("a literal is not computed".to_owned())),
            TimeSource::Template(template) => self.fill(id, template, Encode::Plain),
            TimeSource::Mapper(mapper) => match self.evaluate(id, mapper, Vec::new())? {
                Ok(value) => match json::string(&value) {
                    Some(text) => Ok(Ok(text)),
                    None => {
                        let found = json::shown(&value);
                        return Ok(Err(format!("the mapper gave {found}, not a text")));
                    }
                },
                Err(error) => Ok(Err(error)),
            },
        };
        Ok(text?.map_err(|error| error.message().to_owned()))
    }
}

/// A time, or what is wrong with the text.
pub(in crate::machine) type TimeResult<T> = Result<Result<T, String>, Fault>;
