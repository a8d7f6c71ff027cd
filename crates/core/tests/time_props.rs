//! Properties of the time maths, for any input.
//!
//! The cron reference below shares no code with the engine: another crate decides which civil
//! minutes match, and the reference walks over every minute and applies S13 literally.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use meantime_core::time::{
    Cron, Cycle, First, Occurrence, Rule, Span, Timestamp, Zone, occurrence_at_or_after,
    occurrences, skipped, skipped_at_most,
};
use proptest::prelude::*;
use proptest::sample::select;

const ZONES: [&str; 10] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Africa/Monrovia",
    "Antarctica/Troll",
];

/// `PROPTEST_CASES` sets more than the 256 cases of a normal run; 20,000 take about 20 seconds.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_read_or_refused(text in any_text()) {
        let _ = Timestamp::parse(&text);
        let _ = Span::parse_delay(&text);
        let _ = Cycle::parse(&text);
        let _ = Cron::parse(&text);
        let _ = Zone::parse(&text);
    }

    #[test]
    fn instants_print_and_parse_back(at in any_instant(), offset in -1439_i64..1440) {
        prop_assert_eq!(Timestamp::parse(&at.to_string()), Ok(at));
        // The same instant, as a clock with another offset shows it.
        if let Some(local) = at.checked_add_millis(offset * 60_000) {
            let sign = if offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            let text = local.to_string().replace('Z', &format!("{sign}{hours:02}:{minutes:02}"));
            prop_assert_eq!(Timestamp::parse(&text), Ok(at));
        }
    }

    #[test]
    fn durations_and_cycles_print_and_parse_back(
        span in any_span(),
        n in any::<u32>(),
        at in any_instant(),
    ) {
        prop_assert_eq!(Span::parse(&span.to_string()), Ok(span));
        let forms = [format!("R{n}/{span}"), format!("R/{at}/{span}"), format!("R{n}/{span}/{at}")];
        for text in forms {
            if let Ok(cycle) = Cycle::parse(&text) {
                prop_assert_eq!(Cycle::parse(&cycle.to_string()), Ok(cycle));
                prop_assert_eq!(cycle.to_string(), text);
            } else {
                prop_assert!(span.is_zero() || span.is_negative());
            }
        }
    }

    #[test]
    fn sums_never_panic_and_follow_the_sign(
        span in any_span(),
        at in any_instant(),
        zone in any_zone(),
        n in any::<u64>(),
    ) {
        let _ = span.times(n).and_then(|span| span.add_to(at, &zone));
        if let Ok(sum) = span.add_to(at, &zone) {
            prop_assert!(sum == at || (sum < at) == span.is_negative());
            prop_assert!(!span.is_zero() || sum == at);
        }
    }

    #[test]
    fn occurrences_increase_and_can_be_entered_anywhere(
        rule in any_rule(),
        skip in 0_usize..300,
        early in 0_i64..90_000_000,
    ) {
        let all: Vec<Occurrence> = occurrences(&rule, Timestamp::MIN).take(300).collect();
        for pair in all.windows(2) {
            prop_assert!(pair[0].at < pair[1].at && pair[0].number < pair[1].number);
        }
        let Some(enter) = all.get(skip.min(all.len().saturating_sub(1))) else { return Ok(()) };
        let Some(last) = all.last() else { return Ok(()) };

        let rest = |after: Timestamp| all.iter().copied().filter(move |next| next.at > after);
        for back in [0, 1, early] {
            let after = enter.at.saturating_add_millis(-back);
            let wanted: Vec<_> = rest(after).collect();
            let entered: Vec<_> = occurrences(&rule, after).take(wanted.len()).collect();
            prop_assert_eq!(&entered, &wanted);
            let (count, first, end) = skipped(&rule, after, last.at);
            prop_assert_eq!((first, end), (wanted.first().copied(), wanted.last().copied()));
            let numbers = wanted.last().map_or(0, |last| last.number + 1 - wanted[0].number);
            prop_assert_eq!(count, numbers);
            // The earliest ones, by number.
            let few = (skip as u64).min(count);
            let (_, _, end) = skipped_at_most(&rule, after, last.at, few);
            let below = |next: &&Occurrence| next.number < wanted[0].number + few;
            prop_assert_eq!(end, wanted.iter().rfind(below).copied());
        }
        prop_assert_eq!(occurrence_at_or_after(&rule, enter.at), Some(*enter));
    }

    #[test]
    fn rules_survive_storage(rule in any_rule()) {
        let bytes = minicbor::to_vec(&rule).unwrap();
        prop_assert_eq!(&minicbor::decode::<Rule>(&bytes).unwrap(), &rule);
        let json = serde_json::to_string(&rule).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Rule>(&json).unwrap(), &rule);
    }

    #[test]
    fn s13_cron_agrees_with_walking_over_every_minute(
        text in any_cron(),
        (name, start) in any_change(),
    ) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let end = start.saturating_add_millis(72 * 3_600_000);
        let wanted = reference(&text, name, start, end);
        let rule = Rule::cron(cron, name.parse().unwrap(), start);
        let found = occurrences(&rule, start).map(|next| next.at).take_while(|at| *at <= end);
        let found: Vec<_> = found.collect();
        prop_assert_eq!(&found, &wanted, "{} in {} from {}", text, name, start);
        // A search that starts anywhere, also within a second pass, finds the same occurrence with
        // the same number.
        for minutes in (0..72 * 60).step_by(7) {
            let after = start.saturating_add_millis(minutes * 60_000);
            let number = wanted.partition_point(|at| *at <= after);
            let Some(at) = wanted.get(number) else { break };
            let found = occurrences(&rule, after).next().map(|next| (next.number, next.at));
            prop_assert_eq!(found, Some((number as u64, *at)), "{} in {} at {}", text, name, after);
        }
    }

    #[test]
    fn s13_sparse_expressions_agree_with_another_crate_in_utc(text in any_cron(), at in recent()) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let rule = Rule::cron(cron, Zone::UTC, at);
        let from = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap();
        let from = from.to_zoned(TimeZone::UTC);
        let other = croner::Cron::from_str(&text).unwrap();
        let wanted = other.iter_after(from).take(20).map(|next| next.timestamp().as_millisecond());
        let found = occurrences(&rule, at).take(20).map(|next| next.at.as_millis());
        prop_assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "{}", text);
    }
}

/// Occurrences after `start` and up to `end`, by the literal text of S13.
fn reference(text: &str, zone: &str, start: Timestamp, end: Timestamp) -> Vec<Timestamp> {
    let elapsed = text.split(' ').nth(1).unwrap().contains(['*', '/']);
    let zone = jiff::tz::TimeZoneDatabase::bundled().get(zone).unwrap();
    let cron = croner::Cron::from_str(text).unwrap();
    let matches = |civil: DateTime| {
        let shown = civil.to_zoned(TimeZone::UTC).unwrap();
        cron.is_time_matching(&shown).unwrap()
    };
    let minute = |at: Timestamp| at.as_millis().div_euclid(60_000);
    // Wide enough to include the first pass of every civil minute near the edges.
    let walk: Vec<(i64, DateTime)> = (minute(start) - 2880..=minute(end) + 2880)
        .map(|minute| {
            (minute, zone.to_datetime(jiff::Timestamp::from_second(minute * 60).unwrap()))
        })
        .collect();
    let mut found = BTreeSet::new();
    if elapsed {
        found.extend(walk.iter().filter(|(_, shown)| matches(*shown)).map(|(minute, _)| *minute));
    } else {
        // Every matching civil minute fires when the clock first shows it or a later one.
        let mut next = walk[0].1;
        for (minute, shown) in &walk {
            while next <= *shown {
                if matches(next) {
                    found.insert(*minute);
                }
                next = next.checked_add(jiff::SignedDuration::from_mins(1)).unwrap();
            }
        }
    }
    let instants = found.into_iter().map(|minute| Timestamp::from_millis(minute * 60_000));
    instants.filter(|at| start < *at && *at <= end).collect()
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[RP0-9TYMWDHS./:+Z-]{0,30}",
        "[-]?P([0-9]{1,13}[YMWD]){0,4}T?([0-9.,]{1,13}[HMS]){0,3}",
        "R[0-9]{0,14}/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z/P[0-9]D",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([0-9]{2}:){2}[0-9]{2}[.]?[0-9]{0,12}[Zz+-]?([0-9:]{5})?",
        "([0-9*?/,#LW-]{1,6} ){4,6}[A-Z0-9#L*]{1,5}",
        "@[a-z]{0,9}",
        "[A-Z][a-z]{1,9}/[A-Z][a-z_]{1,9}",
    ]
}

fn any_instant() -> impl Strategy<Value = Timestamp> {
    let all = Timestamp::MIN.as_millis()..=Timestamp::MAX.as_millis();
    prop_oneof![
        all.prop_map(Timestamp::from_millis),
        recent(),
        any_change().prop_map(|(_, at)| at),
        Just(Timestamp::MIN),
        Just(Timestamp::MAX)
    ]
}

/// Between 1970 and 2100.
fn recent() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_102_444_800_000).prop_map(Timestamp::from_millis)
}

/// A zone, and an instant up to two days before it changes its offset.
fn any_change() -> impl Strategy<Value = (&'static str, Timestamp)> {
    // Before 1973 some offsets have seconds, which a walk over minutes would miss.
    (select(&ZONES[..]), 1973_i16..2060, 0_usize..4, 0_i64..2880).prop_map(
        |(name, year, nth, minutes)| {
            let zone = jiff::tz::TimeZoneDatabase::bundled().get(name).unwrap();
            let year = DateTime::new(year, 1, 1, 0, 0, 0, 0).unwrap();
            let start = zone.to_timestamp(year).unwrap();
            let change = zone.following(start).nth(nth).map_or(start, |change| change.timestamp());
            let minute = change.as_second().div_euclid(60) - minutes;
            (name, Timestamp::from_millis(minute * 60_000))
        },
    )
}

fn any_zone() -> impl Strategy<Value = Zone> {
    select(&ZONES[..]).prop_map(|name| name.parse().unwrap())
}

fn any_span() -> impl Strategy<Value = Span> {
    let part = || prop_oneof![4 => Just(0_u64), 3 => 0_u64..100, 1 => 0_u64..1_000_000_000_000];
    let parts = (part(), part(), part(), part(), part(), part(), part());
    (parts, 0_u32..1000, any::<bool>()).prop_map(|((y, m, w, d, h, min, s), millis, negative)| {
        let sign = if negative { "-" } else { "" };
        Span::parse(&format!("{sign}P{y}Y{m}M{w}W{d}DT{h}H{min}M{s}.{millis:03}S")).unwrap()
    })
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let interval = select(vec![
        "P1D", "P1W", "P1M", "P1Y", "P3M", "PT24H", "PT1M", "PT0.001S", "P1MT1H", "P1DT1S", "P5Y",
        "P1M1D", "PT999H", "P1000Y",
    ]);
    let limits = || (proptest::option::of(0_u64..400), proptest::option::of(any_instant()));
    let every = (any_instant(), interval, any_zone(), any::<bool>(), limits());
    let every = every.prop_map(|(anchor, interval, zone, at_anchor, (count, until))| {
        let first = if at_anchor { First::AtAnchor } else { First::AfterInterval };
        Rule::Every { anchor, interval: interval.parse().unwrap(), zone, first, count, until }
    });
    let cron = (any_cron(), any_zone(), any_instant(), limits());
    let cron = cron.prop_map(|(text, zone, from, (count, until))| {
        let cron = Cron::parse(&text).or_else(|_| Cron::parse("*/10 * * * * *")).unwrap();
        Rule::Cron { cron, zone, from, count, until }
    });
    prop_oneof![3 => every, 3 => cron, 1 => any_instant().prop_map(Rule::once)]
}

/// Five fields; those that never match are skipped.
fn any_cron() -> impl Strategy<Value = String> {
    let any = || Just("*".to_owned());
    let fixed = |text: &str| Just(text.to_owned());
    let minute = prop_oneof![
        any(),
        "[0-5]?[0-9]",
        "[*]/[1-9]",
        "1?[0-9]-[2-5][0-9]",
        "[0-9],[1-5][0-9]",
        "[1-9]-59/[1-9]"
    ];
    // Most clock changes happen in the first hours of a day.
    let hour = prop_oneof![
        2 => any(),
        3 => "[0-4]",
        1 => "1?[0-9]",
        2 => "[*]/[1-9]",
        2 => "[0-3]-[4-9]",
        1 => "[0-3],[4-9]",
        1 => "[0-3]-1[0-9]/[1-4]"
    ];
    let day = prop_oneof![
        6 => any(),
        1 => "[1-9]",
        1 => "[12][0-9]",
        1 => fixed("31"),
        1 => fixed("L"),
        1 => "[1-9],2[0-9]",
        1 => "[1-9]-[12][0-9]/[1-3]"
    ];
    let month = prop_oneof![
        6 => any(),
        1 => "[1-9]",
        1 => "1[0-2]",
        1 => "[1-3]-[4-9]",
        1 => fixed("MAR,OCT")
    ];
    let weekday = prop_oneof![
        6 => any(),
        1 => "[0-7]",
        1 => "[0-2]-[3-6]",
        1 => fixed("SUN"),
        1 => "[0-6]#[1-4]",
        1 => "[0-6]L"
    ];
    (minute, hour, day, month, weekday).prop_map(|(minute, hour, day, month, weekday)| {
        format!("{minute} {hour} {day} {month} {weekday}")
    })
}
