//! Children: conditional starts, cancellation, events for the parent.

use meantime_core::{Answer, Event, InstanceId, ParentClose};
use meantime_kernel::store::{
    ChildRef, ConditionalWrite, InstanceMeta, InstanceRow, Lineage, NewChild, Phase, Unit, Write,
};

use super::bench::{Bench, deploy, ended, id, instance, start, turn};
use super::suite::declare;

declare!("child":
    a_child_starts_with_the_latest_version,
    a_named_version_is_started,
    the_latest_version_with_a_label_is_started,
    a_child_of_an_unknown_definition_is_a_conflict,
    a_tree_whose_root_was_cancelled_grows_by_what_was_abandoned_only,
    a_child_with_a_taken_key_is_a_conflict,
    a_parent_that_ends_with_the_unit_is_not_told_of_a_conflict,
    a_tree_grows_to_its_limit_and_again_when_somebody_left,
    live_children_are_listed_in_the_order_of_their_effects,
    a_normal_end_spares_detached_and_abandoned_children,
    any_other_end_spares_abandoned_children_only,
    one_child_can_be_cancelled,
    a_child_that_ended_in_the_same_plan_is_not_cancelled,
    a_parent_that_lives_is_told,
    a_parent_that_ended_is_not_told,
);

fn row(number: u64, parent: InstanceId, ordinal: u32, close: ParentClose) -> InstanceRow {
    let lineage = Lineage {
        parent: parent.effect(1, ordinal),
        root: parent,
        depth: 1,
        catches: vec!["E".to_owned()],
        close,
        hands_on: false,
        is_abandoned: close == ParentClose::Abandon,
    };
    InstanceRow {
        phase: Phase::Starting,
        turn_no: 0,
        meta: InstanceMeta { lineage: Some(lineage), ..InstanceMeta::default() },
        ..instance(number)
    }
}

fn child(number: u64, version: Option<u32>) -> NewChild {
    NewChild {
        key: id(1).effect(1, 0),
        definition: "child".to_owned(),
        version,
        label: None,
        row: Box::new(row(number, id(1), 0, ParentClose::Cancel)),
        scheduled_at: None,
        tree_limit: 3,
        seq: 50,
    }
}

fn apply(number: u64, version: Option<u32>) -> ConditionalWrite {
    ConditionalWrite::StartChild(child(number, version))
}

fn a_child_starts_with_the_latest_version(bench: &Bench<'_>) {
    bench.deploy("child", "v1", Vec::new());
    let latest = bench.deploy("child", "v2", Vec::new());
    bench.done(start(&instance(1)));
    let done = bench.apply(apply(2, None));
    assert_eq!(done.accepted, [id(2)]);
    let child = bench.instance(id(2)).expect("it was accepted");
    assert_eq!((child.definition, child.phase), (latest, Phase::Starting));
    assert_eq!(bench.recover().ready, [id(2)]);
}

fn a_named_version_is_started(bench: &Bench<'_>) {
    let first = bench.deploy("child", "v1", Vec::new());
    bench.deploy("child", "v2", Vec::new());
    bench.done(start(&instance(1)));
    bench.apply(apply(2, Some(1)));
    assert_eq!(bench.instance(id(2)).expect("it was accepted").definition, first);
}

/// Later versions without the label are passed over.
fn the_latest_version_with_a_label_is_started(bench: &Bench<'_>) {
    let labelled = |source: &str, label: Option<&str>| {
        let ConditionalWrite::Deploy(mut new) = deploy("child", source, Vec::new()) else {
            panic!("a deploy")
        };
        new.row.label = label.map(str::to_owned);
        bench.apply(ConditionalWrite::Deploy(new)).deployed[0].0
    };
    labelled("v1", Some("stable"));
    let stable = labelled("v2", Some("stable"));
    labelled("v3", None);
    bench.done(start(&instance(1)));
    let wanted = NewChild { label: Some("stable".to_owned()), ..child(2, None) };
    bench.apply(ConditionalWrite::StartChild(wanted));
    assert_eq!(bench.instance(id(2)).expect("it was accepted").definition, stable);
    let unknown = NewChild { label: Some("other".to_owned()), ..child(3, None) };
    bench.apply(ConditionalWrite::StartChild(unknown));
    assert_eq!(conflict(bench), "unknown_definition");
}

fn conflict(bench: &Bench<'_>) -> String {
    let inbox = bench.inbox(id(1));
    assert_eq!(inbox.len(), 1);
    match &inbox[0].event {
        Event::EffectDone { key, answer: Answer::Conflict { code } } => {
            assert_eq!((*key, inbox[0].seq), (id(1).effect(1, 0), 50));
            code.clone()
        }
        other => panic!("expected a conflict, got {other:?}"),
    }
}

fn a_child_of_an_unknown_definition_is_a_conflict(bench: &Bench<'_>) {
    bench.deploy("child", "v1", Vec::new());
    bench.done(start(&instance(1)));
    let done = bench.apply(apply(2, Some(2)));
    assert_eq!((done.woken, done.accepted), (vec![id(1)], Vec::new()));
    assert_eq!(conflict(bench), "unknown_definition");
    assert_eq!(bench.instance(id(2)), None);
}

/// A definition that starts itself and ends, in a tree that is full.
fn a_parent_that_ends_with_the_unit_is_not_told_of_a_conflict(bench: &Bench<'_>) {
    bench.deploy("child", "v1", Vec::new());
    bench.done(start(&instance(1)));
    let conditional_writes = vec![apply(2, Some(2))];
    let done = bench.done(Unit { conditional_writes, ..turn(&ended(&instance(1))) });
    assert_eq!((done.woken, done.accepted), (Vec::new(), Vec::new()));
    assert!(bench.inbox(id(1)).is_empty());
}

fn a_tree_grows_to_its_limit_and_again_when_somebody_left(bench: &Bench<'_>) {
    bench.deploy("child", "v1", Vec::new());
    bench.done(start(&instance(1)));
    for number in 2..5 {
        assert_eq!(bench.apply(apply(number, None)).accepted, [id(number)]);
    }
    let done = bench.apply(apply(5, None));
    assert_eq!((done.accepted, conflict(bench)), (Vec::new(), "tree_limit".to_owned()));
    let one_left = vec![Write::LeaveTree { root: id(1) }];
    bench.write(one_left.clone());
    assert_eq!(bench.apply(apply(6, None)).accepted, [id(6)]);
    // Another tree has its own count, and an empty tree leaves no row.
    for _ in 0..3 {
        bench.write(one_left.clone());
    }
    for number in 7..10 {
        assert_eq!(bench.apply(apply(number, None)).accepted, [id(number)]);
    }
}

fn a_tree_whose_root_was_cancelled_grows_by_what_was_abandoned_only(bench: &Bench<'_>) {
    bench.deploy("child", "v1", Vec::new());
    bench.done(start(&instance(1)));
    assert_eq!(bench.apply(apply(2, None)).accepted, [id(2)]);
    let cancelled = InstanceRow { phase: Phase::Cancelled, ..ended(&instance(1)) };
    bench.done(turn(&cancelled));
    assert_eq!(bench.apply(apply(3, None)).accepted, []);
    let row = Box::new(row(4, id(1), 0, ParentClose::Abandon));
    let later = NewChild { row, ..child(3, None) };
    assert_eq!(bench.apply(ConditionalWrite::StartChild(later)).accepted, [id(4)]);
}

fn a_child_with_a_taken_key_is_a_conflict(bench: &Bench<'_>) {
    let definition = bench.deploy("child", "v1", Vec::new());
    let key = Some("k".to_owned());
    bench.done(start(&instance(1)));
    bench.done(start(&InstanceRow { key: key.clone(), definition, ..instance(3) }));
    let mut child = child(2, None);
    child.row.key = key;
    bench.apply(ConditionalWrite::StartChild(child));
    assert_eq!(conflict(bench), "key_taken");
}

fn family(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    // Inserted in another order than that of their effects.
    bench.done(start(&row(2, id(1), 2, ParentClose::Abandon)));
    bench.done(start(&row(3, id(1), 0, ParentClose::Cancel)));
    bench.done(start(&row(4, id(1), 1, ParentClose::Detach)));
    bench.done(start(&row(5, id(9), 1, ParentClose::Cancel)));
}

fn live_children_are_listed_in_the_order_of_their_effects(bench: &Bench<'_>) {
    family(bench);
    let child = |ordinal, number, close| {
        let key = id(1).effect(1, ordinal);
        ChildRef { key, id: id(number), close }
    };
    let (cancel, detach, abandon) =
        (ParentClose::Cancel, ParentClose::Detach, ParentClose::Abandon);
    let all = [child(0, 3, cancel), child(1, 4, detach), child(2, 2, abandon)];
    assert_eq!(bench.get(bench.store.children(id(1))), all);
    let gone = row(4, id(1), 1, detach);
    bench.done(turn(&ended(&gone)));
    assert_eq!(bench.get(bench.store.children(id(1))), [all[0], all[2]]);
    assert_eq!(bench.get(bench.store.children(id(7))), []);
}

fn cancel(bench: &Bench<'_>, only: Option<u32>, normal_end: bool) -> Vec<InstanceId> {
    family(bench);
    let only = only.map(|ordinal| id(1).effect(1, ordinal));
    let reason = "over".to_owned();
    let apply =
        ConditionalWrite::CancelChildren { instance: id(1), only, normal_end, reason, seq: 60 };
    let woken = bench.apply(apply).woken;
    for child in &woken {
        let inbox = bench.inbox(*child);
        assert_eq!(inbox[0].event, Event::Cancel { reason: "over".to_owned() });
    }
    woken
}

fn a_normal_end_spares_detached_and_abandoned_children(bench: &Bench<'_>) {
    assert_eq!(cancel(bench, None, true), [id(3)]);
}

fn any_other_end_spares_abandoned_children_only(bench: &Bench<'_>) {
    assert_eq!(cancel(bench, None, false), [id(3), id(4)]);
}

fn one_child_can_be_cancelled(bench: &Bench<'_>) {
    assert_eq!(cancel(bench, Some(2), true), [id(2)]);
}

fn a_child_that_ended_in_the_same_plan_is_not_cancelled(bench: &Bench<'_>) {
    family(bench);
    let end = turn(&ended(&row(3, id(1), 0, ParentClose::Cancel)));
    let reason = "over".to_owned();
    let apply = ConditionalWrite::CancelChildren {
        instance: id(1),
        only: None,
        normal_end: true,
        reason,
        seq: 60,
    };
    bench.commit(vec![end, Unit { conditional_writes: vec![apply], ..Unit::default() }]);
    assert_eq!(bench.inbox(id(3)), []);
}

fn notify() -> Unit {
    let event = Event::Cancel { reason: "news".to_owned() };
    let apply = ConditionalWrite::Notify { parent: id(1), event, seq: 70 };
    Unit { conditional_writes: vec![apply], ..Unit::default() }
}

fn a_parent_that_lives_is_told(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    assert_eq!(bench.done(notify()).woken, [id(1)]);
    assert_eq!(bench.inbox(id(1))[0].seq, 70);
    assert_eq!(bench.recover().ready, [id(1)]);
}

fn a_parent_that_ended_is_not_told(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    bench.commit(vec![turn(&ended(&instance(1))), notify()]);
    assert_eq!(bench.inbox(id(1)), []);
    assert_eq!(bench.done(notify()).woken, []);
    assert_eq!(bench.inbox(id(1)), []);
}
