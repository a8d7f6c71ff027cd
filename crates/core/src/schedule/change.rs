//! Changes of a schedule: given values replace existing ones, and the record contains both.
//!
//! A change is applied by the schedule itself, not where the request was read. So two operators who
//! change different settings at the same time both succeed, and a change that names a generation is
//! refused if the schedule has another one by then (S15).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::{CatchUp, Overlap, ScheduleInput, ScheduleSpec};
use crate::time::{Cron, First, Rule, Span, Zone};
use crate::{Json, Timestamp};

/// A change of a schedule; settings that are not given stay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScheduleChange {
    /// The generation that the change is based on: it is refused if the schedule has another one by
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// The beginning of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Timestamp>,
    /// The interval, which replaces the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// A cron expression, which replaces the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<Cron>,
    /// The zone of local times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    /// The largest number of runs; `null` removes the limit.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<Option<u64>>,
    /// The overlap policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    /// The catch-up policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUp>,
    /// The input of every run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
}

/// A value that is present, even as `null`.
#[expect(clippy::option_option, reason = "not given differs from null")]
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u64>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A value before a change, and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    old: Json,
    new: Json,
}

impl ScheduleSpec {
    /// The specification with a change applied, or why the change is invalid.
    pub fn changed(&self, change: &ScheduleChange) -> Result<Self, String> {
        let mut spec = self.clone();
        spec.rule = changed_rule(&self.rule, change)?;
        spec.anchored |= change.start_at.is_some();
        spec.max_runs = change.max_runs.unwrap_or(spec.max_runs);
        spec.overlap = change.overlap.unwrap_or(spec.overlap);
        spec.catch_up = change.catch_up.unwrap_or(spec.catch_up);
        match (&mut spec.input, &change.input) {
            (ScheduleInput::Input(input), Some(new)) => *input = new.clone(),
            (ScheduleInput::Context(_), Some(_)) => {
                return Err("its runs get a context, not an input".to_owned());
            }
            (_, None) => {}
        }
        Ok(spec)
    }

    /// The differences from another version, by the names of the API.
    pub fn differences(&self, new: &Self) -> BTreeMap<&'static str, Changed> {
        let pairs = self.shown().into_iter().zip(new.shown());
        let changed = pairs.filter(|((_, old), (_, new))| old != new);
        changed.map(|((name, old), (_, new))| (name, Changed { old, new })).collect()
    }

    fn shown(&self) -> [(&'static str, Json); 9] {
        let json = |value: Option<String>| Json::of(&value).unwrap_or_default();
        let (interval, cron) = match &self.rule {
            Rule::Once { .. } => (None, None),
            Rule::Every { interval, .. } => (Some(interval.to_string()), None),
            Rule::Cron { cron, .. } => (None, Some(cron.to_string())),
        };
        let (input, context) = match &self.input {
            ScheduleInput::Input(input) => (abbreviated(input), Json::null()),
            ScheduleInput::Context(context) => (Json::null(), abbreviated(context)),
        };
        [
            ("startAt", json(Some(self.rule.begins().to_string()))),
            ("interval", json(interval)),
            ("cron", json(cron)),
            ("zone", json(Some(self.rule.zone().name().to_owned()))),
            ("maxRuns", Json::of(&self.max_runs).unwrap_or_default()),
            ("overlap", Json::of(&self.overlap).unwrap_or_default()),
            ("catchUp", Json::of(&self.catch_up).unwrap_or_default()),
            ("input", input),
            ("context", context),
        ]
    }
}

/// A value for the record: a large one is replaced by its size.
fn abbreviated(value: &Json) -> Json {
    const MAX_SHOWN_BYTES: usize = 1_024;
    if value.size() <= MAX_SHOWN_BYTES {
        return value.clone();
    }
    Json::of(&BTreeMap::from([("bytes", value.size())])).unwrap_or_default()
}

/// The rule with the given values. Its end stays.
fn changed_rule(rule: &Rule, change: &ScheduleChange) -> Result<Rule, String> {
    let start = change.start_at.unwrap_or_else(|| rule.begins());
    let zone = change.zone.clone().unwrap_or_else(|| rule.zone());
    // A cron rule begins just before its start: an occurrence at the start itself counts.
    let from = start.saturating_add_millis(-1);
    let (count, until) = match rule {
        Rule::Once { .. } => (None, None),
        Rule::Every { count, until, .. } | Rule::Cron { count, until, .. } => (*count, *until),
    };
    Ok(match (&change.interval, &change.cron, rule) {
        (Some(_), Some(_), _) => return Err("give `interval` or `cron`, not both".to_owned()),
        (Some(interval), None, _) => {
            let first = match rule {
                Rule::Every { first, .. } => *first,
                Rule::Once { .. } | Rule::Cron { .. } => First::AtAnchor,
            };
            Rule::Every { anchor: start, interval: *interval, zone, first, count, until }
        }
        (None, Some(cron), _) => Rule::Cron { cron: cron.clone(), zone, from, count, until },
        (None, None, Rule::Once { .. }) => Rule::once(start),
        (None, None, Rule::Every { interval, first, .. }) => {
            Rule::Every { anchor: start, interval: *interval, zone, first: *first, count, until }
        }
        (None, None, Rule::Cron { cron, .. }) => {
            Rule::Cron { cron: cron.clone(), zone, from, count, until }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_can_be_unset_and_what_is_not_given_stays() {
        let read = |text: &str| Json::parse(text).expect("JSON").read::<ScheduleChange>();
        assert_eq!(read("{}").map(|it| it.max_runs), Ok(None));
        assert_eq!(read("{\"maxRuns\":null}").map(|it| it.max_runs), Ok(Some(None)));
        assert_eq!(read("{\"maxRuns\":3}").map(|it| it.max_runs), Ok(Some(Some(3))));
        let unset = ScheduleChange { max_runs: Some(None), ..ScheduleChange::default() };
        assert_eq!(Json::of(&unset).map(|it| it.to_string()), Ok("{\"maxRuns\":null}".to_owned()));
        assert!(read("{\"maxRun\":3}").is_err());
    }
}
