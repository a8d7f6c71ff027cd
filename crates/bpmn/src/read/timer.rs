//! Timer definitions: exactly one time; literals are checked when they are read (B1).

use meantime_core::Timestamp;
use meantime_core::time::{Cron, Cycle, Span, TimeError};

use super::builder::Builder;
use super::tree::{XmlElement, children, name, text};
use crate::model::{TimerDefinition, TimerKind};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn timer(&mut self, definition: XmlElement<'a>) -> Option<TimerDefinition> {
        let is_time = |it: &XmlElement<'a>| {
            matches!(name(*it), "timeDate" | "timeDuration" | "timeCycle") && !text(*it).is_empty()
        };
        let times: Vec<XmlElement<'a>> = children(definition).filter(is_time).collect();
        let (time, others) = match times.split_first() {
            Some((time, others)) => (*time, others),
            None => {
                let help = "set a date, a duration or a cycle in the modeler";
                self.error_with_help(Code::BadTimer, definition, "the time is missing", help);
                return None;
            }
        };
        if let Some(second) = others.first() {
            let what = "a timer has exactly one of timeDate, timeDuration and timeCycle";
            self.error(Code::BadTimer, *second, what);
            return None;
        }
        let kind = match name(time) {
            "timeDate" => TimerKind::Date,
            "timeDuration" => TimerKind::Duration,
            _ => TimerKind::Cycle,
        };
        let zone = self.zone_of(definition).unwrap_or_else(|| self.zone.clone());
        let written = text(time);
        // A valid literal stays a literal, whatever the expression language of the file is.
        let language = self.language_of(time).filter(|_| check(kind, &written).is_err());
        let text = self.expression_in(time, &written, language);
        if let Some(literal) = text.literal()
            && let Err(error) = check(kind, &literal)
        {
            let help = error.hint().unwrap_or_default().into_owned();
            self.error_with_help(Code::BadTimer, time, &format!("`{literal}`: {error}"), &help);
            return None;
        }
        Some(TimerDefinition { kind, text, zone })
    }
}

fn check(kind: TimerKind, literal: &str) -> Result<(), TimeError> {
    match kind {
        TimerKind::Date => Timestamp::parse(literal).map(drop),
        TimerKind::Duration => Span::parse_delay(literal).map(drop),
        TimerKind::Cycle if literal.starts_with('R') => Cycle::parse(literal).map(drop),
        TimerKind::Cycle => Cron::parse(literal).map(drop),
    }
}
