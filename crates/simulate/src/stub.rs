//! What workers, people and other systems do in a simulation.

use std::collections::BTreeMap;

use meantime_core::time::{Span, Zone};
use meantime_core::{Json, SplitMix64, Timestamp};
use serde::Deserialize;

use crate::yaml::{self, YamlProblem};

/// The stubs of a simulation. A task, a person or a signal without a stub never answers.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Stubs {
    /// Workers, by task type; `*` is every other type.
    pub tasks: BTreeMap<String, Stub>,
    /// Outbound calls; the first that matches answers.
    pub http: Vec<Stub>,
    /// People, by element or type of their task; `*` is every other one.
    pub people: BTreeMap<String, Stub>,
    /// Signals that arrive, by name.
    pub signals: BTreeMap<String, Stub>,
    /// Messages that arrive, by name.
    pub messages: BTreeMap<String, Stub>,
    /// Submissions of journey steps, by step.
    pub steps: BTreeMap<String, Stub>,
}

/// What one of them answers, and after which time.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Stub {
    /// The name of the outcome, for branches.
    pub name: Option<String>,
    /// The method of a call; none matches all.
    pub method: Option<String>,
    /// The URL of a call; `*` stands for any text.
    pub url: Option<String>,
    /// The output of a task.
    #[serde(deserialize_with = "crate::yaml::some_json")]
    pub returns: Option<Json>,
    /// The payload of a signal or message.
    #[serde(deserialize_with = "crate::yaml::some_json")]
    pub payload: Option<Json>,
    /// The body of a response or submission.
    #[serde(deserialize_with = "crate::yaml::some_json")]
    pub body: Option<Json>,
    /// The status of a response.
    pub status: Option<u16>,
    /// The headers of a response.
    pub headers: BTreeMap<String, String>,
    /// The error of a task or call.
    pub fails: Option<StubFailure>,
    /// How long it takes, an ISO 8601 duration.
    pub takes: Option<String>,
    /// The shortest and longest time, chosen at random by the seed.
    pub takes_between: Option<(String, String)>,
    /// The share of attempts that fail with `fails`, from 0 to 1; the others return.
    pub failure_rate: Option<f64>,
    /// It never answers.
    pub never: bool,
    /// Different answers one after another; the last one repeats.
    pub in_turn: Vec<Self>,
    /// Alternatives: the first one, unless branches are explored.
    pub one_of: Vec<Self>,
}

/// An error of a task or call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StubFailure {
    /// The code.
    pub code: String,
    /// The message.
    pub message: String,
    /// Additional data.
    #[serde(deserialize_with = "crate::yaml::some_json")]
    pub data: Option<Json>,
    /// Whether another attempt may help.
    pub retryable: bool,
    /// A BPMN error with this code is thrown.
    pub bpmn_error: Option<String>,
}

/// Who uses a stub: decides which members it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StubSection {
    Task,
    Http,
    Arrival,
    Step,
}

/// Reads a file of stubs.
pub fn read_stubs(text: &str) -> Result<Stubs, YamlProblem> {
    let stubs: Stubs = yaml::read(text)?;
    stubs.check().map_err(YamlProblem::of_file)?;
    Ok(stubs)
}

impl Stubs {
    /// Every worker task without a stub returns null at once.
    pub fn complete_other_tasks(&mut self) {
        let null = Stub { returns: Some(Json::null()), ..Stub::default() };
        self.tasks.entry("*".to_owned()).or_insert(null);
    }

    /// Checks what the types cannot: which members belong together, and durations.
    pub(crate) fn check(&self) -> Result<(), String> {
        let named = [
            (&self.tasks, "tasks", StubSection::Task),
            (&self.people, "people", StubSection::Task),
            (&self.signals, "signals", StubSection::Arrival),
            (&self.messages, "messages", StubSection::Arrival),
            (&self.steps, "steps", StubSection::Step),
        ];
        for (stubs, title, section) in named {
            for (name, stub) in stubs {
                stub.check(&format!("{title}.{name}"), section, true)?;
            }
        }
        for (index, stub) in self.http.iter().enumerate() {
            stub.check(&format!("http[{index}]"), StubSection::Http, true)?;
        }
        Ok(())
    }

    /// These stubs with those of a test case in front.
    pub(crate) fn overridden_by(&self, own: &Self) -> Self {
        let merge = |base: &BTreeMap<String, Stub>, own: &BTreeMap<String, Stub>| {
            let own = own.iter().map(|(name, stub)| (name.clone(), stub.clone()));
            base.clone().into_iter().chain(own).collect()
        };
        Self {
            tasks: merge(&self.tasks, &own.tasks),
            http: own.http.iter().chain(&self.http).cloned().collect(),
            people: merge(&self.people, &own.people),
            signals: merge(&self.signals, &own.signals),
            messages: merge(&self.messages, &own.messages),
            steps: merge(&self.steps, &own.steps),
        }
    }
}

impl Stub {
    fn check(&self, path: &str, section: StubSection, outermost: bool) -> Result<(), String> {
        let refuse = |name: &str| Err(format!("{path}: `{name}` has no meaning here"));
        if self.returns.is_some() && section != StubSection::Task {
            return refuse("returns");
        }
        if self.payload.is_some() && section != StubSection::Arrival {
            return refuse("payload");
        }
        if self.body.is_some() && !matches!(section, StubSection::Http | StubSection::Step) {
            return refuse("body");
        }
        if (self.status.is_some() || !self.headers.is_empty()) && section != StubSection::Http {
            return refuse(if self.status.is_some() { "status" } else { "headers" });
        }
        if (self.url.is_some() || self.method.is_some())
            && (section != StubSection::Http || !outermost)
        {
            return refuse(if self.url.is_some() { "url" } else { "method" });
        }
        if section == StubSection::Http && outermost && self.url.is_none() {
            return Err(format!("{path}: `url` is missing, for example `url: \"https://*\"`"));
        }
        if self.fails.is_some() && !matches!(section, StubSection::Task | StubSection::Http) {
            return refuse("fails");
        }
        if let Some(rate) = self.failure_rate {
            if !(0.0..=1.0).contains(&rate) {
                return Err(format!("{path}: `failureRate` is a number from 0 to 1"));
            }
            if self.fails.is_none() {
                return Err(format!("{path}: `failureRate` needs `fails`, the error"));
            }
        } else if self.fails.is_some() && self.returns.is_some() {
            return Err(format!("{path}: `returns` and `fails` need a `failureRate`"));
        }
        for text in self.takes.iter().chain(self.takes_between.iter().flat_map(|it| [&it.0, &it.1]))
        {
            Span::parse_delay(text).map_err(|error| format!("{path}: {error}"))?;
        }
        if self.takes.is_some() && self.takes_between.is_some() {
            return Err(format!("{path}: either `takes` or `takesBetween`"));
        }
        let is_several = !self.in_turn.is_empty() || !self.one_of.is_empty();
        if !outermost && is_several {
            return Err(format!("{path}: `inTurn` and `oneOf` cannot be nested"));
        }
        if !self.in_turn.is_empty() && !self.one_of.is_empty() {
            return Err(format!("{path}: either `inTurn` or `oneOf`"));
        }
        for (list, what) in [(&self.in_turn, "inTurn"), (&self.one_of, "oneOf")] {
            for (index, inner) in list.iter().enumerate() {
                inner.check(&format!("{path}.{what}[{index}]"), section, false)?;
            }
        }
        Ok(())
    }

    /// When it answers if it is asked at an instant. Durations were checked.
    pub(crate) fn answers_at(&self, asked: Timestamp, randomness: &mut SplitMix64) -> Timestamp {
        let after = |text: &str| {
            let span = Span::parse_delay(text).ok();
            span.and_then(|span| span.add_to(asked, &Zone::UTC).ok()).unwrap_or(asked)
        };
        match (&self.takes, &self.takes_between) {
            (Some(text), _) => after(text),
            (None, Some((least, most))) => {
                let (least, most) = (after(least), after(most));
                let width = u64::try_from(most.saturating_since(least)).unwrap_or_default();
                let extra = randomness.next_u64() % width.saturating_add(1);
                least.saturating_add_millis(i64::try_from(extra).unwrap_or_default())
            }
            (None, None) => asked,
        }
    }

    /// Whether this attempt fails.
    pub(crate) fn fails_now(&self, randomness: &mut SplitMix64) -> Option<&StubFailure> {
        let failure = self.fails.as_ref()?;
        let Some(rate) = self.failure_rate else { return Some(failure) };
        // 53 bits are what a double holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit into a double")]
        let drawn = (randomness.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        (drawn < rate).then_some(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        read_stubs(text).expect_err("it is refused").to_string()
    }

    #[test]
    fn stubs_are_read_with_their_latencies() {
        let stubs = read_stubs(
            "tasks:\n  charge: { returns: { ok: true }, takes: PT2S }\nhttp:\n  - { url: \"https://*\", status: 503 }\n",
        );
        let stubs = stubs.expect("they are good");
        let charge = stubs.tasks.get("charge").expect("it is there");
        let at = Timestamp::from_millis(0);
        assert_eq!(charge.answers_at(at, &mut SplitMix64::new(1)).as_millis(), 2_000);
        assert_eq!(charge.returns.as_ref().map(Json::as_str), Some(r#"{"ok":true}"#));
        assert_eq!(stubs.http[0].status, Some(503));
    }

    #[test]
    fn a_random_latency_stays_within_its_bounds() {
        let stub =
            Stub { takes_between: Some(("PT1S".to_owned(), "PT3S".to_owned())), ..Stub::default() };
        let mut randomness = SplitMix64::new(7);
        let at = Timestamp::from_millis(0);
        let all: Vec<i64> =
            (0..100).map(|_| stub.answers_at(at, &mut randomness).as_millis()).collect();
        assert!(all.iter().all(|ms| (1_000..=3_000).contains(ms)), "{all:?}");
        assert!(all.iter().any(|ms| *ms != all[0]), "they differ");
    }

    #[test]
    fn what_has_no_meaning_is_refused_by_name() {
        assert!(refusal("tusks: {}").contains("tusks"), "{}", refusal("tusks: {}"));
        let wrong = "signals:\n  paid: { returns: 1 }\n";
        assert!(refusal(wrong).starts_with("signals.paid: `returns`"), "{}", refusal(wrong));
        let wrong = "tasks:\n  a: { takes: soon }\n";
        assert!(refusal(wrong).starts_with("tasks.a: "), "{}", refusal(wrong));
        let wrong = "tasks:\n  a: { failureRate: 2, fails: { code: X } }\n";
        assert!(refusal(wrong).contains("from 0 to 1"), "{}", refusal(wrong));
        assert!(refusal("http:\n  - { status: 200 }\n").contains("`url` is missing"));
    }
}
