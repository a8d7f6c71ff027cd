//! Instances: rows, fences, business keys.

use meantime_core::{DefinitionId, Json, Outcome, State};
use meantime_kernel::open::{Key, Open, OpenTimer};
use meantime_kernel::store::{
    Fence, InstanceMeta, InstanceRow, Phase, Precondition, Refusal, StartedBy, TimerKind, Unit,
    UnitResult, Write,
};

use super::bench::{Bench, NOW, at, ended, event, id, instance, next, start, turn};
use super::suite::declare;

declare!("instance":
    a_row_is_read_back_whole,
    an_id_with_another_random_part_is_unknown,
    a_second_insert_of_an_id_is_a_conflict,
    a_turn_replaces_the_row,
    every_phase_can_follow_and_be_read_back,
    a_stale_turn_writes_nothing_and_spares_the_others,
    two_turns_from_one_state_cannot_share_a_plan,
    an_unchanged_fence_holds_only_at_its_turn,
    a_taken_key_is_refused_with_its_holder,
    a_key_belongs_to_a_definition_name,
    a_key_is_shared_by_all_versions_of_a_name,
    a_key_is_free_once_its_holder_ended,
    a_key_freed_in_a_plan_can_be_taken_in_it,
    of_two_starts_with_one_key_the_first_wins,
    a_refused_unit_writes_nothing,
);

fn a_row_is_read_back_whole(bench: &Bench<'_>) {
    let timer = OpenTimer { due_at: at(5), kind: TimerKind::Element, frozen: true };
    let open = Open { timers: [(Key(1, 0), timer)].into(), children: 2, ..Open::default() };
    let started_by = StartedBy {
        name: "order".to_owned(),
        key: "k".to_owned(),
        others: vec!["asked".to_owned()],
    };
    let row = InstanceRow {
        deadline_at: Some(at(9)),
        state: State::new(7, vec![0, 255, 1]),
        open,
        last_history: 42,
        key: Some("käse".to_owned()),
        meta: InstanceMeta {
            tags: vec!["a".to_owned()],
            ops: 3,
            started_by: Some(started_by),
            ..InstanceMeta::default()
        },
        ..instance(2)
    };
    bench.done(start(&row));
    assert_eq!(bench.instance(row.id), Some(row));
}

fn an_id_with_another_random_part_is_unknown(bench: &Bench<'_>) {
    let row = instance(1);
    bench.done(start(&row));
    let guess = meantime_core::InstanceId::new(row.id.order(), row.id.random() ^ 1);
    assert_eq!(bench.instance(guess), None);
    let forged = InstanceRow { id: guess, ..next(&row) };
    assert_eq!(bench.commit(vec![turn(&forged)]), [UnitResult::Conflict]);
}

fn a_second_insert_of_an_id_is_a_conflict(bench: &Bench<'_>) {
    let row = instance(1);
    bench.done(start(&row));
    let other = InstanceRow { turn_no: 9, ..row.clone() };
    assert_eq!(bench.commit(vec![start(&other)]), [UnitResult::Conflict]);
    assert_eq!(bench.instance(row.id), Some(row));
}

fn a_turn_replaces_the_row(bench: &Bench<'_>) {
    let row = instance(1);
    bench.done(start(&row));
    let row = InstanceRow { state: State::new(2, b"next".as_slice()), ..next(&row) };
    bench.done(turn(&row));
    assert_eq!(bench.instance(row.id), Some(row.clone()));
    let row = InstanceRow { definition: DefinitionId(2), deadline_at: Some(at(1)), ..next(&row) };
    bench.done(turn(&row));
    assert_eq!(bench.instance(row.id), Some(row));
}

fn every_phase_can_follow_and_be_read_back(bench: &Bench<'_>) {
    for (number, (phase, _)) in (1..).zip(Phase::ALL) {
        let row = InstanceRow { phase: Phase::Starting, turn_no: 0, ..instance(number) };
        bench.done(start(&row));
        let null = Json::null;
        let outcome = Outcome::Completed { output: null(), context: null() };
        let row = InstanceRow {
            phase,
            ended_at: phase.is_ended().then_some(NOW),
            meta: InstanceMeta { outcome: Some(outcome), ..InstanceMeta::default() },
            ..next(&row)
        };
        bench.done(turn(&row));
        assert_eq!(bench.instance(row.id), Some(row));
    }
}

fn a_stale_turn_writes_nothing_and_spares_the_others(bench: &Bench<'_>) {
    let (first, second) = (instance(1), instance(2));
    bench.commit(vec![start(&first), start(&second)]);
    bench.done(turn(&next(&first)));
    let stale = Unit {
        writes: vec![Write::PutInbox(Box::new(event(1, 5)))],
        ..turn(&InstanceRow { state: State::new(9, b"lost".as_slice()), ..next(&first) })
    };
    let good =
        Unit { writes: vec![Write::PutInbox(Box::new(event(2, 6)))], ..turn(&next(&second)) };
    let results = bench.commit(vec![stale, good]);
    assert_eq!(results[0], UnitResult::Conflict);
    assert!(matches!(results[1], UnitResult::Done(_)), "{results:?}");
    assert_eq!(bench.instance(first.id), Some(next(&first)));
    assert_eq!(bench.inbox(first.id), []);
    assert_eq!(bench.inbox(second.id).len(), 1);
}

fn two_turns_from_one_state_cannot_share_a_plan(bench: &Bench<'_>) {
    let row = instance(1);
    bench.done(start(&row));
    let one = InstanceRow { state: State::new(1, b"one".as_slice()), ..next(&row) };
    let two = InstanceRow { state: State::new(1, b"two".as_slice()), ..next(&row) };
    let results = bench.commit(vec![turn(&one), turn(&two)]);
    assert!(matches!(results[0], UnitResult::Done(_)));
    assert_eq!(results[1], UnitResult::Conflict);
    assert_eq!(bench.instance(row.id), Some(one));
}

fn an_unchanged_fence_holds_only_at_its_turn(bench: &Bench<'_>) {
    let row = instance(1);
    bench.done(start(&row));
    let unit = |turn_no, seq| Unit {
        fence: Fence::Unchanged { instance: id(1), turn_no },
        writes: vec![Write::PutInbox(Box::new(event(1, seq)))],
        ..Unit::default()
    };
    bench.done(unit(1, 5));
    assert_eq!(bench.commit(vec![unit(2, 6)]), [UnitResult::Conflict]);
    assert_eq!(bench.inbox(id(1)).len(), 1);
    assert_eq!(bench.instance(id(1)), Some(row));
}

fn keyed(number: u64, definition: DefinitionId, name: &str) -> Unit {
    let row = InstanceRow { key: Some("k".to_owned()), definition, ..instance(number) };
    let key = Precondition::KeyFree { definition: name.to_owned(), key: "k".to_owned() };
    Unit { preconditions: vec![key], ..start(&row) }
}

fn taken(number: u64) -> UnitResult {
    UnitResult::Refused(Refusal::KeyTaken(id(number)))
}

fn a_taken_key_is_refused_with_its_holder(bench: &Bench<'_>) {
    let definition = bench.deploy("order", "v1", Vec::new());
    bench.done(keyed(1, definition, "order"));
    assert_eq!(bench.commit(vec![keyed(2, definition, "order")]), [taken(1)]);
    assert_eq!(bench.instance(id(2)), None);
}

fn a_key_belongs_to_a_definition_name(bench: &Bench<'_>) {
    let order = bench.deploy("order", "v1", Vec::new());
    let invoice = bench.deploy("invoice", "v1", Vec::new());
    bench.done(keyed(1, order, "order"));
    bench.done(keyed(2, invoice, "invoice"));
}

fn a_key_is_shared_by_all_versions_of_a_name(bench: &Bench<'_>) {
    let first = bench.deploy("order", "v1", Vec::new());
    let second = bench.deploy("order", "v2", Vec::new());
    bench.done(keyed(1, first, "order"));
    assert_eq!(bench.commit(vec![keyed(2, second, "order")]), [taken(1)]);
}

fn a_key_is_free_once_its_holder_ended(bench: &Bench<'_>) {
    let definition = bench.deploy("order", "v1", Vec::new());
    bench.done(keyed(1, definition, "order"));
    let holder = bench.instance(id(1)).expect("it was inserted");
    bench.done(turn(&ended(&holder)));
    bench.done(keyed(2, definition, "order"));
    assert_eq!(bench.commit(vec![keyed(3, definition, "order")]), [taken(2)]);
}

fn a_key_freed_in_a_plan_can_be_taken_in_it(bench: &Bench<'_>) {
    let definition = bench.deploy("order", "v1", Vec::new());
    bench.done(keyed(1, definition, "order"));
    let holder = bench.instance(id(1)).expect("it was inserted");
    let results = bench.commit(vec![turn(&ended(&holder)), keyed(2, definition, "order")]);
    assert!(results.iter().all(|result| matches!(result, UnitResult::Done(_))), "{results:?}");
}

fn of_two_starts_with_one_key_the_first_wins(bench: &Bench<'_>) {
    let definition = bench.deploy("order", "v1", Vec::new());
    let results = bench.commit(vec![keyed(1, definition, "order"), keyed(2, definition, "order")]);
    assert!(matches!(results[0], UnitResult::Done(_)));
    assert_eq!(results[1], taken(1));
}

fn a_refused_unit_writes_nothing(bench: &Bench<'_>) {
    let definition = bench.deploy("order", "v1", Vec::new());
    bench.done(keyed(1, definition, "order"));
    let mut refused = keyed(2, definition, "order");
    refused.writes.push(Write::PutInbox(Box::new(event(2, 5))));
    bench.commit(vec![refused]);
    assert_eq!(bench.inbox(id(2)), []);
    assert_eq!(bench.recover().ready, []);
}
