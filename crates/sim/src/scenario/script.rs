//! The words of a script line.

use meantime_core::time::{Span, Zone};
use meantime_core::{Json, Timestamp};

/// One line of a script, split into words and options.
#[derive(Debug, Clone)]
pub(super) struct ScriptLine {
    pub(super) words: Vec<String>,
    options: Vec<(String, String)>,
    flags: Vec<String>,
}

/// Words that are flags at any position.
const FLAG_WORDS: [&str; 3] = ["final", "idle", "stale"];

impl ScriptLine {
    /// Splits a line; `#` begins a comment.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.split(" #").next().unwrap_or_default().trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let mut line = Self { words: Vec::new(), options: Vec::new(), flags: Vec::new() };
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some((name, value)) if name.chars().all(|it| it.is_ascii_alphabetic()) => {
                    line.options.push((name.to_owned(), value.to_owned()));
                }
                _ if FLAG_WORDS.contains(&word) => line.flags.push(word.to_owned()),
                _ => line.words.push(word.to_owned()),
            }
        }
        Some(line)
    }

    /// The value of an option.
    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A numeric option.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.option(name).and_then(|text| text.parse().ok())
    }

    /// Whether a flag is given.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.flags.iter().any(|flag| flag == name)
    }

    /// A word as JSON; `null` if it is missing, a string of N bytes if it is `bytes:N`.
    pub(super) fn json(&self, index: usize) -> Json {
        match self.words.get(index) {
            None => Json::null(),
            Some(word) => match word.strip_prefix("bytes:").and_then(|it| it.parse().ok()) {
                Some(count) => Json::of(&"x".repeat(count)).unwrap_or_default(),
                None => Json::parse(word).unwrap_or_else(|error| panic!("{word}: {error}")),
            },
        }
    }

    /// The rest of the words as one text.
    pub(super) fn words_from(&self, from: usize) -> String {
        self.words.get(from..).unwrap_or_default().join(" ")
    }
}

/// An instant, or a span after now: `2026-01-01T00:00:00Z`, `+PT5M`, `-PT5M`.
pub(super) fn instant(text: &str, now: Timestamp) -> Timestamp {
    if let Some(span) = text.strip_prefix('+') {
        let span = Span::parse(span).unwrap_or_else(|error| panic!("{text}: {error}"));
        span.add_to(now, &Zone::utc()).unwrap_or(Timestamp::MAX)
    } else if let Some(span) = text.strip_prefix('-') {
        let span =
            Span::parse(&format!("-{span}")).unwrap_or_else(|error| panic!("{text}: {error}"));
        span.add_to(now, &Zone::utc()).unwrap_or(Timestamp::MIN)
    } else {
        Timestamp::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}
