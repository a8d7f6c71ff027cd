//! The rules of time, one table each; test names cite the rule.

use super::{
    Cron, Cycle, First, Occurrence, Rule, Span, TimeError, Timestamp, Zone, occurrence_at_or_after,
    occurrences, skipped, skipped_at_most,
};

mod cron;
mod series;
mod text;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn zone(name: &str) -> Zone {
    name.parse().unwrap()
}

fn span(text: &str) -> Span {
    text.parse().unwrap()
}

/// The first few occurrences after an instant, as text.
fn after(rule: &Rule, from: &str, most: usize) -> Vec<String> {
    occurrences(rule, at(from)).take(most).map(|next| next.at.to_string()).collect()
}
