//! `schedule:v1` (rules 20 to 26).

use meantime_core::OnExisting;
use meantime_core::time;

use super::fields::MappingReader;
use super::reader::Reader;
use super::waiting::instant;
use crate::code::Code;
use crate::definition::{Expression, Kind, MaxRuns, Schedule};
use crate::yaml::{Content, Node};

impl Reader<'_> {
    pub(super) fn schedule(&mut self, fields: &mut MappingReader<'_>) -> Option<Schedule> {
        const ON_EXISTING: [(&str, OnExisting); 3] = [
            ("fail", OnExisting::Fail),
            ("upsert", OnExisting::Upsert),
            ("addAnother", OnExisting::AddAnother),
        ];
        if self.kind == Kind::Api {
            self.report
                .error(Code::ScheduleKind, fields.span, "an API makes no schedules")
                .help("use `kind: Journey`");
        }
        let start = self.required(fields, "start", Code::ScheduleStart);
        let start =
            start.and_then(|node| self.target(node, &fields.name("start"), Code::ScheduleStart));
        let interval = self.required(fields, "interval", Code::ScheduleInterval);
        let least = self.limits.binding_interval_ms;
        let interval = interval.and_then(|node| {
            let code = Code::ScheduleInterval;
            self.timed(node, &fields.name("interval"), code, code, |it| parse_interval(it, least))
        });
        let max_runs = self.required(fields, "maxRuns", Code::ScheduleMaxRuns);
        let max_runs = max_runs.and_then(|node| self.max_runs(node, &fields.name("maxRuns")));
        let code = Code::ScheduleStartAt;
        let start_at = match fields.get("startAt") {
            Some(node) => self.timed(node, &fields.name("startAt"), code, code, instant).map(Some),
            None => Some(None),
        };
        let subject = self.optional_mapper(fields, "subjectId");
        let context = self.optional_mapper(fields, "context");
        let on_existing = match fields.get("onExisting") {
            Some(node) => {
                let name = fields.name("onExisting");
                self.one_of(node, &name, Code::ScheduleOnExisting, &ON_EXISTING)
            }
            None => Some(OnExisting::Fail),
        };
        Some(Schedule {
            start: start?,
            start_at: start_at?,
            interval: interval?,
            max_runs: max_runs?,
            subject: subject?,
            context: context?,
            on_existing: on_existing?,
        })
    }

    /// Rule 23.
    fn max_runs(&mut self, node: &Node, what: &str) -> Option<MaxRuns> {
        if matches!(node.content, Content::Map(_)) {
            let bindings = self.bindings();
            let mapper = self.mapper_object(node, what, Code::ScheduleMaxRuns, &bindings);
            return mapper.map(MaxRuns::Mapper);
        }
        let runs = self.integer(node, what, Code::ScheduleMaxRuns, 1)?;
        u64::try_from(runs).ok().map(MaxRuns::Literal)
    }

    /// Rule 25. The outer option is an error.
    #[expect(clippy::option_option, reason = "none is an error, none inside is not there")]
    fn optional_mapper(
        &mut self,
        fields: &mut MappingReader<'_>,
        key: &'static str,
    ) -> Option<Option<Expression>> {
        let Some(node) = fields.get(key) else { return Some(None) };
        let bindings = self.bindings();
        let name = fields.name(key);
        self.mapper_object(node, &name, Code::ScheduleMappers, &bindings).map(Some)
    }
}

/// Rule 22: a duration greater than zero and not shorter than the engine allows (S11).
fn parse_interval(text: &str, least_ms: i64) -> Result<time::Span, String> {
    let span = time::Span::parse_delay(text).map_err(|error| error.to_string())?;
    if span.is_zero() {
        return Err("an interval is longer than zero".to_owned());
    }
    if span.approx_millis() < least_ms {
        let least = time::Span::from_millis(least_ms);
        return Err(format!("{span} is shorter than the shortest interval, {least}"));
    }
    Ok(span)
}
