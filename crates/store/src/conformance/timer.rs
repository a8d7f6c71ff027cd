//! Timers: due order, pages, frozen ones.

use meantime_core::{DefinitionId, TimerId};
use meantime_kernel::open::{Key, Open, OpenTimer};
use meantime_kernel::store::{
    DueQuery, InstanceRow, Page, TimerCount, TimerFilter, TimerKey, TimerKind, TimerRow, Write,
};

use super::bench::{Bench, at, id, instance, start, timer};
use super::suite::declare;

declare!("timer":
    a_row_is_read_back_whole,
    a_removed_timer_is_gone,
    due_timers_come_in_due_order_then_by_id,
    due_timers_are_paged,
    frozen_timers_are_not_due,
    frozen_timers_are_listed_last,
    lists_are_paged_across_the_frozen_range,
    lists_are_filtered,
    timers_behind_a_deadline_are_left_out,
    timers_are_counted_in_parts_of_a_window,
    timers_of_an_instance_are_listed,
    arming_and_removing_in_one_plan_leaves_nothing,
    removing_and_arming_in_one_plan_leaves_the_timer,
    a_timer_is_moved_frozen_and_released,
    a_timer_armed_in_a_plan_can_be_moved_in_it,
);

fn arm(rows: &[TimerRow]) -> Vec<Write> {
    rows.iter().cloned().map(Write::InsertTimer).collect()
}

fn due(bench: &Bench<'_>, after: Option<TimerKey>, limit: usize) -> Vec<TimerId> {
    let rows = bench.get(bench.store.due_timers(DueQuery { after, ..DueQuery::first(limit) }));
    rows.iter().map(|row| row.id).collect()
}

fn list(bench: &Bench<'_>, filter: TimerFilter, page: Page<TimerKey>) -> Vec<TimerRow> {
    bench.get(bench.store.timers(filter, page))
}

fn a_row_is_read_back_whole(bench: &Bench<'_>) {
    let kinds = [TimerKind::Element, TimerKind::Deadline, TimerKind::TaskDeadline];
    for (ordinal, kind) in (0..).zip(kinds) {
        let element = "a/b".to_owned();
        let row = TimerRow { kind, element, frozen: ordinal == 1, ..timer(2, ordinal, -7) };
        bench.write(arm(std::slice::from_ref(&row)));
        assert_eq!(bench.get(bench.store.timer(row.key())), Some(row));
    }
}

fn a_removed_timer_is_gone(bench: &Bench<'_>) {
    let (one, two) = (timer(1, 0, 5), timer(1, 1, 5));
    bench.write(arm(&[one.clone(), two.clone()]));
    bench.write(vec![Write::DeleteTimer(one.key())]);
    assert_eq!(bench.get(bench.store.timer(one.key())), None);
    assert_eq!(due(bench, None, 9), [two.id]);
}

fn due_timers_come_in_due_order_then_by_id(bench: &Bench<'_>) {
    let rows = [timer(2, 0, 5), timer(1, 1, 5), timer(1, 0, 5), timer(9, 0, 1), timer(1, 2, 7)];
    bench.write(arm(&rows));
    let [second, one_b, one_a, first, last] = rows.map(|row| row.id);
    assert_eq!(due(bench, None, 9), [first, one_a, one_b, second, last]);
}

fn due_timers_are_paged(bench: &Bench<'_>) {
    let rows: Vec<_> = (0..7).map(|number| timer(number, 0, i64::from(number > 3))).collect();
    bench.write(arm(&rows));
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = bench.get(bench.store.due_timers(DueQuery { after, ..DueQuery::first(3) }));
        let Some(last) = page.last() else { break };
        after = Some(last.key());
        seen.extend(page);
    }
    assert_eq!(seen, rows);
    assert_eq!(due(bench, None, 0), []);
}

fn frozen_timers_are_not_due(bench: &Bench<'_>) {
    let frozen = TimerRow { frozen: true, ..timer(1, 0, 1) };
    bench.write(arm(&[frozen.clone(), timer(1, 1, 2)]));
    assert_eq!(due(bench, None, 9), [timer(1, 1, 2).id]);
    assert_eq!(due(bench, Some(frozen.key()), 9), []);
}

fn frozen_timers_are_listed_last(bench: &Bench<'_>) {
    let frozen = TimerRow { frozen: true, ..timer(1, 0, 1) };
    bench.write(arm(&[frozen.clone(), timer(1, 1, 2)]));
    let all = list(bench, TimerFilter::default(), Page::first(9));
    assert_eq!(all, [timer(1, 1, 2), frozen]);
}

fn lists_are_paged_across_the_frozen_range(bench: &Bench<'_>) {
    let rows: Vec<_> =
        (0..6).map(|n| TimerRow { frozen: n >= 3, ..timer(u64::from(n), n, 5) }).collect();
    bench.write(arm(&rows));
    let mut seen: Vec<TimerRow> = Vec::new();
    for _ in 0..4 {
        let after = seen.last().map(TimerRow::key);
        seen.extend(list(bench, TimerFilter::default(), Page { after, limit: 2 }));
    }
    assert_eq!(seen, rows);
}

fn lists_are_filtered(bench: &Bench<'_>) {
    let other = TimerRow { definition: DefinitionId(2), ..timer(1, 0, 1) };
    let placed = TimerRow { element: "elsewhere".to_owned(), ..timer(2, 0, 2) };
    let frozen = TimerRow { frozen: true, ..timer(3, 0, 3) };
    bench.write(arm(&[other.clone(), placed.clone(), frozen.clone()]));
    let rows = |filter| list(bench, filter, Page::first(9));
    let none = TimerFilter::default;
    assert_eq!(
        rows(TimerFilter { definitions: vec![DefinitionId(2)], ..none() }),
        std::slice::from_ref(&other)
    );
    let element = Some("elsewhere".to_owned());
    assert_eq!(rows(TimerFilter { element, ..none() }), std::slice::from_ref(&placed));
    let late = TimerFilter { due_from: Some(at(2)), ..none() };
    assert_eq!(rows(late), [placed.clone(), frozen.clone()]);
    assert_eq!(
        rows(TimerFilter { due_before: Some(at(2)), ..none() }),
        std::slice::from_ref(&other)
    );
    let between = TimerFilter { due_from: Some(at(2)), ..none() };
    let page = Page { after: Some(other.key()), limit: 1 };
    assert_eq!(list(bench, between, page), [placed]);
}

/// D3: a timer whose deadline comes first, or at the same instant, is not listed as one that will
/// fire.
fn timers_behind_a_deadline_are_left_out(bench: &Bench<'_>) {
    let deadline = |number| TimerRow {
        id: TimerId(id(number).effect(0, 0)),
        kind: TimerKind::Deadline,
        ..timer(number, 0, 5)
    };
    let cut = [timer(1, 0, 4), deadline(1), timer(1, 1, 5), timer(1, 2, 6)];
    let frozen = [timer(2, 0, 7), TimerRow { frozen: true, ..deadline(2) }];
    let endless = [timer(3, 0, 8)];
    bench.done(start(&InstanceRow { deadline_at: Some(at(5)), ..owner(1, &cut) }));
    bench.done(start(&InstanceRow { deadline_at: Some(at(5)), ..owner(2, &frozen) }));
    bench.done(start(&owner(3, &endless)));
    bench.write(arm(&[&cut[..], &frozen, &endless].concat()));
    let firing = TimerFilter { before_deadline: true, ..TimerFilter::default() };
    let expected = [&cut[..2], &frozen[..1], &endless, &frozen[1..]].concat();
    assert_eq!(list(bench, firing.clone(), Page::first(9)), expected);
    let of_one = TimerFilter { instance: Some(id(1)), ..firing };
    assert_eq!(list(bench, of_one, Page::first(9)), cut[..2]);
}

/// The counts of a forecast, without reading the rows.
fn timers_are_counted_in_parts_of_a_window(bench: &Bench<'_>) {
    let deadline =
        TimerRow { id: TimerId(id(1).effect(0, 0)), kind: TimerKind::Deadline, ..timer(1, 0, 25) };
    let cut = [timer(1, 0, 12), deadline, timer(1, 1, 26)];
    bench.done(start(&InstanceRow { deadline_at: Some(at(25)), ..owner(1, &cut) }));
    let other = TimerRow { definition: DefinitionId(2), ..timer(3, 0, 13) };
    let rest = [timer(2, 0, 9), timer(2, 1, 10), timer(2, 2, 49), timer(2, 3, 50), other];
    let frozen = TimerRow { frozen: true, ..timer(2, 4, 11) };
    bench.write(arm(&[&cut[..], &rest, &[frozen]].concat()));
    let count = |bucket_ms, definitions: &[u64], others| {
        let definitions = definitions.iter().copied().map(DefinitionId).collect();
        let query = TimerCount { from: at(10), to: at(50), bucket_ms, definitions, others };
        bench.get(bench.store.count_timers(query))
    };
    assert_eq!(count(10, &[], true), [(0, 3), (1, 1), (3, 1)]);
    assert_eq!(count(10, &[2], true), [(0, 2), (1, 1), (3, 1)]);
    assert_eq!(count(10, &[2], false), [(0, 1)]);
    assert_eq!(count(1_000, &[1, 2], false), [(0, 5)]);
    assert_eq!(count(10, &[], false), []);
}

/// An instance with these open timers.
fn owner(number: u64, rows: &[TimerRow]) -> InstanceRow {
    let open = |row: &TimerRow| {
        let TimerRow { due_at, kind, frozen, .. } = *row;
        (Key::from(row.id.0), OpenTimer { due_at, kind, frozen })
    };
    let open = Open { timers: rows.iter().map(open).collect(), ..Open::default() };
    InstanceRow { open, ..instance(number) }
}

fn timers_of_an_instance_are_listed(bench: &Bench<'_>) {
    let rows = [timer(1, 2, 4), timer(1, 1, 9), TimerRow { frozen: true, ..timer(1, 0, 1) }];
    bench.done(start(&owner(1, &rows)));
    bench.write(arm(&rows));
    bench.write(arm(&[timer(2, 0, 5)]));
    let filter = TimerFilter { instance: Some(id(1)), ..TimerFilter::default() };
    assert_eq!(list(bench, filter.clone(), Page::first(9)), rows);
    let page = Page { after: Some(rows[0].key()), limit: 1 };
    assert_eq!(list(bench, filter, page), rows[1..2]);
}

fn arming_and_removing_in_one_plan_leaves_nothing(bench: &Bench<'_>) {
    let row = timer(1, 0, 5);
    bench.write(vec![Write::InsertTimer(row.clone()), Write::DeleteTimer(row.key())]);
    assert_eq!(due(bench, None, 9), []);
}

fn removing_and_arming_in_one_plan_leaves_the_timer(bench: &Bench<'_>) {
    let row = timer(1, 0, 5);
    bench.write(arm(std::slice::from_ref(&row)));
    let moved = TimerRow { element: "moved".to_owned(), ..row.clone() };
    bench.write(vec![Write::DeleteTimer(row.key()), Write::InsertTimer(moved.clone())]);
    assert_eq!(bench.get(bench.store.timer(row.key())), Some(moved));
}

fn key_of(row: &TimerRow, frozen: bool, due: i64) -> TimerKey {
    TimerKey { frozen, due_at: at(due), id: row.id }
}

fn a_timer_is_moved_frozen_and_released(bench: &Bench<'_>) {
    let row = timer(1, 0, 5);
    bench.write(arm(std::slice::from_ref(&row)));
    let mut from = row.key();
    for to in [key_of(&row, false, 9), key_of(&row, true, 9), key_of(&row, false, 7)] {
        bench.write(vec![Write::MoveTimer { from, to }]);
        let moved = TimerRow { frozen: to.frozen, due_at: to.due_at, ..row.clone() };
        assert_eq!(list(bench, TimerFilter::default(), Page::first(9)), [moved]);
        from = to;
    }
    let (from, to) = (key_of(&row, false, 1), key_of(&row, false, 2));
    bench.write(vec![Write::MoveTimer { from, to }]);
    assert_eq!(bench.get(bench.store.timer(to)), None);
}

fn a_timer_armed_in_a_plan_can_be_moved_in_it(bench: &Bench<'_>) {
    let row = timer(1, 0, 5);
    let (from, to) = (row.key(), key_of(&row, false, 9));
    bench.write(vec![Write::InsertTimer(row.clone()), Write::MoveTimer { from, to }]);
    let moved = TimerRow { due_at: at(9), ..row };
    assert_eq!(list(bench, TimerFilter::default(), Page::first(9)), [moved]);
}
