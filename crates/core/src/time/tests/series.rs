//! Sums (T3, T4) and grids (S1, S8, S11, B2).

use super::*;

fn sum(start: &str, duration: &str, name: &str) -> String {
    span(duration).add_to(at(start), &zone(name)).unwrap().to_string()
}

#[test]
fn t3_calendar_parts_clamp_to_the_end_of_the_month() {
    let table = [
        ("2026-01-31T10:00:00Z", "P1M", "2026-02-28T10:00:00Z"),
        ("2028-01-31T10:00:00Z", "P1M", "2028-02-29T10:00:00Z"),
        ("2028-02-29T10:00:00Z", "P1Y", "2029-02-28T10:00:00Z"),
        ("2026-01-31T10:00:00Z", "P1M1D", "2026-03-01T10:00:00Z"),
        ("2026-12-31T10:00:00Z", "P2M", "2027-02-28T10:00:00Z"),
        ("2026-03-31T10:00:00Z", "-P1M", "2026-02-28T10:00:00Z"),
        ("2026-01-01T00:00:00Z", "P1Y2M1W3DT4H5M6.5S", "2027-03-11T04:05:06.500Z"),
        ("2026-01-01T00:00:00Z", "-PT1H", "2025-12-31T23:00:00Z"),
    ];
    for (start, duration, end) in table {
        assert_eq!(sum(start, duration, "UTC"), end, "{start} + {duration}");
    }
}

#[test]
fn t3_p1d_across_dst_keeps_local_time() {
    let eve = "2026-03-28T11:00:00Z"; // noon in Berlin, the day before clocks go forward
    assert_eq!(sum(eve, "P1D", "Europe/Berlin"), "2026-03-29T10:00:00Z");
    assert_eq!(sum(eve, "P1D", "UTC"), "2026-03-29T11:00:00Z");
}

#[test]
fn t3_pt24h_across_dst_does_not_keep_local_time() {
    assert_eq!(sum("2026-03-28T11:00:00Z", "PT24H", "Europe/Berlin"), "2026-03-29T11:00:00Z");
}

#[test]
fn t3_a_skipped_local_time_moves_on_and_of_two_the_first_counts() {
    // 02:30 does not exist on 29 March and exists twice on 25 October.
    assert_eq!(sum("2026-03-28T01:30:00Z", "P1D", "Europe/Berlin"), "2026-03-29T01:30:00Z");
    assert_eq!(sum("2026-10-24T00:30:00Z", "P1D", "Europe/Berlin"), "2026-10-25T00:30:00Z");
}

#[test]
fn t3_sums_out_of_range_are_errors() {
    let huge = "P999999999999Y999999999999M999999999999W999999999999DT999999999999H";
    for (start, duration) in [
        (Timestamp::MAX, "PT0.001S"),
        (Timestamp::MAX, "P1D"),
        (Timestamp::MIN, "-P1D"),
        (Timestamp::default(), huge),
        (Timestamp::default(), "PT999999999999H"),
    ] {
        let error = span(duration).add_to(start, &zone("Europe/Berlin")).unwrap_err();
        assert_eq!(error.code(), "time_out_of_range");
    }
    assert_eq!(span(huge).times(u64::MAX).unwrap_err().code(), "time_out_of_range");
    assert_eq!(span(huge).approx_millis(), i64::MAX);
}

#[test]
fn t4_the_same_arming_always_gives_the_same_instant() {
    let armed = at("2026-10-24T22:15:00Z");
    let due = span("P1MT1H").add_to(armed, &zone("Europe/Berlin")).unwrap();
    assert_eq!(span(&span("P1MT1H").to_string()).add_to(armed, &zone("europe/berlin")), Ok(due));
}

#[test]
fn s1_months_are_counted_from_the_anchor() {
    let rule = Rule::every(at("2026-01-31T10:00:00Z"), span("P1M"), Zone::UTC, First::AtAnchor);
    let found = after(&rule.unwrap(), "2026-01-01T00:00:00Z", 4);
    let wanted = [
        "2026-01-31T10:00:00Z",
        "2026-02-28T10:00:00Z",
        "2026-03-31T10:00:00Z",
        "2026-04-30T10:00:00Z",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn s1_a_day_the_zone_skipped_falls_on_the_next_one_once() {
    let start = at("2011-12-29T20:00:00Z"); // 10:00 on 29 December; Apia had no 30 December
    let rule = Rule::every(start, span("P1D"), zone("Pacific/Apia"), First::AtAnchor).unwrap();
    let found: Vec<_> = occurrences(&rule, start).take(2).collect();
    let wanted = [(1, at("2011-12-30T20:00:00Z")), (3, at("2011-12-31T20:00:00Z"))];
    assert_eq!(found, wanted.map(|(number, at)| Occurrence { number, at }));
}

#[test]
fn s8_the_grid_counts_from_a_start_long_past() {
    let rule = Rule::every(at("2001-01-01T00:00:07Z"), span("PT1S"), Zone::UTC, First::AtAnchor);
    let next = occurrences(&rule.unwrap(), at("2026-01-01T00:00:06.500Z")).next().unwrap();
    assert_eq!(next.at, at("2026-01-01T00:00:07Z"));
    assert_eq!(next.number, 9131 * 86400);
}

#[test]
fn s11_an_interval_of_zero_or_less_is_refused() {
    for interval in ["PT0S", "-PT1M"] {
        let rule =
            Rule::every(at("2026-01-01T00:00:00Z"), span(interval), Zone::UTC, First::AtAnchor);
        assert_eq!(rule.unwrap_err().code(), "invalid_interval");
    }
    assert!(span("P1M").approx_millis() < span("P29D").approx_millis());
    assert_eq!(span("P1D").approx_millis(), span("PT24H").approx_millis());
    assert_eq!(span("-P1W").approx_millis(), -7 * 86_400_000);
}

#[test]
fn b2_cycles_fire_as_the_rule_says() {
    let (armed, start) = ("2026-03-01T09:55:00Z", "2026-03-01T09:00:00Z");
    let table: [(&str, &[&str]); 6] = [
        ("R2/PT10M", &["2026-03-01T10:05:00Z", "2026-03-01T10:15:00Z"]),
        ("R/P1D", &["2026-03-02T09:55:00Z", "2026-03-03T09:55:00Z", "2026-03-04T09:55:00Z"]),
        ("R2/2026-03-01T10:00:00Z/PT10M", &["2026-03-01T10:00:00Z", "2026-03-01T10:10:00Z"]),
        ("R1/2026-03-01T09:30:00Z/PT10M", &["2026-03-01T09:30:00Z"]),
        ("R9/PT10M/2026-03-01T10:15:00Z", &["2026-03-01T10:05:00Z", "2026-03-01T10:15:00Z"]),
        ("R0/PT10M", &[]),
    ];
    for (text, wanted) in table {
        let rule = Cycle::parse(text).unwrap().armed(at(armed), Zone::utc());
        assert_eq!(after(&rule, start, 3), wanted, "{text}");
    }
}

#[test]
fn b10_missed_occurrences_are_counted_without_walking_over_them() {
    let rule = Rule::every(at("2026-01-01T00:00:30Z"), span("PT1M"), Zone::UTC, First::AtAnchor);
    let (from, to) = (at("2026-02-01T00:00:00Z"), at("2026-03-03T00:00:00Z"));
    let (count, first, last) = skipped(&rule.unwrap(), from, to);
    assert_eq!(count, 43_200);
    assert_eq!(first.unwrap().at, at("2026-02-01T00:00:30Z"));
    assert_eq!(last.unwrap().at, at("2026-03-02T23:59:30Z"));

    let rule = Rule::cron(Cron::parse("* * * * *").unwrap(), zone("Europe/Berlin"), from);
    let (count, _, last) = skipped(&rule, from, to);
    assert_eq!((count, last.unwrap().at), (43_200, to));
    let (count, _, last) = skipped(&rule.limited(10), from, to);
    assert_eq!((count, last.unwrap().at), (10, at("2026-02-01T00:10:00Z")));
}

#[test]
fn series_end_at_the_end_of_time() {
    let rule = Rule::every(at("9999-12-31T23:59:00Z"), span("PT20S"), Zone::UTC, First::AtAnchor);
    let rule = rule.unwrap();
    assert_eq!(occurrences(&rule, Timestamp::MIN).count(), 3);
    assert_eq!(skipped(&rule, Timestamp::MIN, Timestamp::MAX).0, 3);
    let daily = Rule::cron(Cron::parse("@daily").unwrap(), zone("Asia/Tokyo"), Timestamp::MIN);
    assert_eq!(occurrences(&daily, at("9999-12-30T00:00:00Z")).count(), 1);
    assert_eq!(occurrences(&daily, Timestamp::MAX).next(), None);
    let (count, _, last) = skipped(&daily, Timestamp::MIN, Timestamp::MAX);
    assert_eq!(count - 1, last.unwrap().number);
    assert_eq!(last.unwrap().at, at("9999-12-30T15:00:00Z"));
    let once = Rule::once(Timestamp::MIN);
    assert_eq!(occurrence_at_or_after(&once, Timestamp::MIN).unwrap().at, Timestamp::MIN);
    assert_eq!(occurrences(&once, Timestamp::MIN).next(), None);
}

/// Occurrences far in the past are counted by arithmetic: a rule that has run since the year 1 has
/// a billion occurrences, and the n-th of them is found at once.
#[test]
fn s4_a_billion_missed_occurrences_are_counted_by_arithmetic() {
    let (begin, now) = (at("0001-01-02T00:00:00Z"), at("2026-01-01T00:00:00Z"));
    let before = begin.saturating_add_millis(-1);
    let grid = Rule::every(begin, span("PT1M"), Zone::UTC, First::AtAnchor).unwrap();
    let cron = Rule::cron(Cron::parse("* * * * *").unwrap(), Zone::UTC, before);
    for rule in [grid, cron] {
        let (count, first, last) = skipped(&rule, before, now);
        assert_eq!((count, first.map(|it| it.at)), (1_065_045_601, Some(begin)));
        assert_eq!(last.map(|it| it.at), Some(now));
        let (count, first, last) = skipped_at_most(&rule, before, now, count - 1_000);
        assert_eq!((count, first.map(|it| it.at)), (1_065_044_601, Some(begin)));
        assert_eq!(last.map(|it| it.at), Some(now.saturating_add_millis(-60_000_000)));
        assert_eq!(skipped_at_most(&rule, before, now, 0), (0, None, None));
    }
}
