//! Reading and printing: instants (T1), zones, durations (T2), cycles (B2).

use super::*;

#[test]
fn t1_instants_need_an_offset_and_print_in_utc() {
    let table = [
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
        ("2026-03-01t10:00:00z", "2026-03-01T10:00:00Z"),
        ("2026-03-01T10:00:00+01:00", "2026-03-01T09:00:00Z"),
        ("2026-03-01T00:30:00-05:30", "2026-03-01T06:00:00Z"),
        ("2026-03-01T10:00:00-00:00", "2026-03-01T10:00:00Z"),
        ("2026-03-01T10:00:00.5Z", "2026-03-01T10:00:00.500Z"),
        ("2026-03-01T10:00:00.123999999999Z", "2026-03-01T10:00:00.123Z"),
        ("1969-12-31T23:59:59.001Z", "1969-12-31T23:59:59.001Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ];
    for (text, printed) in table {
        assert_eq!(Timestamp::parse(text).map(|at| at.to_string()), Ok(printed.to_owned()));
    }
    assert_eq!(Timestamp::default().to_string(), "1970-01-01T00:00:00Z");
}

#[test]
fn t1_everything_else_is_refused_with_the_place() {
    let table = [
        ("", 0),
        ("2026-03-01", 10),
        ("2026-03-01T10:00:00", 19),
        ("2026-03-01 10:00:00Z", 10),
        ("2026-03-01T10:00Z", 16),
        ("2026-3-01T10:00:00Z", 6),
        ("2026-02-29T10:00:00Z", 8),
        ("2026-13-01T10:00:00Z", 5),
        ("2026-03-01T24:00:00Z", 11),
        ("2026-03-01T10:60:00Z", 14),
        ("2026-03-01T10:00:60Z", 17),
        ("2026-03-01T10:00:00.Z", 20),
        ("2026-03-01T10:00:00,5Z", 19),
        ("2026-03-01T10:00:00+0100", 22),
        ("2026-03-01T10:00:00+24:00", 20),
        ("2026-03-01T10:00:00[Europe/Paris]", 19),
        ("2026-03-01T10:00:00+01:00[Europe/Paris]", 25),
        ("2026-03-01T10:00:00Z ", 20),
        ("２026-03-01T10:00:00Z", 0),
    ];
    for (text, offset) in table {
        let error = Timestamp::parse(text).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("invalid_instant", Some(offset)), "{text}");
        assert!(error.hint().is_some());
    }
    for text in ["0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"] {
        assert_eq!(Timestamp::parse(text).unwrap_err().code(), "time_out_of_range", "{text}");
    }
}

#[test]
fn t1_arithmetic_stays_in_range() {
    assert_eq!(Timestamp::from_millis(i64::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::from_millis(i64::MIN), Timestamp::MIN);
    assert_eq!(Timestamp::MAX.checked_add_millis(1), None);
    assert_eq!(Timestamp::MAX.saturating_add_millis(i64::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::MIN.saturating_since(Timestamp::default()), Timestamp::MIN.as_millis());
}

#[test]
fn zones_come_from_the_database_and_unknown_ones_get_a_suggestion() {
    assert_eq!(zone("europe/BERLIN").to_string(), "Europe/Berlin");
    assert_eq!(zone("UTC"), Zone::utc());
    assert!(zone("Asia/Kolkata") > zone("America/New_York"));
    let table = [
        ("Europe/Berln", Some("did you mean `Europe/Berlin`?")),
        ("Berlin", Some("did you mean `Europe/Berlin`?")),
        ("America/New York", Some("did you mean `America/New_York`?")),
        ("Middle/Earth", None),
        ("+01:00", None),
        ("", None),
        ("Etc/Unknown", None),
    ];
    for (name, hint) in table {
        let error = name.parse::<Zone>().unwrap_err();
        assert_eq!(error.code(), "unknown_zone");
        if let Some(hint) = hint {
            assert_eq!(error.hint().as_deref(), Some(hint));
        }
    }
}

#[test]
fn t2_durations_parse_and_print_canonically() {
    let table = [
        ("PT10M", "PT10M"),
        ("P1Y2M3W4DT5H6M7S", "P1Y2M3W4DT5H6M7S"),
        ("P0D", "PT0S"),
        ("-PT0S", "PT0S"),
        ("-P1DT2H", "-P1DT2H"),
        ("PT1.5S", "PT1.5S"),
        ("PT1,050S", "PT1.05S"),
        ("PT0.0019S", "PT0.001S"),
        ("PT0.0009S", "PT0S"),
        ("PT36H", "PT36H"),
        ("P007D", "P7D"),
        ("PT999999999999S", "PT999999999999S"),
    ];
    for (text, printed) in table {
        assert_eq!(Span::parse(text).map(|span| span.to_string()), Ok(printed.to_owned()));
    }
    assert_eq!(Span::from_millis(93_784_005).to_string(), "PT26H3M4.005S");
    assert_eq!(Span::from_millis(-600_000).to_string(), "-PT10M");
    assert!(Span::from_millis(i64::MIN).is_negative());
}

#[test]
fn t2_malformed_durations_are_refused_with_the_place() {
    let table = [
        ("", 0),
        ("P", 1),
        ("PT", 2),
        ("P1YT", 4),
        ("1D", 0),
        ("+P1D", 0),
        ("P-1D", 1),
        ("P1D ", 3),
        ("p1d", 0),
        ("P1d", 2),
        ("P1X", 2),
        ("P1H", 2),
        ("PT1D", 3),
        ("P1D1Y", 4),
        ("P1D2D", 4),
        ("PT1S1M", 5),
        ("P1.5D", 1),
        ("PT1.5H", 2),
        ("PT1.S", 4),
        ("PT.5S", 2),
        ("P1", 2),
        ("PT1H30", 6),
        ("P1DT1HT1M", 6),
        ("PT1000000000000S", 2),
    ];
    for (text, offset) in table {
        let error = Span::parse(text).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("invalid_duration", Some(offset)), "{text}");
        assert!(error.hint().is_some());
    }
    let error = Span::parse_delay("-PT5M").unwrap_err();
    assert_eq!(error.code(), "negative_duration");
    assert_eq!(Span::parse_delay("-PT0S"), Ok(Span::ZERO));
}

#[test]
fn b2_cycles_in_every_form_print_as_written() {
    let table = [
        "R3/PT10M",
        "R/PT10M",
        "R0/P1D",
        "R3/2026-03-01T10:00:00Z/PT10M",
        "R/2026-03-01T10:00:00Z/P1M",
        "R3/PT10M/2026-03-01T10:00:00Z",
    ];
    for text in table {
        assert_eq!(Cycle::parse(text).map(|cycle| cycle.to_string()), Ok(text.to_owned()));
    }
}

#[test]
fn b2_other_cycles_are_refused_with_the_place() {
    let table = [
        ("", 0),
        ("PT10M", 0),
        ("r3/PT10M", 0),
        ("R3", 2),
        ("R-1/PT10M", 1),
        ("R+1/PT10M", 1),
        ("R1234567890123/PT10M", 1),
        ("R3/", 3),
        ("R3/PT0S", 3),
        ("R3/-PT10M", 3),
        ("R3/PT10X", 7),
        ("R3/PT10M/PT10M", 9),
        ("R3/2026-03-01T10:00:00Z/2026-04-01T10:00:00Z", 24),
        ("R3/2026-03-01T10:00:00/PT10M", 22),
        ("R3/PT10M/2026-03-01", 19),
        ("R3/2026-03-01T10:00:00Z/PT10M/2026-04-01T10:00:00Z", 30),
    ];
    for (text, offset) in table {
        let error = Cycle::parse(text).unwrap_err();
        assert_eq!((error.code(), error.offset()), ("invalid_cycle", Some(offset)), "{text}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn stored_forms_are_stable() {
    let rule = Cycle::parse("R3/P1D").unwrap().armed(at("2026-03-01T10:00:00Z"), Zone::utc());
    let json = concat!(
        r#"{"kind":"every","anchor":"2026-03-01T10:00:00Z","interval":"P1D","#,
        r#""zone":"UTC","first":"after_interval","count":3}"#,
    );
    assert_eq!(serde_json::to_string(&rule).unwrap(), json);
    assert_eq!(serde_json::from_str::<Rule>(json).unwrap(), rule);

    let cron = Cron::parse("0 9 * * MON-FRI").unwrap();
    let cron = Rule::cron(cron, zone("Europe/Berlin"), at("2026-03-01T10:00:00Z"));
    for rule in [rule, cron, Rule::once(Timestamp::MIN)] {
        let bytes = minicbor::to_vec(&rule).unwrap();
        assert_eq!(minicbor::decode::<Rule>(&bytes).unwrap(), rule);
    }
    let bytes = minicbor::to_vec(Timestamp::from_millis(1)).unwrap();
    assert_eq!(bytes, [1]);
    let bytes = minicbor::to_vec(i64::MAX).unwrap();
    assert!(minicbor::decode::<Timestamp>(&bytes).is_err());
}
