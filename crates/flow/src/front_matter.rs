//! Front matter: settings in the first comment of a file, so that the file stays JavaScript.
//!
//! ```text
//! /* meantime
//! name: order
//! deadline: P14D
//! */
//! ```

use meantime_core::time::{Cron, Span, TimeError, Zone};
use meantime_core::{Diagnostic, Limits, Position, Recurrence, RetryPolicy, Trigger};
use meantime_script::front_matter;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::host::{RetryOptions, UnparsedTime};
use crate::problem::Code;
use crate::yaml::{Spanned, YamlProblem, position_of, read};

/// The settings of the front matter.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) name: Option<(String, Position)>,
    pub(crate) deadline: Option<Span>,
    pub(crate) schedule: Option<(Recurrence, Position)>,
    pub(crate) retry: RetryPolicy,
    pub(crate) tags: Vec<String>,
}

impl Settings {
    /// The triggers that start instances without a caller.
    pub(crate) fn triggers(&self) -> Vec<Trigger> {
        let timer = |(recurrence, _): &(Recurrence, Position)| Trigger::Timer {
            element: "schedule".to_owned(),
            recurrence: recurrence.clone(),
        };
        self.schedule.iter().map(timer).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FrontMatterYaml {
    name: Option<Spanned<String>>,
    deadline: Option<Spanned<String>>,
    schedule: Option<Spanned<ScheduleYaml>>,
    retry: Option<Spanned<RetryYaml>>,
    #[serde(default)]
    tags: Vec<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScheduleYaml {
    cron: Option<Spanned<String>>,
    interval: Option<Spanned<String>>,
    zone: Option<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RetryYaml {
    max_attempts: Option<u32>,
    backoff: Option<Spanned<String>>,
    max_delay: Option<Spanned<String>>,
}

/// Reads the front matter of a text, if it has one.
pub(crate) fn settings(text: &str, limits: &Limits) -> (Settings, Vec<Diagnostic>) {
    let Some((yaml, line)) = find_front_matter(text) else {
        return (Settings::default(), Vec::new());
    };
    let mut reader =
        FrontMatterReader { line, limits, problems: Vec::new(), settings: Settings::default() };
    if !yaml.trim().is_empty() {
        // Valid YAML that is not a valid setting is reported for that setting.
        let read = read::<IgnoredAny>(yaml).map_err(|problem| (Code::FrontMatter, problem));
        let read = read.and_then(|_| read_settings(yaml));
        match read {
            Ok(written) => reader.apply(written),
            Err((code, problem)) => {
                let at = reader.position((problem.line, problem.column));
                reader.problems.push(code.at(at, problem.message));
            }
        }
    }
    (reader.settings, reader.problems)
}

fn read_settings(yaml: &str) -> Result<FrontMatterYaml, (Code, YamlProblem)> {
    read(yaml).map_err(|problem| (Code::Setting, problem))
}

/// The YAML in the first comment, and the line before it.
fn find_front_matter(text: &str) -> Option<(&str, u32)> {
    let found = front_matter(text)?;
    // Without an end the comment is the rest of the file, which the check of the script reports.
    found.end?;
    let yaml = text.get(found.yaml.0..found.yaml.1)?;
    let lines = text.get(..found.yaml.0).unwrap_or_default().matches('\n').count();
    Some((yaml, u32::try_from(lines).unwrap_or(0)))
}

struct FrontMatterReader<'l> {
    /// The line before the first line of the YAML.
    line: u32,
    limits: &'l Limits,
    problems: Vec<Diagnostic>,
    settings: Settings,
}

impl FrontMatterReader<'_> {
    fn position(&self, (line, column): (u32, u32)) -> Position {
        Position { line: self.line.saturating_add(line), column }
    }

    fn report_invalid<T>(&mut self, value: &Spanned<T>, message: String, help: Option<String>) {
        let at = self.position(position_of(value));
        let mut problem = Code::Setting.at(at, message);
        problem.help = help;
        self.problems.push(problem);
    }

    fn time_problem<T>(&mut self, value: &Spanned<T>, error: &TimeError) {
        let help = error.hint().map(std::borrow::Cow::into_owned);
        self.report_invalid(value, error.to_string(), help);
    }

    fn apply(&mut self, written: FrontMatterYaml) {
        if let Some(name) = written.name {
            let at = self.position(position_of(&name));
            self.settings.name = Some((name.value, at));
        }
        if let Some(deadline) = written.deadline {
            match Span::parse_delay(&deadline.value) {
                Ok(span) if span.is_zero() => {
                    self.report_invalid(&deadline, "the deadline cannot be zero".to_owned(), None);
                }
                Ok(span) => self.settings.deadline = Some(span),
                Err(error) => self.time_problem(&deadline, &error),
            }
        }
        if let Some(schedule) = written.schedule {
            self.schedule(&schedule);
        }
        if let Some(retry) = written.retry {
            self.retry(&retry);
        }
        for tag in written.tags {
            if tag.value.is_empty() || tag.value.len() > self.limits.name_bytes {
                self.report_invalid(&tag, "a tag is neither empty nor long".to_owned(), None);
            } else {
                self.settings.tags.push(tag.value);
            }
        }
        if self.settings.tags.len() > self.limits.tags {
            let at = Position { line: self.line, column: 1 };
            let text = format!("there are more than {} tags", self.limits.tags);
            self.problems.push(Code::Setting.at(at, text));
        }
    }

    fn schedule(&mut self, schedule: &Spanned<ScheduleYaml>) {
        let zone = match &schedule.value.zone {
            None => Zone::utc(),
            Some(zone) => match Zone::parse(&zone.value) {
                Ok(zone) => zone,
                Err(error) => return self.time_problem(zone, &error),
            },
        };
        let name = zone.name().to_owned();
        let recurrence = match (&schedule.value.cron, &schedule.value.interval) {
            (Some(cron), None) => match Cron::parse(&cron.value) {
                Ok(_) => Recurrence::Cron(cron.value.clone(), name),
                Err(error) => return self.time_problem(cron, &error),
            },
            (None, Some(interval)) => match Span::parse_delay(&interval.value) {
                Ok(span) => Recurrence::Cycle(format!("R/{span}"), name),
                Err(error) => return self.time_problem(interval, &error),
            },
            _ => {
                let text = "a schedule has either `cron` or `interval`".to_owned();
                return self.report_invalid(schedule, text, None);
            }
        };
        if let Some(problem) = recurrence.problem(self.limits) {
            let written = schedule.value.cron.as_ref().or(schedule.value.interval.as_ref());
            return match written {
                Some(written) => self.report_invalid(written, problem, None),
                None => self.report_invalid(schedule, problem, None),
            };
        }
        self.settings.schedule = Some((recurrence, self.position(position_of(schedule))));
    }

    fn retry(&mut self, retry: &Spanned<RetryYaml>) {
        let mut options =
            RetryOptions { max_attempts: retry.value.max_attempts, ..RetryOptions::default() };
        for (written, target) in [
            (&retry.value.backoff, &mut options.backoff),
            (&retry.value.max_delay, &mut options.max_delay),
        ] {
            let Some(written) = written else { continue };
            match UnparsedTime::of_text(&written.value).duration_ms() {
                Ok(_) => *target = Some(UnparsedTime::of_text(&written.value)),
                Err(problem) => return self.report_invalid(written, problem.message, None),
            }
        }
        match options.policy(RetryPolicy::default()) {
            Ok(policy) => self.settings.retry = policy,
            Err(problem) => self.report_invalid(retry, problem.message, None),
        }
    }
}
