//! History: one row per turn, chained.

use meantime_core::{Failure, StartCause};
use meantime_kernel::history::{AuditInfo, CancelCause, Edit, Record};
use meantime_kernel::store::{HistoryRow, TimerKind, Write};

use super::bench::{Bench, at, id, incident_id, json};
use super::suite::declare;

declare!("history":
    records_are_read_back_whole,
    the_chain_is_followed_backwards,
    a_chain_is_read_in_parts,
    there_is_no_row_zero,
    all_of_it_can_be_followed_in_order,
);

fn row(seq: u64, number: u64, previous: u64) -> HistoryRow {
    HistoryRow {
        seq,
        instance: id(number),
        turn_no: seq,
        at: at(1),
        previous,
        records: vec![Record::Closing],
    }
}

fn records_are_read_back_whole(bench: &Bench<'_>) {
    let key = id(2).effect(3, 4);
    let records = vec![
        Record::Started {
            cause: StartCause::Schedule { scheduled_at: at(4) },
            input: json("[1, 2]"),
        },
        Record::TimerCancelled {
            key,
            kind: TimerKind::Deadline,
            due_at: at(-5),
            cause: CancelCause::Ended,
        },
        Record::TimerEdited {
            key,
            kind: TimerKind::Element,
            edit: Edit::Moved,
            from: at(1),
            to: at(2),
            audit: AuditInfo { actor: "ana".to_owned(), reason: String::new() },
        },
        Record::IncidentRaised { incident: incident_id(1), failure: Failure::new("E", "m") },
    ];
    let row = HistoryRow { records, ..row(9, 2, 0) };
    bench.write(vec![Write::History(row.clone())]);
    assert_eq!(bench.get(bench.store.history(9, 5)), [row]);
}

fn the_chain_is_followed_backwards(bench: &Bench<'_>) {
    let rows = [row(1, 1, 0), row(2, 2, 0), row(3, 1, 1), row(4, 2, 2), row(5, 1, 3)];
    bench.write(rows.iter().cloned().map(Write::History).collect());
    let chain = [rows[4].clone(), rows[2].clone(), rows[0].clone()];
    assert_eq!(bench.get(bench.store.history(5, 9)), chain);
}

fn a_chain_is_read_in_parts(bench: &Bench<'_>) {
    let rows = [row(1, 1, 0), row(2, 1, 1), row(3, 1, 2)];
    bench.write(rows.iter().cloned().map(Write::History).collect());
    let newest = bench.get(bench.store.history(3, 2));
    assert_eq!(newest, [rows[2].clone(), rows[1].clone()]);
    let rest = bench.get(bench.store.history(newest[1].previous, 2));
    assert_eq!(rest, [rows[0].clone()]);
}

fn all_of_it_can_be_followed_in_order(bench: &Bench<'_>) {
    let rows = [row(1, 1, 0), row(2, 2, 0), row(4, 1, 1), row(7, 2, 2)];
    bench.write(rows.iter().cloned().map(Write::History).collect());
    assert_eq!(bench.get(bench.store.history_since(0, 2)), rows[..2]);
    assert_eq!(bench.get(bench.store.history_since(2, 9)), rows[2..]);
    assert_eq!(bench.get(bench.store.history_since(7, 9)), []);
}

fn there_is_no_row_zero(bench: &Bench<'_>) {
    assert_eq!(bench.get(bench.store.history(0, 9)), []);
}
