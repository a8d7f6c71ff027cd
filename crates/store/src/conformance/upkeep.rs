//! Compaction of history, and the mark of a restored store.

use meantime_core::Timestamp;
use meantime_kernel::history::{AuditInfo, Record};
use meantime_kernel::open::{Key, Open, OpenTimer};
use meantime_kernel::store::{
    CompactRequest, HistoryRow, InstanceRow, OperationKind, Page, TimerKind, Unit, Write,
};

use super::bench::{Bench, at, id, instance, start};
use super::suite::declare;

declare!("upkeep":
    a_long_history_keeps_its_first_and_its_newest_rows,
    a_second_compaction_adds_up,
    rows_about_open_timers_stay,
    a_short_history_is_left_alone,
    a_restored_copy_is_paused_with_a_new_epoch,
    a_resumed_store_is_not_paused,
);

fn row(seq: u64, records: Vec<Record>) -> HistoryRow {
    let at = at(i64::try_from(seq).expect("small numbers"));
    HistoryRow { seq, instance: id(1), turn_no: seq, at, previous: seq - 1, records }
}

fn fired(turn_no: u64) -> Record {
    Record::TimerFired {
        key: id(1).effect(turn_no, 0),
        kind: TimerKind::Element,
        due_at: at(1),
        audit: None,
    }
}

fn history(bench: &Bench<'_>, rows: impl Iterator<Item = HistoryRow>, open: Open) {
    let rows: Vec<HistoryRow> = rows.collect();
    let last_history = rows.last().map_or(0, |row| row.seq);
    let writes = rows.into_iter().map(Write::History).collect();
    bench.done(Unit { writes, ..start(&InstanceRow { last_history, open, ..instance(1) }) });
}

fn compact(bench: &Bench<'_>, keep: usize) -> usize {
    bench.get(bench.store.compact(CompactRequest { instance: id(1), keep, limit: 4 }))
}

/// The numbers along the list, newest first.
fn chain(bench: &Bench<'_>) -> Vec<u64> {
    let last = bench.instance(id(1)).expect("it is there").last_history;
    bench.get(bench.store.history(last, 1_000)).iter().map(|row| row.seq).collect()
}

fn sum(bench: &Bench<'_>, seq: u64) -> (Timestamp, u64, u64) {
    let rows = bench.get(bench.store.history(seq, 1));
    match rows[0].records[..] {
        [Record::Compacted { since, turns, fired, .. }] => (since, turns, fired),
        ref other => panic!("expected a sum, got {other:?}"),
    }
}

fn a_long_history_keeps_its_first_and_its_newest_rows(bench: &Bench<'_>) {
    history(bench, (1..=30).map(|seq| row(seq, vec![fired(seq)])), Open::default());
    assert_eq!(compact(bench, 10), 18);
    assert_eq!(chain(bench), [30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 2, 1]);
    assert_eq!(sum(bench, 2), (at(2), 19, 19));
    let rows = bench.get(bench.store.history(21, 9));
    assert_eq!((rows[1].at, &rows[2]), (at(20), &row(1, vec![fired(1)])));
}

fn a_second_compaction_adds_up(bench: &Bench<'_>) {
    history(bench, (1..=30).map(|seq| row(seq, vec![fired(seq)])), Open::default());
    assert_eq!(compact(bench, 20) + compact(bench, 5), 23);
    assert_eq!(chain(bench), [30, 29, 28, 27, 26, 2, 1]);
    assert_eq!(sum(bench, 2), (at(2), 24, 24));
    assert_eq!(compact(bench, 5), 0);
}

fn rows_about_open_timers_stay(bench: &Bench<'_>) {
    let kind = TimerKind::Element;
    let timer = OpenTimer { due_at: at(99), kind, frozen: false };
    let open = Open { timers: [(Key(7, 0), timer)].into(), ..Open::default() };
    let rows = (1..=30).map(|seq| {
        let element = "p".to_owned();
        let armed = Record::TimerArmed { key: id(1).effect(seq, 0), kind, element, due_at: at(99) };
        row(seq, vec![armed])
    });
    history(bench, rows, open);
    assert_eq!(compact(bench, 3), 24);
    assert_eq!(chain(bench), [30, 29, 28, 7, 2, 1]);
}

fn a_short_history_is_left_alone(bench: &Bench<'_>) {
    history(bench, (1..=6).map(|seq| row(seq, vec![fired(seq)])), Open::default());
    assert_eq!(compact(bench, 5), 0);
    assert_eq!(chain(bench).len(), 6);
    let nobody = CompactRequest { instance: id(2), keep: 1, limit: 1 };
    assert_eq!(bench.get(bench.store.compact(nobody)), 0);
}

fn ana() -> AuditInfo {
    AuditInfo { actor: "ana".to_owned(), reason: "moved to a new machine".to_owned() }
}

fn a_restored_copy_is_paused_with_a_new_epoch(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    let before = bench.recover();
    assert!(!before.paused);
    let epoch = bench.get(bench.store.mark_restored(at(0), ana()));
    let after = bench.recover();
    assert!(after.paused && epoch > before.epoch, "{after:?}");
    assert_eq!((after.epoch, after.seq), (epoch, before.seq));
    // The same backup, restored again later, gets another epoch.
    let again = bench.get(bench.store.mark_restored(at(5_000), ana()));
    assert!(again > epoch);
    let operations = bench.get(bench.store.operations(Page::first(9)));
    assert_eq!(operations.len(), 2);
    assert_eq!((operations[0].number, operations[0].at), (1, at(0)));
    assert_eq!((operations[0].kind, &operations[0].audit), (OperationKind::Restored, &ana()));
    let page = Page { after: Some(1), limit: 9 };
    assert_eq!(bench.get(bench.store.operations(page)), operations[1..]);
}

fn a_resumed_store_is_not_paused(bench: &Bench<'_>) {
    let epoch = bench.get(bench.store.mark_restored(at(0), ana()));
    bench.write(vec![Write::Resume { at: at(7), audit: ana() }]);
    let after = bench.recover();
    assert_eq!((after.paused, after.epoch), (false, epoch));
    let operations = bench.get(bench.store.operations(Page::first(9)));
    assert_eq!((operations[1].kind, operations[1].at), (OperationKind::Resumed, at(7)));
}
