//! Inboxes: order, limits, held events.

use meantime_core::Json;
use meantime_kernel::store::{ChannelKey, InboxRow, MessageRow, Write};

use super::bench::{Bench, at, event, id, incident_id, instance, start};
use super::suite::declare;

declare!("inbox":
    events_are_read_in_order_up_to_the_limit,
    an_event_is_read_back_whole,
    an_event_at_the_same_place_is_replaced,
    a_consumed_event_is_gone,
    held_events_wait_until_they_are_released,
    an_end_drops_what_incidents_held_back,
    instances_with_events_are_ready_after_a_restart,
);

fn put(row: InboxRow) -> Write {
    Write::PutInbox(Box::new(row))
}

fn seqs(bench: &Bench<'_>, number: u64) -> Vec<u64> {
    bench.inbox(id(number)).iter().map(|row| row.seq).collect()
}

fn events_are_read_in_order_up_to_the_limit(bench: &Bench<'_>) {
    bench.write([9, 3, 7].map(|seq| put(event(1, seq))).into());
    assert_eq!(seqs(bench, 1), [3, 7, 9]);
    assert_eq!(bench.inbox_head(id(1), 2).len(), 2);
    assert_eq!(bench.inbox_head(id(1), 0), []);
    assert!(seqs(bench, 2).is_empty());
}

fn an_event_is_read_back_whole(bench: &Bench<'_>) {
    let origin = MessageRow {
        channel: ChannelKey::message("paid", "k"),
        seq: 4,
        payload: Json::null(),
        expires_at: Some(at(7)),
        had: vec!["one".to_owned(), "two".to_owned()],
    };
    let row = InboxRow { origin: Some(origin), at: at(-3), ..event(1, 5) };
    bench.write(vec![put(row.clone())]);
    assert_eq!(bench.inbox(id(1)), [row]);
}

fn an_event_at_the_same_place_is_replaced(bench: &Bench<'_>) {
    bench.write(vec![put(event(1, 5)), put(InboxRow { at: at(1), ..event(1, 5) })]);
    assert_eq!(bench.inbox(id(1)), [InboxRow { at: at(1), ..event(1, 5) }]);
}

fn a_consumed_event_is_gone(bench: &Bench<'_>) {
    bench.write(vec![put(event(1, 5)), put(event(1, 6))]);
    bench.write(vec![Write::DeleteInbox { instance: id(1), seq: 5 }]);
    assert_eq!(seqs(bench, 1), [6]);
}

fn held_events_wait_until_they_are_released(bench: &Bench<'_>) {
    let held = |seq, audit| InboxRow { held: Some(incident_id(audit)), ..event(1, seq) };
    bench.write(vec![put(held(5, 1)), put(held(6, 2)), put(event(1, 7))]);
    assert_eq!(seqs(bench, 1), [7]);
    bench.write(vec![Write::DeleteInbox { instance: id(1), seq: 7 }]);
    assert_eq!(bench.recover().ready, []);
    bench.write(vec![Write::ReleaseInbox { instance: id(1), incident: incident_id(2) }]);
    assert_eq!(seqs(bench, 1), [6]);
    assert_eq!(bench.recover().ready, [id(1)]);
}

fn an_end_drops_what_incidents_held_back(bench: &Bench<'_>) {
    let held = |number, seq| InboxRow { held: Some(incident_id(1)), ..event(number, seq) };
    bench.write(vec![put(held(1, 5)), put(event(1, 6)), put(held(2, 7))]);
    bench.write(vec![Write::ClearHeld { instance: id(1) }]);
    for instance in [id(1), id(2)] {
        bench.write(vec![Write::ReleaseInbox { instance, incident: incident_id(1) }]);
    }
    assert_eq!((seqs(bench, 1), seqs(bench, 2)), (vec![6], vec![7]));
}

fn instances_with_events_are_ready_after_a_restart(bench: &Bench<'_>) {
    bench.commit(vec![start(&instance(1)), start(&instance(2)), start(&instance(3))]);
    bench.write(vec![put(event(3, 5)), put(event(1, 6)), put(event(3, 7))]);
    assert_eq!(bench.recover().ready, [id(1), id(3)]);
}
