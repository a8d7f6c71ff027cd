//! Compacts a long history: pure code, so that every store does the same.
//!
//! What stays: the first row, which has the input; the newest rows, unchanged; rows that arm or
//! edit a timer that is still open, because they explain a future event. All others become one row,
//! which counts what they recorded (O2: timers may share a record). The list is complete after
//! every step, so a crash between two steps loses nothing.

use meantime_core::Timestamp;

use crate::history::Record;
use crate::open::{Key, Open};
use crate::store::HistoryRow;

/// One step: a run of neighbouring rows, and how it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Replaces the row with the same number.
    pub summary: HistoryRow,
    /// Rows to remove.
    pub dropped: Vec<u64>,
    /// Rows that get another predecessor: (row, previous).
    pub relinked: Vec<(u64, u64)>,
}

/// Combines a run of rows, oldest first, into one. `before` is the number of the row before the
/// run, `after` that of the row after it. `None` if nothing would be gained.
pub fn compact(before: u64, run: &[HistoryRow], after: u64, open: &Open) -> Option<Step> {
    let stays = |row: &HistoryRow| row.records.iter().any(|record| is_about_open(record, open));
    let (kept, gone): (Vec<&HistoryRow>, Vec<&HistoryRow>) = run.iter().partition(|row| stays(row));
    let oldest = gone.first()?;
    if gone.len() < 2 {
        return None;
    }
    let summary = HistoryRow {
        at: gone.last().map_or(oldest.at, |row| row.at),
        records: vec![summarise(&gone)],
        ..(*oldest).clone()
    };
    let dropped = gone.iter().skip(1).map(|row| row.seq).collect();
    let mut chain: Vec<u64> = kept.iter().map(|row| row.seq).chain([summary.seq]).collect();
    chain.sort_unstable();
    let mut relinked = Vec::new();
    let mut previous = before;
    let mut summary = summary;
    for seq in chain.into_iter().chain([after]) {
        if seq == summary.seq {
            summary.previous = previous;
        } else if run.iter().find(|row| row.seq == seq).is_none_or(|row| row.previous != previous) {
            relinked.push((seq, previous));
        }
        previous = seq;
    }
    Some(Step { summary, dropped, relinked })
}

fn is_about_open(record: &Record, open: &Open) -> bool {
    match record {
        Record::TimerArmed { key, .. } | Record::TimerEdited { key, .. } => {
            open.timers.contains_key(&Key::from(*key))
        }
        _ => false,
    }
}

fn summarise(rows: &[&HistoryRow]) -> Record {
    let (mut turns, mut fired, mut cancelled, mut edited) = (0, 0, 0, 0);
    let mut since: Option<Timestamp> = None;
    for row in rows {
        let mut is_summary = false;
        for record in &row.records {
            match record {
                Record::Compacted { since: from, turns: t, fired: f, cancelled: c, edited: e } => {
                    is_summary = true;
                    since = Some(since.map_or(*from, |known| known.min(*from)));
                    (turns, fired) = (turns + t, fired + f);
                    (cancelled, edited) = (cancelled + c, edited + e);
                }
                Record::TimerFired { .. } => fired += 1,
                Record::TimerCancelled { .. } => cancelled += 1,
                Record::TimerEdited { .. } => edited += 1,
                _ => {}
            }
        }
        if !is_summary {
            turns += 1;
            since = Some(since.map_or(row.at, |known| known.min(row.at)));
        }
    }
    Record::Compacted { since: since.unwrap_or_default(), turns, fired, cancelled, edited }
}

#[cfg(test)]
mod tests {
    use meantime_core::InstanceId;

    use super::*;
    use crate::open::OpenTimer;
    use crate::store::TimerKind;

    const ID: InstanceId = InstanceId::new(7, 9);

    fn row(seq: u64, records: Vec<Record>) -> HistoryRow {
        let at = Timestamp::from_millis(seq.cast_signed() * 1_000);
        HistoryRow { seq, instance: ID, turn_no: seq, at, previous: seq - 1, records }
    }

    fn armed(turn_no: u64) -> Record {
        let (key, due_at) = (ID.effect(turn_no, 0), Timestamp::from_millis(9));
        Record::TimerArmed { key, kind: TimerKind::Element, element: "p".to_owned(), due_at }
    }

    fn fired(turn_no: u64) -> Record {
        let (key, due_at) = (ID.effect(turn_no, 0), Timestamp::from_millis(9));
        Record::TimerFired { key, kind: TimerKind::Element, due_at, audit: None }
    }

    #[test]
    fn a_run_becomes_one_row_that_counts() {
        let run = [row(2, vec![armed(2)]), row(3, vec![fired(2)]), row(4, vec![Record::Closing])];
        let step = compact(1, &run, 5, &Open::default()).unwrap();
        assert_eq!((step.dropped, step.relinked), (vec![3, 4], vec![(5, 2)]));
        assert_eq!((step.summary.seq, step.summary.previous), (2, 1));
        let counts = Record::Compacted {
            since: Timestamp::from_millis(2_000),
            turns: 3,
            fired: 1,
            cancelled: 0,
            edited: 0,
        };
        assert_eq!(step.summary.records, [counts]);
        assert_eq!(step.summary.at, Timestamp::from_millis(4_000));
    }

    #[test]
    fn summaries_are_added_up() {
        let run = [row(2, vec![armed(2)]), row(3, vec![fired(2)])];
        let first = compact(1, &run, 4, &Open::default()).unwrap().summary;
        let next = row(4, vec![fired(3)]);
        let step = compact(1, &[first, next], 5, &Open::default()).unwrap();
        let Record::Compacted { since, turns, fired, .. } = step.summary.records[0] else {
            panic!("{step:?}")
        };
        assert_eq!((since, turns, fired), (Timestamp::from_millis(2_000), 3, 2));
    }

    #[test]
    fn rows_about_open_timers_stay_in_the_chain() {
        let (kind, due_at) = (TimerKind::Element, Timestamp::from_millis(9));
        let timer = OpenTimer { due_at, kind, frozen: false };
        let open = Open { timers: [(Key(3, 0), timer)].into(), ..Open::default() };
        let run = [row(2, vec![fired(1)]), row(3, vec![armed(3)]), row(4, vec![fired(1)])];
        let step = compact(1, &run, 5, &open).unwrap();
        assert_eq!((step.dropped, step.relinked), (vec![4], vec![(5, 3)]));
        assert_eq!((step.summary.seq, step.summary.previous), (2, 1));
    }

    #[test]
    fn nothing_to_gain_is_nothing_to_do() {
        assert_eq!(compact(1, &[row(2, vec![])], 3, &Open::default()), None);
        assert_eq!(compact(1, &[], 3, &Open::default()), None);
    }
}
