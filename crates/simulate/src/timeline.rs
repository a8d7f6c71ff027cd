//! A simulation as a calendar and as a diagram.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use meantime_core::Timestamp;

use crate::report::SimulationReport;

/// Timers, deadlines and ends as an iCalendar document (RFC 5545).
pub fn to_ics(report: &SimulationReport) -> String {
    let mut text = String::from(
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Meantime//simulate//EN\r\nCALSCALE:GREGORIAN\r\n",
    );
    let shown = report.trace.iter().filter(|event| {
        matches!(event.kind.as_str(), "started" | "timerFired" | "ended" | "incidentRaised")
    });
    for (index, event) in shown.enumerate() {
        let at = basic(event.at);
        let _ = write!(
            text,
            "BEGIN:VEVENT\r\nUID:{index}-{at}@meantime.simulate\r\nDTSTAMP:{at}\r\nDTSTART:{at}\r\n"
        );
        let summary =
            format!("SUMMARY:{}", escaped(&format!("{}: {}", event.instance, event.text)));
        fold(&mut text, &summary);
        text.push_str("END:VEVENT\r\n");
    }
    text.push_str("END:VCALENDAR\r\n");
    text
}

/// `2026-03-01T09:00:00Z` as `20260301T090000Z`.
fn basic(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or_default();
    let digits: String = seconds.chars().filter(|it| !matches!(it, '-' | ':')).collect();
    format!("{digits}Z")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\\' | ';' | ',' => escaped.extend(['\\', letter]),
            '\n' => escaped.push_str("\\n"),
            letter if letter.is_control() => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Writes a line that is broken after 75 bytes at most, as the format wants it.
fn fold(text: &mut String, line: &str) {
    let mut length = 0;
    for letter in line.chars() {
        if length + letter.len_utf8() > 75 {
            text.push_str("\r\n ");
            length = 1;
        }
        text.push(letter);
        length += letter.len_utf8();
    }
    text.push_str("\r\n");
}

/// A Gantt chart for Mermaid: a bar from each task or timer to its end.
pub fn to_mermaid(report: &SimulationReport) -> String {
    let mut text =
        String::from("gantt\n  dateFormat YYYY-MM-DDTHH:mm:ss.SSSZ\n  axisFormat %m-%d %H:%M\n");
    let mut sections: BTreeMap<&str, String> = BTreeMap::new();
    let mut open: BTreeMap<(&str, String), Timestamp> = BTreeMap::new();
    let subject = |it: &crate::TraceEvent| it.element.clone().or_else(|| it.name.clone());
    for event in &report.trace {
        let section = sections.entry(&event.instance).or_default();
        let Some(what) = subject(event).or_else(|| Some(event.kind.clone())) else { continue };
        let key = (event.instance.as_str(), what.clone());
        match event.kind.as_str() {
            "taskScheduled" | "timerArmed" => drop(open.insert(key, event.at)),
            "taskCompleted" | "taskFailed" | "timerFired" | "timerCancelled" | "taskCancelled" => {
                let begun = open.remove(&key).unwrap_or(event.at);
                let crit = if event.kind == "taskFailed" { "crit, " } else { "" };
                let _ = writeln!(section, "  {} :{crit}{begun}, {}", label(&what), event.at);
            }
            "started" | "ended" | "incidentRaised" => {
                let _ = writeln!(section, "  {} :milestone, {}, 0s", label(&event.text), event.at);
            }
            _ => {}
        }
    }
    for (instance, lines) in sections {
        let _ = writeln!(text, "  section {}\n{}", label(instance), lines.trim_end());
    }
    text
}

/// A text without what has a meaning in the format.
fn label(text: &str) -> String {
    text.chars()
        .map(|it| if matches!(it, ':' | ';' | '#' | ',' | '\n') { ' ' } else { it })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_calendars_are_folded_and_escaped() {
        let mut text = String::new();
        fold(&mut text, &"x".repeat(100));
        assert_eq!(text.split("\r\n").map(str::len).collect::<Vec<_>>(), [75, 26, 0]);
        assert_eq!(escaped("a,b;c\\d\ne"), "a\\,b\\;c\\\\d\\ne");
        assert_eq!(basic(Timestamp::from_millis(1_772_355_600_250)), "20260301T090000Z");
    }
}
