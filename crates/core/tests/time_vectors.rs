//! The time maths compared with vectors of an independent program.
//!
//! `vectors/generate.py` computes them by brute force from the written rules, with another zone
//! implementation; its header says how to run it. A failure names the case.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use meantime_core::time::{
    Cron, First, Rule, Span, Timestamp, Zone, occurrence_at_or_after, occurrences, skipped,
};
use serde::de::DeserializeOwned;

#[derive(serde::Deserialize)]
struct Vectors<T> {
    cases: Vec<T>,
}

/// A first instant and runs of equal steps, in seconds.
type Runs = Vec<serde_json::Value>;

#[test]
fn t3_sums_agree_with_the_oracle() {
    let cases: Vec<(Zone, i64, Span, i64)> = load(include_str!("vectors/additions.json"));
    assert!(cases.len() > 1000);
    for (zone, start, span, end) in cases {
        let sum = span.add_to(at(start), &zone);
        assert_eq!(sum, Ok(at(end)), "{} + {span} in {zone}", at(start));
    }
}

#[test]
fn s1_interval_series_agree_with_the_oracle_over_ten_years() {
    let cases: Vec<(Zone, i64, Span, i64, Runs)> = load(include_str!("vectors/series.json"));
    assert!(cases.len() > 100);
    for (zone, anchor, interval, end, runs) in cases {
        let name = format!("{interval} from {} in {zone}", at(anchor));
        let rule = Rule::every(at(anchor), interval, zone, First::AtAnchor).unwrap();
        check_series(&name, &rule, at(anchor), at(end), &expand(&runs));
    }
}

#[test]
fn s13_cron_agrees_with_the_oracle_around_every_clock_change() {
    check_cron(include_str!("vectors/cron_dst.json"), 1000);
}

#[test]
fn s13_days_months_and_weekdays_agree_with_the_oracle() {
    check_cron(include_str!("vectors/cron_days.json"), 30);
}

fn check_cron(text: &str, at_least: usize) {
    let cases: Vec<(Zone, Cron, i64, i64, Runs)> = load(text);
    assert!(cases.len() >= at_least);
    for (zone, cron, start, end, runs) in cases {
        let name = format!("{cron} in {zone} from {}", at(start));
        let rule = Rule::cron(cron, zone, at(start).saturating_add_millis(-1));
        check_series(&name, &rule, at(start), at(end), &expand(&runs));
    }
}

/// The whole series from `start` to `end`, and lookups that start in its middle.
fn check_series(name: &str, rule: &Rule, start: Timestamp, end: Timestamp, wanted: &[Timestamp]) {
    let before = start.saturating_add_millis(-1);
    let found: Vec<_> = occurrences(rule, before).take_while(|next| next.at < end).collect();
    let instants: Vec<_> = found.iter().map(|next| next.at).collect();
    assert_eq!(instants, wanted, "{name}");

    let last = end.saturating_add_millis(-1);
    let (count, first, final_one) = skipped(rule, before, last);
    assert_eq!((first, final_one), (found.first().copied(), found.last().copied()), "{name}");
    let numbers = found.last().map_or(0, |last| last.number + 1 - found[0].number);
    assert_eq!(count, numbers, "{name}");
    for next in found.iter().step_by(1 + found.len() / 20) {
        assert_eq!(occurrence_at_or_after(rule, next.at), Some(*next), "{name}");
    }
}

fn load<T: DeserializeOwned>(text: &str) -> Vec<T> {
    serde_json::from_str::<Vectors<T>>(text).unwrap().cases
}

fn expand(runs: &Runs) -> Vec<Timestamp> {
    let mut runs = runs.iter();
    let Some(first) = runs.next() else { return Vec::new() };
    let mut moment = first.as_i64().unwrap();
    let mut instants = vec![at(moment)];
    for run in runs {
        for _ in 0..run[1].as_u64().unwrap() {
            moment += run[0].as_i64().unwrap();
            instants.push(at(moment));
        }
    }
    instants
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}
