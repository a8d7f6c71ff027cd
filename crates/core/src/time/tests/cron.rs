//! Cron (S13): reading, days, and clock changes.

use super::*;

fn cron(text: &str, name: &str, from: &str, most: usize) -> Vec<String> {
    let rule = Rule::cron(Cron::parse(text).unwrap(), zone(name), at(from));
    after(&rule, from, most)
}

#[test]
fn s13_expressions_match_what_they_say() {
    let table = [
        ("*/20 * * * *", "2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z"),
        ("30 0 9 * * *", "2026-01-01T09:00:30Z", "2026-01-02T09:00:30Z"),
        ("*/30 * * * * *", "2026-01-01T00:00:30Z", "2026-01-01T00:01:00Z"),
        ("0 9 * * mon-fri", "2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z"),
        ("0 9 * jan,DEC FRI-SUN", "2026-01-02T09:00:00Z", "2026-01-03T09:00:00Z"),
        ("0 0 * * 7", "2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"),
        ("0 0 L * *", "2026-01-31T00:00:00Z", "2026-02-28T00:00:00Z"),
        ("0 0 L-2 * ?", "2026-01-29T00:00:00Z", "2026-02-26T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"),
        ("0 0 * * FRI#2", "2026-01-09T00:00:00Z", "2026-02-13T00:00:00Z"),
        ("0 0 * * 5L", "2026-01-30T00:00:00Z", "2026-02-27T00:00:00Z"),
        ("0 0 13 * FRI", "2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"),
        ("0 10/6 * * *", "2026-01-01T10:00:00Z", "2026-01-01T16:00:00Z"),
        ("@hourly", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"),
        ("@daily", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
        ("@Midnight", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"),
        ("@weekly", "2026-01-04T00:00:00Z", "2026-01-11T00:00:00Z"),
        ("@monthly", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"),
        (" @annually ", "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"),
    ];
    for (text, first, second) in table {
        assert_eq!(cron(text, "UTC", "2026-01-01T00:00:00Z", 2), [first, second], "{text}");
    }
}

#[test]
fn s13_malformed_expressions_are_refused_with_the_place() {
    let table = [
        ("", 0),
        ("* * * *", 7),
        ("* * * * * * *", 12),
        ("60 * * * *", 0),
        ("* 24 * * *", 2),
        ("* * 0 * *", 4),
        ("* * 32 * *", 4),
        ("* * * 13 *", 6),
        ("* * * * 8", 8),
        ("*/0 * * * *", 0),
        ("*/61 * * * *", 0),
        ("5-1 * * * *", 0),
        ("1,,2 * * * *", 2),
        ("1, * * * *", 2),
        ("+1 * * * *", 0),
        ("1--2 * * * *", 0),
        ("*5 * * * *", 0),
        ("1/2/3 * * * *", 0),
        ("? * * * *", 0),
        ("* * 15W * *", 4),
        ("* * L-31 * *", 4),
        ("* * * * L", 8),
        ("* * * * FRI#6", 8),
        ("* * * * FRI#0", 8),
        ("* * * * FREITAG", 8),
        ("* * * JÄN *", 6),
        ("@reboot", 0),
        (" @often", 1),
    ];
    for (text, offset) in table {
        let error = Cron::parse(text).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("invalid_cron", Some(offset)), "{text}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn s13_an_expression_that_never_matches_is_refused() {
    for text in ["0 0 31 6 *", "0 0 30 2 *", "0 0 L-30 2,4 *", "0 0 31 2,4,6,9,11 ?"] {
        assert_eq!(Cron::parse(text).unwrap_err().code(), "cron_never_matches", "{text}");
    }
    // Either day field is enough, and a fifth Friday in February is rare but possible.
    for text in ["0 0 31 6 MON", "0 0 * 2 FRI#5", "0 0 29 2 *"] {
        assert!(Cron::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn s13_a_fixed_hour_that_does_not_exist_fires_once_after_the_gap() {
    // Berlin, 29 March 2026: 02:00 becomes 03:00, at 01:00 UTC.
    let eve = "2026-03-28T12:00:00Z";
    let table: [(&str, &[&str]); 4] = [
        ("30 2 * * *", &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        ("*/15 2 * * *", &["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
        ("30 2,3 * * *", &["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]),
        ("0 2,3 * * *", &["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
    ];
    for (text, wanted) in table {
        assert_eq!(cron(text, "Europe/Berlin", eve, 2), wanted, "{text}");
    }
    // São Paulo skipped midnight itself.
    let found = cron("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", 2);
    assert_eq!(found, ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]);
}

#[test]
fn s13_a_fixed_hour_that_occurs_twice_fires_on_the_first_pass_only() {
    // Berlin, 25 October 2026: 03:00 becomes 02:00, at 01:00 UTC.
    let found = cron("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
    assert_eq!(found, ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    // A start within the second pass of the repeated hour changes nothing.
    let found = cron("*/15 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", 1);
    assert_eq!(found, ["2026-10-26T01:00:00Z"]);
}

#[test]
fn s13_a_star_or_step_in_the_hour_follows_elapsed_time() {
    let gap = cron("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", 3);
    assert_eq!(gap, ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"]);
    let gap = cron("0 */2 * * *", "Europe/Berlin", "2026-03-28T22:00:00Z", 3);
    assert_eq!(gap, ["2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T04:00:00Z"]);
    let fold = cron("0 */2 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", 3);
    assert_eq!(fold, ["2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T03:00:00Z"]);
    assert!(Cron::parse("0 8-18/2 * * *").unwrap().follows_elapsed_time());
    assert!(!Cron::parse("*/5 8-18,20 * * *").unwrap().follows_elapsed_time());
}

#[test]
fn s13_numbers_and_limits_count_from_the_start() {
    let start = at("2020-01-01T00:00:00Z");
    let rule = Rule::cron(Cron::parse("0 0 * * *").unwrap(), Zone::UTC, start).limited(367);
    let found: Vec<_> = occurrences(&rule, at("2020-12-31T12:00:00Z")).collect();
    let wanted = [(365, at("2021-01-01T00:00:00Z")), (366, at("2021-01-02T00:00:00Z"))];
    assert_eq!(found, wanted.map(|(number, at)| Occurrence { number, at }));
    let rule = rule.ending(at("2020-01-02T00:00:00Z"));
    assert_eq!(occurrences(&rule, Timestamp::MIN).count(), 1);
}

#[test]
fn errors_name_their_code_and_read_as_fragments() {
    let error = Cron::parse("* 24 * * *").unwrap_err();
    let wanted = "invalid cron expression: hour must be from 0 to 23 at offset 2";
    assert_eq!(error.to_string(), wanted);
    let error = TimeError::OutOfRange { what: "the instant" };
    assert_eq!(error.to_string(), "time out of range: the instant");
}
