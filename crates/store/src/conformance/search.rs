//! Searches of instances in every order, and maintained counts.

use meantime_core::{
    DefinitionId, Failure, InstanceId, Json, Outcome, ParentClose, Termination, Timestamp,
};
use meantime_kernel::open::{Key, OpenTimer};
use meantime_kernel::store::{
    IncidentCount, IncidentRow, InstanceCount, InstanceFilter, InstanceMeta, InstancePosition,
    InstanceRow, InstanceSearch, InstanceSort, Lineage, Phase, TimerRow, Unit, Write,
};

use super::bench::{Bench, NOW, at, ended, id, instance, next, start, timer, turn};
use super::suite::declare;

declare!("search":
    a_search_reads_on_from_every_position,
    a_search_examines_no_more_than_it_may,
    instances_are_sorted_by_end,
    instances_are_sorted_by_key,
    instances_are_sorted_by_their_next_timer,
    instances_of_several_definitions_are_merged,
    instances_are_found_by_several_tags,
    instances_are_found_by_parent_and_root,
    instances_are_found_by_incident_code,
    instances_are_found_by_error_code,
    instances_are_found_in_a_range_of_ids,
    instances_are_counted,
    an_instance_that_moves_is_counted_once,
    a_unit_that_does_not_take_effect_is_not_counted,
    many_definitions_are_counted,
    incidents_are_counted_by_code,
);

const NONE: [u64; 0] = [];

/// Reads a whole list page by page.
fn pages(bench: &Bench<'_>, search: &InstanceSearch) -> Vec<u64> {
    let mut search = search.clone();
    let mut seen = Vec::new();
    loop {
        let matches = bench.get(bench.store.search(search.clone()));
        assert!(matches.examined <= search.examine && matches.found.len() <= search.limit);
        assert!(matches.found.iter().all(|(position, row)| position.instance() == row.id));
        seen.extend(matches.found.iter().map(|(_, row)| row.id.order() >> 15));
        match matches.next {
            Some(next) => search.after = Some(next),
            None => return seen,
        }
    }
}

/// The matches of a filter in an order, which must not depend on the size of pages or the number of
/// candidates, and which must be the reverse in the other direction.
fn list(bench: &Bench<'_>, sort: InstanceSort, filter: &InstanceFilter) -> Vec<u64> {
    let search = |descending, limit, examine| InstanceSearch {
        filter: filter.clone(),
        sort,
        descending,
        after: None,
        limit,
        examine,
    };
    let up = pages(bench, &search(false, 100, 1_000));
    let mut down = pages(bench, &search(true, 100, 1_000));
    down.reverse();
    assert_eq!(up, down, "both directions");
    for (limit, examine) in [(1, 1), (1, 100), (2, 3), (100, 1), (3, 17)] {
        assert_eq!(pages(bench, &search(false, limit, examine)), up, "{limit} of {examine}");
        let mut down = pages(bench, &search(true, limit, examine));
        down.reverse();
        assert_eq!(down, up, "{limit} of {examine}, descending");
    }
    up
}

fn by_start(bench: &Bench<'_>, filter: &InstanceFilter) -> Vec<u64> {
    list(bench, InstanceSort::Start, filter)
}

fn any() -> InstanceFilter {
    InstanceFilter::default()
}

fn a_search_reads_on_from_every_position(bench: &Bench<'_>) {
    bench.commit((1..=7).map(|number| start(&instance(number))).collect());
    assert_eq!(by_start(bench, &any()), [1, 2, 3, 4, 5, 6, 7]);
    // The instance at a position need not be there any more.
    let after = Some(InstancePosition::Start(InstanceId::new((4 << 15) + 1, 9)));
    let (limit, examine) = (9, 9);
    let search = InstanceSearch { after, limit, examine, ..InstanceSearch::default() };
    assert_eq!(pages(bench, &search), [5, 6, 7]);
}

fn a_search_examines_no_more_than_it_may(bench: &Bench<'_>) {
    let definition = DefinitionId(7);
    bench.commit((1..=40).map(|number| start(&instance(number))).collect());
    bench.done(start(&InstanceRow { definition, ..instance(41) }));
    let filter = InstanceFilter { definitions: vec![definition], ..any() };
    let search = InstanceSearch { filter, limit: 1, examine: 10, ..InstanceSearch::default() };
    let matches = bench.get(bench.store.search(search));
    assert_eq!((matches.found.len(), matches.examined), (0, 10));
    assert_eq!(matches.next.map(|it| it.instance().order() >> 15), Some(10));
}

fn ended_at(number: u64, millis: i64) -> InstanceRow {
    InstanceRow { ended_at: Some(at(millis)), ..ended(&instance(number)) }
}

fn instances_are_sorted_by_end(bench: &Bench<'_>) {
    for (number, millis) in [(1, 30), (2, 10), (3, 20), (4, 20), (5, 40)] {
        bench.done(start(&instance(number)));
        bench.done(turn(&ended_at(number, millis)));
    }
    bench.done(start(&instance(6)));
    let sorted = |filter: &InstanceFilter| list(bench, InstanceSort::End, filter);
    assert_eq!(sorted(&any()), [2, 3, 4, 1, 5]);
    let (ended_from, ended_before) = (Some(at(20)), Some(at(40)));
    let filter = InstanceFilter { ended_from, ended_before, ..any() };
    assert_eq!(sorted(&filter), [3, 4, 1]);
    assert_eq!(by_start(bench, &filter), [1, 3, 4]);
    assert_eq!(sorted(&InstanceFilter { phases: vec![Phase::Running], ..any() }), NONE);
}

fn instances_are_sorted_by_key(bench: &Bench<'_>) {
    let keyed = |number, key: &str| InstanceRow { key: Some(key.to_owned()), ..instance(number) };
    for (number, key) in [(1, "b"), (2, "ab"), (3, "a"), (4, "ab-ü"), (5, "aB"), (7, "ac")] {
        bench.done(start(&keyed(number, key)));
    }
    bench.done(start(&instance(6)));
    bench.done(turn(&ended(&keyed(2, "ab"))));
    bench.done(start(&keyed(8, "ab")));
    let sorted = |filter: &InstanceFilter| list(bench, InstanceSort::Key, filter);
    assert_eq!(sorted(&any()), [3, 5, 2, 8, 4, 7, 1]);
    let filter = InstanceFilter { key_prefix: Some("ab".to_owned()), ..any() };
    assert_eq!(sorted(&filter), [2, 8, 4]);
    assert_eq!(by_start(bench, &filter), [2, 4, 8]);
    let filter = InstanceFilter { key: Some("ab".to_owned()), ..any() };
    assert_eq!((sorted(&filter), by_start(bench, &filter)), (vec![2, 8], vec![2, 8]));
}

/// Starts an instance with timers, due so many milliseconds from now; a frozen one is negative.
fn with_timers(bench: &Bench<'_>, number: u64, due: &[i64]) {
    let mut row = instance(number);
    let mut writes = Vec::new();
    for (ordinal, due) in (0..).zip(due) {
        let armed = TimerRow { frozen: *due < 0, ..timer(number, ordinal, due.abs()) };
        let open = OpenTimer { due_at: armed.due_at, kind: armed.kind, frozen: armed.frozen };
        row.open.timers.insert(Key(1, ordinal), open);
        writes.push(Write::InsertTimer(armed));
    }
    bench.done(Unit { writes, ..start(&row) });
}

fn instances_are_sorted_by_their_next_timer(bench: &Bench<'_>) {
    with_timers(bench, 1, &[500, 300]);
    with_timers(bench, 2, &[100, 400, 600]);
    with_timers(bench, 3, &[-50]);
    with_timers(bench, 4, &[-10, 200]);
    with_timers(bench, 5, &[]);
    with_timers(bench, 6, &[300, 300]);
    assert_eq!(list(bench, InstanceSort::Due, &any()), [2, 4, 1, 6]);
    let filter = InstanceFilter { id_from: Some(id(2)), ..any() };
    assert_eq!(list(bench, InstanceSort::Due, &filter), [2, 4, 6]);
}

fn instances_of_several_definitions_are_merged(bench: &Bench<'_>) {
    bench.deploy("one", "1", Vec::new());
    bench.deploy("two", "2", Vec::new());
    bench.deploy("three", "3", Vec::new());
    let of = |number: u64| DefinitionId(1 + u64::from(number.trailing_zeros().min(2)));
    for number in 1..=60 {
        bench.done(start(&InstanceRow { definition: of(number), ..instance(number) }));
    }
    for number in [4, 9, 12] {
        let row = InstanceRow { definition: of(number), ..instance(number) };
        bench.done(turn(&InstanceRow { phase: Phase::Failed, ..ended(&row) }));
    }
    let phases = vec![Phase::Running, Phase::Closing];
    let live = InstanceFilter { phases, ..any() };
    let all = |wanted: fn(&u64) -> bool| (1..=60).filter(wanted).collect::<Vec<u64>>();
    let ended = |number: &u64| [4, 9, 12].contains(number);
    assert_eq!(by_start(bench, &live), all(|it| ![4, 9, 12].contains(it)));
    let definitions = vec![DefinitionId(3), DefinitionId(2)];
    let some = InstanceFilter { definitions, ..live.clone() };
    assert_eq!(by_start(bench, &some), all(|it| it % 2 == 0 && ![4, 12].contains(it)));
    let some = InstanceFilter { except: vec![DefinitionId(1)], ..live };
    assert_eq!(by_start(bench, &some), all(|it| it % 2 == 0 && ![4, 12].contains(it)));
    let failed = InstanceFilter { phases: vec![Phase::Failed, Phase::Cancelled], ..any() };
    assert!(by_start(bench, &failed).iter().all(ended));
}

fn instances_are_found_by_several_tags(bench: &Bench<'_>) {
    bench.commit((1..=6).map(|number| start(&instance(number))).collect());
    let tagged = |number, tags: &[&str]| Write::PutTags {
        instance: id(number),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        attributes: Vec::new(),
    };
    bench.write(vec![
        tagged(1, &["red", "big"]),
        tagged(2, &["red"]),
        tagged(4, &["big"]),
        tagged(5, &["big", "red", "old"]),
    ]);
    let with = |tags: &[&str]| {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        by_start(bench, &InstanceFilter { tags, ..any() })
    };
    assert_eq!((with(&["red", "big"]), with(&["big", "red"])), (vec![1, 5], vec![1, 5]));
    assert_eq!((with(&["old", "red", "big"]), with(&["old", "new"])), (vec![5], vec![]));
}

fn child_of(number: u64, parent: u64, root: u64) -> InstanceRow {
    let lineage = Lineage {
        parent: id(parent).effect(1, u32::try_from(number).unwrap_or_default()),
        root: id(root),
        depth: 1,
        catches: Vec::new(),
        close: ParentClose::Cancel,
        hands_on: false,
        is_abandoned: false,
    };
    let meta = InstanceMeta { lineage: Some(lineage), ..InstanceMeta::default() };
    InstanceRow { meta, ..instance(number) }
}

fn instances_are_found_by_parent_and_root(bench: &Bench<'_>) {
    bench.commit([1, 2].map(|number| start(&instance(number))).to_vec());
    let children = [child_of(3, 1, 1), child_of(4, 3, 1), child_of(5, 2, 2), child_of(6, 1, 1)];
    bench.commit(children.iter().map(start).collect());
    bench.done(turn(&ended(&children[3])));
    let parent = |number| by_start(bench, &InstanceFilter { parent: Some(id(number)), ..any() });
    assert_eq!((parent(1), parent(3), parent(4)), (vec![3, 6], vec![4], vec![]));
    let root = |number| by_start(bench, &InstanceFilter { root: Some(id(number)), ..any() });
    assert_eq!((root(1), root(2), root(9)), (vec![1, 3, 4, 6], vec![2, 5], vec![]));
    // An id that somebody guessed finds nothing.
    let guessed = Some(InstanceId::new(id(1).order(), 5));
    assert_eq!(by_start(bench, &InstanceFilter { parent: guessed, ..any() }), NONE);
    assert_eq!(by_start(bench, &InstanceFilter { root: guessed, ..any() }), NONE);
}

fn incident(number: u64, of: u64, code: &str) -> Write {
    let failure = Failure::new(code, "it broke");
    Write::PutIncident(IncidentRow { failure, ..super::incident::row(number, of) })
}

fn instances_are_found_by_incident_code(bench: &Bench<'_>) {
    for number in 1..=4 {
        let mut row = instance(number);
        row.meta.incidents = u32::from(number < 4);
        bench.done(start(&row));
    }
    bench.write(vec![incident(1, 1, "a"), incident(2, 1, "a"), incident(3, 1, "b")]);
    bench.write(vec![incident(4, 2, "b"), incident(5, 3, "a")]);
    let with = |code: &str, incident| {
        let incident_code = Some(code.to_owned());
        by_start(bench, &InstanceFilter { incident_code, incident, ..any() })
    };
    assert_eq!((with("a", None), with("b", Some(true))), (vec![1, 3], vec![1, 2]));
    assert_eq!((with("c", None), with("a", Some(false))), (vec![], vec![]));
    let both =
        InstanceFilter { incident_code: Some("b".to_owned()), id_before: Some(id(2)), ..any() };
    assert_eq!(by_start(bench, &both), [1]);
}

fn failed(number: u64, code: &str) -> InstanceRow {
    let context = Json::null();
    let failure = Failure::new(code, "it broke");
    let outcome = Outcome::Failed { failure, termination: Termination::Fail, context };
    let meta = InstanceMeta { outcome: Some(outcome), ..InstanceMeta::default() };
    InstanceRow { phase: Phase::Failed, meta, ..ended(&instance(number)) }
}

fn instances_are_found_by_error_code(bench: &Bench<'_>) {
    for number in 1..=4 {
        bench.done(start(&instance(number)));
    }
    bench.done(turn(&failed(1, "a")));
    bench.done(turn(&failed(2, "b")));
    bench.done(turn(&failed(4, "a")));
    let filter = InstanceFilter { error_code: Some("a".to_owned()), ..any() };
    assert_eq!(by_start(bench, &filter), [1, 4]);
    let filter = InstanceFilter { phases: vec![Phase::Failed, Phase::Completed], ..filter };
    assert_eq!(by_start(bench, &filter), [1, 4]);
}

fn instances_are_found_in_a_range_of_ids(bench: &Bench<'_>) {
    bench.commit((1..=5).map(|number| start(&instance(number))).collect());
    let filter = InstanceFilter { id_from: Some(id(2)), id_before: Some(id(5)), ..any() };
    assert_eq!(by_start(bench, &filter), [2, 3, 4]);
    let started = |from: Option<Timestamp>, before: Option<Timestamp>| {
        InstanceFilter { started_from: from, started_before: before, ..any() }.bound_ids()
    };
    // Ids of the cases have other times than the instances.
    assert_eq!(by_start(bench, &started(Some(NOW), None)), NONE);
    assert_eq!(by_start(bench, &started(None, Some(at(1)))), [1, 2, 3, 4, 5]);
}

fn counts(bench: &Bench<'_>) -> Vec<(u64, Phase, u64)> {
    let counts = bench.get(bench.store.count_instances());
    assert_eq!(bench.get(bench.store.check()), Vec::<String>::new(), "counts are right");
    let plain = |it: InstanceCount| (it.definition.0, it.status, it.count);
    counts.into_iter().map(plain).collect()
}

fn instances_are_counted(bench: &Bench<'_>) {
    assert_eq!(counts(bench), []);
    let phases = [Phase::Starting, Phase::Running, Phase::Yielding, Phase::Running];
    let rows = (1..).zip(phases).map(|(number, phase)| InstanceRow { phase, ..instance(number) });
    let rows: Vec<InstanceRow> = rows.collect();
    bench.commit(rows.iter().map(start).collect());
    assert_eq!(counts(bench), [(1, Phase::Running, 4)]);
    bench.done(start(&InstanceRow { phase: Phase::Completed, ended_at: Some(NOW), ..instance(5) }));
    bench.done(turn(&InstanceRow { phase: Phase::Closing, ..next(&rows[1]) }));
    bench.commit(vec![turn(&ended(&rows[0])), turn(&next(&rows[2]))]);
    let row = Box::new(InstanceRow { definition: DefinitionId(2), ..instance(6) });
    bench.write(vec![Write::InsertInstance(row)]);
    let now = [(1, Phase::Running, 3), (1, Phase::Completed, 2), (2, Phase::Running, 1)];
    assert_eq!(counts(bench), now);
}

fn an_instance_that_moves_is_counted_once(bench: &Bench<'_>) {
    let first = instance(1);
    bench.done(start(&first));
    let moved = InstanceRow { definition: DefinitionId(2), ..next(&first) };
    bench.done(turn(&moved));
    assert_eq!(counts(bench), [(2, Phase::Running, 1)]);
    let over = InstanceRow { phase: Phase::Cancelled, ..ended(&moved) };
    bench.done(turn(&over));
    assert_eq!(counts(bench), [(2, Phase::Cancelled, 1)]);
    let again = InstanceRow { phase: Phase::Running, ended_at: None, ..next(&over) };
    bench.done(turn(&again));
    assert_eq!(counts(bench), [(2, Phase::Running, 1)]);
    // Started and ended in one transaction.
    let new = instance(2);
    bench.commit(vec![start(&new), turn(&ended(&new))]);
    let now = counts(bench);
    assert!(now == [(1, Phase::Completed, 1), (2, Phase::Running, 1)], "{now:?}");
}

fn a_unit_that_does_not_take_effect_is_not_counted(bench: &Bench<'_>) {
    bench.commit(vec![start(&instance(1)), start(&instance(1))]);
    bench.commit(vec![start(&instance(1)), start(&instance(2))]);
    let late = InstanceRow { turn_no: 7, ..ended(&instance(1)) };
    bench.commit(vec![turn(&late), turn(&ended(&instance(2)))]);
    assert_eq!(counts(bench), [(1, Phase::Running, 1), (1, Phase::Completed, 1)]);
}

/// More than are gathered before they are written to a table.
fn many_definitions_are_counted(bench: &Bench<'_>) {
    let row =
        |number: u64| InstanceRow { definition: DefinitionId(number % 50), ..instance(number) };
    for portion in 0..4 {
        let numbers = 1 + portion * 50..=50 + portion * 50;
        bench.commit(numbers.map(|number| start(&row(number))).collect());
    }
    bench.commit((1..=100).map(|number| turn(&ended(&row(number)))).collect());
    let all = counts(bench);
    assert_eq!(all.len(), 100);
    assert!(all.iter().all(|(_, _, count)| *count == 2), "{all:?}");
}

fn incidents_are_counted_by_code(bench: &Bench<'_>) {
    for number in 1..=3 {
        let definition = DefinitionId(number.min(2));
        bench.done(start(&InstanceRow { definition, ..instance(number) }));
    }
    bench.write(vec![incident(1, 1, "b"), incident(2, 2, "a"), incident(3, 3, "a")]);
    bench.write(vec![incident(4, 1, "a")]);
    let count = |limit| {
        let counts = bench.get(bench.store.count_incidents(limit)).into_iter();
        counts
            .map(|IncidentCount { code, definition, count }| (code, definition.0, count))
            .collect::<Vec<_>>()
    };
    let of = |code: &str, definition, count| (code.to_owned(), definition, count);
    assert_eq!(count(9), [of("a", 1, 1), of("a", 2, 2), of("b", 1, 1)]);
    assert_eq!(count(3), [of("a", 2, 2), of("b", 1, 1)]);
}
