//! Reads: fetching, lists of instances, recovery.

use meantime_core::{Attribute, DefinitionId, InstanceId, Occurrence, OccurrenceOutcome};
use meantime_kernel::store::{
    ChannelKey, FetchRequest, Fetched, HistoryRow, InstanceFilter, InstanceMeta, InstanceRow,
    MessageRow, OccurrenceRow, Page, Phase, Plan, SubscriptionRow, Unit, Wanted, Write,
};

use super::bench::{
    Bench, NOW, at, ended, event, id, incident_id, insert_task, instance, json, start, task, turn,
};
use super::suite::declare;

declare!("read":
    a_take_answers_in_the_order_asked,
    a_take_reads_only_what_is_wanted,
    instances_are_listed_newest_first_in_pages,
    instances_are_listed_by_phase,
    instances_are_listed_by_definition,
    live_instances_are_listed_by_definition,
    instances_are_listed_by_key,
    instances_are_listed_by_tag,
    instances_are_listed_by_start,
    instances_are_listed_by_incident,
    instances_of_some_definitions_are_left_out,
    what_lies_behind_many_others_is_found,
    starting_and_yielding_instances_are_ready_after_a_restart,
    instances_that_an_incident_holds_are_not_ready,
    clock_and_batch_never_go_back,
    a_batch_is_known_as_committed,
    the_largest_number_survives_what_used_it,
    a_sound_store_has_no_problems,
    a_ledger_is_read_in_pages_that_lose_no_line,
);

/// An occurrence that was missed and filled back later has two lines.
fn a_ledger_is_read_in_pages_that_lose_no_line(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    let line = |second: i64, outcome| {
        let (scheduled_at, reason) = (at(second), String::new());
        let occurrence =
            Occurrence { scheduled_at, last_at: scheduled_at, count: 1, outcome, reason };
        let (schedule, instance) = (id(1), None);
        OccurrenceRow { schedule, occurrence, instance, decided_at: at(second) }
    };
    let lines = [
        line(3, OccurrenceOutcome::Started),
        line(2, OccurrenceOutcome::Started),
        line(2, OccurrenceOutcome::Missed),
        line(1, OccurrenceOutcome::Started),
        line(1, OccurrenceOutcome::Skipped),
    ];
    bench.write(lines.iter().cloned().map(Write::PutOccurrence).collect());
    for limit in 1..=6 {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = bench.get(bench.store.occurrences(id(1), Page { after, limit }));
            let Some(last) = page.last() else { break };
            after = Some(last.key());
            seen.extend(page);
        }
        assert_eq!(seen, lines, "in pages of {limit}");
    }
}

fn list(bench: &Bench<'_>, filter: InstanceFilter) -> Vec<InstanceId> {
    let rows = bench.get(bench.store.instances(filter, Page::first(100)));
    rows.iter().map(|row| row.id).collect()
}

fn ids<const N: usize>(numbers: [u64; N]) -> [InstanceId; N] {
    numbers.map(id)
}

fn a_take_answers_in_the_order_asked(bench: &Bench<'_>) {
    bench.commit(vec![start(&instance(1)), start(&instance(2))]);
    bench.write(vec![insert_task(&task(1, 0)), Write::PutInbox(Box::new(event(1, 5)))]);
    let instances = [2, 7, 1].map(|number| Wanted { id: id(number), row: true, inbox: true });
    let tasks = vec![task(9, 0).id, task(1, 0).id];
    let instances = instances.to_vec();
    let request =
        FetchRequest { now: NOW, instances, tasks, inbox_limit: 5, ..FetchRequest::default() };
    let fetched = bench.get(bench.store.fetch(request));
    let rows: Vec<_> = fetched.instances.iter().map(|fetched| fetched.row.clone()).collect();
    assert_eq!(rows, [Some(instance(2)), None, Some(instance(1))]);
    assert_eq!(fetched.instances[2].inbox, [event(1, 5)]);
    assert_eq!(fetched.tasks, [None, Some(task(1, 0))]);
}

fn a_take_reads_only_what_is_wanted(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    bench.write(vec![Write::PutInbox(Box::new(event(1, 5)))]);
    let wanted = |row, inbox| {
        let instances = vec![Wanted { id: id(1), row, inbox }];
        let request = FetchRequest { instances, inbox_limit: 5, ..FetchRequest::default() };
        let fetched = bench.get(bench.store.fetch(request));
        (fetched.instances[0].row.is_some(), fetched.instances[0].inbox.len())
    };
    assert_eq!((wanted(true, false), wanted(false, true)), ((true, 0), (false, 1)));
}

fn instances_are_listed_newest_first_in_pages(bench: &Bench<'_>) {
    bench.commit((1..=7).map(|number| start(&instance(number))).collect());
    let mut seen: Vec<InstanceId> = Vec::new();
    for _ in 0..4 {
        let page = Page { after: seen.last().copied(), limit: 3 };
        let rows = bench.get(bench.store.instances(InstanceFilter::default(), page));
        seen.extend(rows.iter().map(|row| row.id));
    }
    assert_eq!(seen, ids([7, 6, 5, 4, 3, 2, 1]));
}

/// One instance per phase, 1 to 7, in the order of the phases.
fn one_per_phase(bench: &Bench<'_>) {
    for (number, (phase, _)) in (1..).zip(Phase::ALL) {
        let ended_at = phase.is_ended().then_some(NOW);
        bench.done(start(&InstanceRow { phase, ended_at, ..instance(number) }));
    }
}

fn instances_are_listed_by_phase(bench: &Bench<'_>) {
    bench.deploy("order", "v1", Vec::new());
    one_per_phase(bench);
    let audit = |phases: &[Phase]| {
        let phases = phases.to_vec();
        list(bench, InstanceFilter { phases, ..InstanceFilter::default() })
    };
    assert_eq!(audit(&[Phase::Starting, Phase::Failed, Phase::Failed]), ids([6, 1]));
    assert_eq!(audit(&[Phase::Running, Phase::Closing, Phase::Running]), ids([4, 2]));
    assert_eq!(audit(&[Phase::Completed]), ids([5]));
    assert_eq!(audit(&[Phase::Completed, Phase::Yielding]), ids([5, 3]));
    assert_eq!(audit(&[]), ids([7, 6, 5, 4, 3, 2, 1]));
}

fn instances_are_listed_by_definition(bench: &Bench<'_>) {
    for number in 1..=6 {
        let definition = DefinitionId(number % 3);
        bench.done(start(&InstanceRow { definition, ..instance(number) }));
    }
    let audit = |definitions: &[u64]| {
        let definitions = definitions.iter().copied().map(DefinitionId).collect();
        list(bench, InstanceFilter { definitions, ..InstanceFilter::default() })
    };
    assert_eq!(audit(&[1]), ids([4, 1]));
    assert_eq!(audit(&[0, 2]), ids([6, 5, 3, 2]));
}

fn live_instances_are_listed_by_definition(bench: &Bench<'_>) {
    for number in 1..=6 {
        let definition = DefinitionId(number % 3);
        bench.done(start(&InstanceRow { definition, ..instance(number) }));
    }
    let over = InstanceRow { definition: DefinitionId(1), ..instance(4) };
    bench.done(turn(&ended(&over)));
    let filter = InstanceFilter {
        definitions: vec![DefinitionId(1), DefinitionId(2)],
        phases: vec![Phase::Running, Phase::Closing],
        ..InstanceFilter::default()
    };
    assert_eq!(list(bench, filter.clone()), ids([5, 2, 1]));
    let page = Page { after: Some(id(5)), limit: 1 };
    let rows = bench.get(bench.store.instances(filter, page));
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids([2]));
}

fn instances_are_listed_by_incident(bench: &Bench<'_>) {
    for number in 1..=4 {
        let mut row = instance(number);
        row.meta.incidents = u32::from(number % 2 == 0);
        let mut unit = start(&row);
        if row.meta.incidents > 0 {
            unit.writes.push(Write::PutIncident(super::incident::row(number, number)));
            unit.writes.push(Write::PutIncident(super::incident::row(10 + number, number)));
        }
        bench.done(unit);
    }
    let audit = |incident| {
        let incident = Some(incident);
        list(bench, InstanceFilter { incident, ..InstanceFilter::default() })
    };
    assert_eq!((audit(true), audit(false)), (ids([4, 2]).to_vec(), ids([3, 1]).to_vec()));
    let filter = InstanceFilter { incident: Some(true), ..InstanceFilter::default() };
    let page = Page { after: Some(id(4)), limit: 5 };
    let rows = bench.get(bench.store.instances(filter, page));
    assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids([2]));
}

fn instances_of_some_definitions_are_left_out(bench: &Bench<'_>) {
    for number in 1..=6 {
        let definition = DefinitionId(number % 3);
        bench.done(start(&InstanceRow { definition, ..instance(number) }));
    }
    let except = vec![DefinitionId(1), DefinitionId(2)];
    let filter = InstanceFilter { except, ..InstanceFilter::default() };
    assert_eq!(list(bench, filter.clone()), ids([6, 3]));
    let definitions = vec![DefinitionId(0), DefinitionId(1)];
    let phases = vec![Phase::Running];
    assert_eq!(list(bench, InstanceFilter { definitions, phases, ..filter }), ids([6, 3]));
}

/// A store may scan a long list in parts; nothing is missed between the parts.
fn what_lies_behind_many_others_is_found(bench: &Bench<'_>) {
    const MANY: u64 = 2_003;
    let rows = (1..=MANY).map(|number| {
        let definition = DefinitionId(if number % 1_000 < 2 { 7 } else { 1 });
        start(&InstanceRow { definition, ..instance(number) })
    });
    bench.commit(rows.collect());
    let definitions = vec![DefinitionId(7)];
    let filter = InstanceFilter { definitions, ..InstanceFilter::default() };
    let found = ids([2_001, 2_000, 1_001, 1_000, 1]);
    assert_eq!(list(bench, filter.clone()), found);
    let page = |after, limit| {
        let rows = bench.get(bench.store.instances(filter.clone(), Page { after, limit }));
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 3), found[..3]);
    assert_eq!(page(Some(id(2_000)), 2), found[2..4]);
    assert_eq!(page(Some(id(1)), 2), []);
}

fn instances_are_listed_by_key(bench: &Bench<'_>) {
    let keyed = |number, key: &str| InstanceRow { key: Some(key.to_owned()), ..instance(number) };
    bench.commit([keyed(1, "a"), keyed(2, "b"), instance(3)].iter().map(start).collect());
    bench.done(turn(&ended(&keyed(1, "a"))));
    bench.done(start(&keyed(4, "a")));
    let key = Some("a".to_owned());
    assert_eq!(list(bench, InstanceFilter { key, ..InstanceFilter::default() }), ids([4, 1]));
}

fn instances_are_listed_by_tag(bench: &Bench<'_>) {
    bench.commit((1..=4).map(|number| start(&instance(number))).collect());
    let red = |number| Write::PutTags {
        instance: id(number),
        tags: vec!["red".to_owned(), "all".to_owned()],
        attributes: vec![Attribute { name: "n".to_owned(), value: number.to_string() }],
    };
    bench.write(vec![red(1), red(3), red(3)]);
    let audit = |tag: &str| {
        let tags = vec![tag.to_owned()];
        list(bench, InstanceFilter { tags, ..InstanceFilter::default() })
    };
    assert_eq!(audit("red"), ids([3, 1]));
    assert_eq!(audit("n=1"), ids([1]));
    assert_eq!(audit("blue"), []);
    let tags = vec!["red".to_owned()];
    let phases = vec![Phase::Failed];
    assert_eq!(list(bench, InstanceFilter { tags, phases, ..InstanceFilter::default() }), []);
}

fn instances_are_listed_by_start(bench: &Bench<'_>) {
    for number in 1..=4 {
        let started_at = at(i64::try_from(number).unwrap_or_default());
        bench.done(start(&InstanceRow { started_at, ..instance(number) }));
    }
    let (started_from, started_before) = (Some(at(2)), Some(at(4)));
    let filter = InstanceFilter { started_from, started_before, ..InstanceFilter::default() };
    assert_eq!(list(bench, filter), ids([3, 2]));
}

fn starting_and_yielding_instances_are_ready_after_a_restart(bench: &Bench<'_>) {
    one_per_phase(bench);
    assert_eq!(bench.recover().ready, ids([1, 3]));
}

fn instances_that_an_incident_holds_are_not_ready(bench: &Bench<'_>) {
    let meta = InstanceMeta { held: Some(incident_id(1)), ..InstanceMeta::default() };
    bench.done(start(&InstanceRow { phase: Phase::Starting, meta, ..instance(1) }));
    assert_eq!(bench.recover().ready, []);
}

fn clock_and_batch_never_go_back(bench: &Bench<'_>) {
    let commit = |batch, millis| {
        let plan = Plan { batch, now: at(millis), units: Vec::new(), lease_term: None };
        bench.get(bench.store.commit(Fetched::default(), plan));
        let node = bench.recover();
        (node.batch, node.clock)
    };
    assert_eq!(commit(7, 10), (7, at(10)));
    assert_eq!(commit(6, 5), (7, at(10)));
    assert_eq!(commit(8, 9), (8, at(10)));
}

fn a_batch_is_known_as_committed(bench: &Bench<'_>) {
    for batch in [2, 3] {
        let plan = Plan { batch, now: NOW, units: Vec::new(), lease_term: None };
        bench.get(bench.store.commit(Fetched::default(), plan));
    }
    let known = [2, 3, 4].map(|batch| bench.get(bench.store.is_committed(batch)));
    assert_eq!(known, [true, true, false]);
}

fn the_largest_number_survives_what_used_it(bench: &Bench<'_>) {
    let seq = || bench.recover().seq;
    bench.done(start(&InstanceRow { last_history: 5, ..instance(1) }));
    assert_eq!(seq(), id(1).order());
    let base = id(1).order();
    let history = HistoryRow {
        seq: base + 1,
        instance: id(1),
        turn_no: 1,
        at: NOW,
        previous: 0,
        records: Vec::new(),
    };
    bench.write(vec![Write::History(history)]);
    assert_eq!(seq(), base + 1);
    bench.write(vec![Write::PutInbox(Box::new(event(1, base + 2)))]);
    bench.write(vec![Write::DeleteInbox { instance: id(1), seq: base + 2 }]);
    assert_eq!(seq(), base + 2);
    let channel = ChannelKey::message("m", "k");
    let message = MessageRow {
        channel: channel.clone(),
        seq: base + 3,
        payload: json("1"),
        expires_at: None,
        had: Vec::new(),
    };
    bench.write(vec![Write::PutMessage(message)]);
    bench.write(vec![Write::DeleteMessage { channel: channel.clone(), seq: base + 3 }]);
    assert_eq!(seq(), base + 3);
    let key = id(1).effect(1, 0);
    let (seq_of_row, definition) = (base + 4, "waiter".to_owned());
    let subscription = SubscriptionRow { channel, seq: seq_of_row, key, definition };
    bench.write(vec![Write::PutSubscription(subscription)]);
    assert_eq!(seq(), base + 4);
}

fn a_sound_store_has_no_problems(bench: &Bench<'_>) {
    bench.deploy("order", "v1", Vec::new());
    one_per_phase(bench);
    bench.done(Unit { writes: vec![Write::PutInbox(Box::new(event(2, 5)))], ..Unit::default() });
    assert_eq!(bench.get(bench.store.check()), Vec::<String>::new());
}
