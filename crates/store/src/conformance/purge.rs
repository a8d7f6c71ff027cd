//! Retention: what is deleted, what stays, and when to call again.

use std::sync::Arc;

use meantime_core::{
    InstanceId, Json, Keep, Occurrence, OccurrenceOutcome, ParentClose, Periods, Retention,
    Timestamp,
};
use meantime_kernel::history::Record;
use meantime_kernel::store::{
    AnswerRow, ChannelKey, HistoryRow, InstanceFilter, InstanceMeta, InstanceRow, Lineage,
    MessageRow, OccurrenceRow, Page, Phase, Precondition, PurgeRequest, Purged, TaskRow, TaskState,
    Unit, Write,
};

use super::bench::{Bench, at, ended, event, id, insert_task, instance, start, task, turn};
use super::suite::declare;

declare!("purge":
    an_instance_goes_when_its_period_is_over,
    what_belongs_to_it_goes_along,
    live_instances_stay_for_ever,
    periods_differ_by_definition_and_outcome,
    what_is_kept_for_ever_never_goes,
    a_tree_goes_by_its_root,
    a_tree_stays_while_a_member_lives,
    a_tree_stays_while_a_task_or_an_event_is_open,
    a_run_of_a_schedule_goes_by_itself,
    occurrences_have_a_period_of_their_own,
    detached_tasks_have_a_period_of_their_own,
    messages_ids_and_answers_go_when_they_expire,
    a_purge_is_bounded_and_the_rest_follows,
    a_long_history_goes_in_parts,
    what_ends_later_is_found_later,
    an_empty_store_has_nothing_to_wait_for,
);

/// The period of every instance, unless a case says otherwise.
const HOUR: i64 = 3_600_000;

fn retention() -> Arc<Retention> {
    let hour = Keep::millis(HOUR);
    Arc::new(Retention { detached_tasks: Keep::millis(HOUR / 2), ..Retention::of_all(hour) })
}

fn purge(bench: &Bench<'_>, retention: &Arc<Retention>, now: Timestamp, limit: usize) -> Purged {
    let retention = retention.clone();
    bench.get(bench.store.purge(PurgeRequest { now, retention, limit }))
}

/// Purges until nothing more can be deleted at that time.
fn purge_all(bench: &Bench<'_>, retention: &Arc<Retention>, now: Timestamp) -> Purged {
    let mut all = Purged::default();
    for _ in 0..1_000 {
        let purged = purge(bench, retention, now, 7);
        all.instances += purged.instances;
        all.attachments += purged.attachments;
        all.tasks += purged.tasks;
        all.occurrences += purged.occurrences;
        all.messages += purged.messages;
        all.message_ids += purged.message_ids;
        all.answers += purged.answers;
        all.next = purged.next;
        if purged.next.is_none_or(|next| next > now) {
            return all;
        }
    }
    panic!("a purge must come to an end");
}

fn over(number: u64, phase: Phase, ended: i64) -> InstanceRow {
    InstanceRow { phase, ended_at: Some(at(ended)), ..instance(number) }
}

fn child(number: u64, parent: InstanceId, root: InstanceId, ended: Option<i64>) -> InstanceRow {
    let close = ParentClose::Abandon;
    let parent = parent.effect(1, u32::try_from(number).expect("small numbers"));
    let (catches, hands_on) = (Vec::new(), false);
    let is_abandoned = true;
    let lineage = Lineage { parent, root, depth: 1, catches, close, hands_on, is_abandoned };
    let meta = InstanceMeta { lineage: Some(lineage), ..InstanceMeta::default() };
    let phase = if ended.is_some() { Phase::Completed } else { Phase::Running };
    InstanceRow { phase, ended_at: ended.map(at), meta, ..instance(number) }
}

fn there(bench: &Bench<'_>) -> Vec<InstanceId> {
    let rows = bench.store.instances(InstanceFilter::default(), Page::first(10_000));
    let mut ids: Vec<InstanceId> = bench.get(rows).into_iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids
}

fn an_instance_goes_when_its_period_is_over(bench: &Bench<'_>) {
    for (number, phase) in [(1, Phase::Completed), (2, Phase::Failed), (3, Phase::Cancelled)] {
        bench.done(start(&over(number, phase, 5)));
    }
    let purged = purge_all(bench, &retention(), at(HOUR + 4));
    assert_eq!((purged.rows(), purged.next), (0, Some(at(HOUR + 5))));
    let purged = purge_all(bench, &retention(), at(HOUR + 5));
    assert_eq!((purged.instances, purged.rows(), purged.next), (3, 3, None));
    assert_eq!(there(bench), []);
}

fn what_belongs_to_it_goes_along(bench: &Bench<'_>) {
    let history = |seq, previous| {
        let (instance, records) = (id(1), vec![Record::Closing]);
        let row = HistoryRow { seq, instance, turn_no: seq, at: at(0), previous, records };
        Write::History(row)
    };
    let tags = vec!["red".to_owned(), "blue".to_owned()];
    let row = InstanceRow { last_history: 3, ..over(1, Phase::Completed, 0) };
    let outcome = TaskRow { state: TaskState::Done, available_at: at(HOUR), ..task(1, 0) };
    let writes = vec![
        history(1, 0),
        history(3, 1),
        Write::PutTags { instance: id(1), tags, attributes: Vec::new() },
        insert_task(&outcome),
    ];
    bench.done(Unit { writes, ..start(&row) });
    let purged = purge_all(bench, &retention(), at(HOUR));
    assert_eq!((purged.instances, purged.attachments, purged.tasks), (1, 4, 1));
    assert_eq!(bench.get(bench.store.history(3, 9)), []);
    assert_eq!(bench.get(bench.store.task(outcome.id)), None);
    let filter = InstanceFilter { tags: vec!["red".to_owned()], ..InstanceFilter::default() };
    assert_eq!(bench.get(bench.store.instances(filter, Page::first(9))), []);
}

fn live_instances_stay_for_ever(bench: &Bench<'_>) {
    let phases = [Phase::Running, Phase::Starting, Phase::Yielding, Phase::Closing];
    for (number, phase) in (1..).zip(phases) {
        bench.done(start(&InstanceRow { phase, ..instance(number) }));
    }
    let purged = purge_all(bench, &retention(), at(1_000 * HOUR));
    assert_eq!(purged.rows(), 0);
    assert!(purged.next.is_none_or(|next| next >= at(1_001 * HOUR)), "{purged:?}");
    assert_eq!(there(bench).len(), 4);
}

fn periods_differ_by_definition_and_outcome(bench: &Bench<'_>) {
    let (short, long) = (bench.deploy("a", "a", Vec::new()), bench.deploy("b", "b", Vec::new()));
    let hours = |hours| Some(Keep::millis(hours * HOUR));
    let mut policy = Retention::of_all(Keep::millis(5 * HOUR));
    let own = Periods { failed: hours(3), ..Periods::default() };
    policy.definitions.insert("b".to_owned(), own);
    let policy = Arc::new(policy);
    let row = |number, definition, phase| InstanceRow { definition, ..over(number, phase, 0) };
    bench.done(start(&row(1, short, Phase::Failed)));
    bench.done(start(&row(2, long, Phase::Failed)));
    bench.done(start(&row(3, long, Phase::Completed)));
    let purged = purge_all(bench, &policy, at(2 * HOUR));
    assert_eq!(purged.rows(), 0);
    // A store may return an earlier time than needed, but never a later one.
    let next = purged.next.expect("something is left");
    assert!(next > at(2 * HOUR) && next <= at(3 * HOUR), "{next}");
    let purged = purge_all(bench, &policy, at(3 * HOUR));
    assert_eq!((purged.instances, purged.next), (1, Some(at(5 * HOUR))));
    assert_eq!(there(bench), [id(1), id(3)]);
    assert_eq!(purge_all(bench, &policy, at(5 * HOUR)).instances, 2);
}

fn what_is_kept_for_ever_never_goes(bench: &Bench<'_>) {
    bench.done(start(&over(1, Phase::Completed, 0)));
    let purged = purge_all(bench, &Arc::new(Retention::forever()), at(1_000_000 * HOUR));
    assert_eq!((purged.rows(), purged.next), (0, None));
    let policy = Retention { failed: Keep::Forever, ..(*retention()).clone() };
    bench.done(start(&over(2, Phase::Failed, 0)));
    let purged = purge_all(bench, &Arc::new(policy), at(HOUR));
    assert_eq!((purged.instances, purged.next), (1, None));
    assert_eq!(there(bench), [id(2)]);
}

fn a_tree_goes_by_its_root(bench: &Bench<'_>) {
    // The child ended long before its root, the grandchild long after it.
    bench.done(start(&over(1, Phase::Completed, HOUR)));
    bench.done(start(&child(2, id(1), id(1), Some(0))));
    bench.done(start(&child(3, id(2), id(1), Some(5 * HOUR))));
    bench.done(start(&over(4, Phase::Completed, 9 * HOUR)));
    assert_eq!(purge_all(bench, &retention(), at(2 * HOUR - 1)).rows(), 0);
    assert_eq!(purge_all(bench, &retention(), at(2 * HOUR)).instances, 3);
    assert_eq!(there(bench), [id(4)]);
}

fn a_tree_stays_while_a_member_lives(bench: &Bench<'_>) {
    bench.done(start(&over(1, Phase::Completed, 0)));
    bench.done(start(&child(2, id(1), id(1), Some(0))));
    let live = child(3, id(2), id(1), None);
    bench.done(start(&live));
    let purged = purge_all(bench, &retention(), at(2 * HOUR));
    assert_eq!(purged.rows(), 0);
    assert_eq!(there(bench).len(), 3);
    bench.done(turn(&ended(&live)));
    let next = purged.next.expect("it is looked at again");
    assert!(next > at(2 * HOUR), "{next}");
    assert_eq!(purge_all(bench, &retention(), next).instances, 3);
}

fn a_tree_stays_while_a_task_or_an_event_is_open(bench: &Bench<'_>) {
    bench.done(start(&over(1, Phase::Completed, 0)));
    bench.done(start(&child(2, id(1), id(1), Some(0))));
    bench.write(vec![insert_task(&task(2, 0))]);
    bench.done(start(&over(3, Phase::Completed, 0)));
    bench.write(vec![Write::PutInbox(Box::new(event(3, 50)))]);
    assert_eq!(purge_all(bench, &retention(), at(2 * HOUR)).rows(), 0);
    let done = TaskRow { state: TaskState::Done, claims: 0, ..task(2, 0) };
    bench.write(vec![
        Write::UpdateTask { row: Box::new(done), claims: 0 },
        Write::DeleteInbox { instance: id(3), seq: 50 },
    ]);
    assert_eq!(purge_all(bench, &retention(), at(200 * HOUR)).instances, 3);
}

/// A run is a child of its schedule, and the root of its own tree.
fn a_run_of_a_schedule_goes_by_itself(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    bench.done(start(&child(2, id(1), id(2), Some(0))));
    bench.done(start(&child(3, id(2), id(2), Some(0))));
    let live = child(4, id(1), id(4), None);
    bench.done(start(&live));
    let purged = purge_all(bench, &retention(), at(2 * HOUR));
    assert_eq!((purged.instances, there(bench)), (2, vec![id(1), id(4)]));
    // A schedule that has ended is deleted, although one of its runs continues.
    bench.done(turn(&ended(&instance(1))));
    assert_eq!(purge_all(bench, &retention(), at(100 * HOUR)).instances, 1);
    assert_eq!(there(bench), [id(4)]);
    bench.done(turn(&ended(&live)));
    assert_eq!(purge_all(bench, &retention(), at(900 * HOUR)).instances, 1);
}

fn occurrences_have_a_period_of_their_own(bench: &Bench<'_>) {
    bench.done(start(&instance(1)));
    bench.done(start(&over(2, Phase::Cancelled, 0)));
    let scheduled_at = |number, scheduled_at: i64, decided: i64| {
        let occurrence = Occurrence {
            scheduled_at: at(scheduled_at),
            last_at: at(scheduled_at),
            count: 1,
            outcome: OccurrenceOutcome::Missed,
            reason: "down".to_owned(),
        };
        let (instance, decided_at) = (None, at(decided));
        let schedule = id(number);
        Write::PutOccurrence(OccurrenceRow { schedule, occurrence, instance, decided_at })
    };
    bench.write((0..20).map(|number| scheduled_at(1, number, number)).collect());
    bench.write((0..20).map(|number| scheduled_at(2, number, 90 * HOUR)).collect());
    let days = Keep::millis(3 * HOUR);
    let policy = Arc::new(Retention { occurrences: days, ..(*retention()).clone() });
    let purged = purge_all(bench, &policy, at(2 * HOUR));
    assert_eq!((purged.instances, purged.occurrences), (1, 20), "{purged:?}");
    let purged = purge_all(bench, &policy, at(3 * HOUR + 9));
    assert_eq!(purged.occurrences, 10);
    let left = bench.get(bench.store.occurrences(id(1), Page::first(99)));
    assert_eq!(left.len(), 10);
    assert!(left.iter().all(|row| row.decided_at >= at(10)), "{left:?}");
}

fn detached_tasks_have_a_period_of_their_own(bench: &Bench<'_>) {
    bench.done(start(&over(1, Phase::Completed, 0)));
    let outcome = |ordinal, millis| {
        let available_at = at(millis);
        insert_task(&TaskRow { state: TaskState::Done, available_at, ..task(1, ordinal) })
    };
    bench.write(vec![outcome(0, 0), outcome(1, 60_000)]);
    let purged = purge_all(bench, &retention(), at(HOUR / 2));
    assert_eq!((purged.tasks, purged.rows()), (1, 1));
    assert_eq!(purged.next, Some(at(HOUR / 2 + 60_000)));
    assert!(bench.get(bench.store.task(task(1, 1).id)).is_some());
}

fn messages_ids_and_answers_go_when_they_expire(bench: &Bench<'_>) {
    let message = |seq, expires_at| {
        let channel = ChannelKey::message("m", "k");
        let (payload, had) = (Json::null(), Vec::new());
        Write::PutMessage(MessageRow { channel, seq, payload, expires_at, had })
    };
    let seen = |id: &str, millis| Write::PutMessageId { id: id.to_owned(), expires_at: at(millis) };
    bench.write(vec![
        message(1, Some(at(10))),
        message(2, Some(at(20))),
        message(3, None),
        seen("one", 10),
        seen("two", 30),
    ]);
    let answer = AnswerRow { key: "a".to_owned(), request: 1, instance: id(9), expires_at: at(10) };
    bench.done(Unit { preconditions: vec![Precondition::NewRequest(answer)], ..Unit::default() });
    assert_eq!(purge_all(bench, &retention(), at(9)).rows(), 0);
    let purged = purge_all(bench, &retention(), at(10));
    assert_eq!((purged.messages, purged.message_ids, purged.answers), (1, 1, 1));
    assert_eq!(purged.next, Some(at(20)));
    let purged = purge_all(bench, &retention(), at(1_000));
    assert_eq!((purged.messages, purged.message_ids, purged.next), (1, 1, None));
}

fn a_purge_is_bounded_and_the_rest_follows(bench: &Bench<'_>) {
    for number in 1..=40 {
        bench.done(start(&over(number, Phase::Completed, 0)));
    }
    let now = at(HOUR);
    let purged = purge(bench, &retention(), now, 10);
    assert_eq!((purged.instances, purged.next), (10, Some(now)));
    assert_eq!(there(bench).len(), 30);
    assert_eq!(purge_all(bench, &retention(), now).instances, 30);
}

fn a_long_history_goes_in_parts(bench: &Bench<'_>) {
    let mut writes = Vec::new();
    for seq in 1..=50 {
        let (previous, records) = (seq - 1, vec![Record::Closing]);
        let (instance, at) = (id(1), at(0));
        let row = HistoryRow { seq, instance, turn_no: seq, at, previous, records };
        writes.push(Write::History(row));
    }
    let row = InstanceRow { last_history: 50, ..over(1, Phase::Completed, 0) };
    bench.done(Unit { writes, ..start(&row) });
    let now = at(HOUR);
    let purged = purge(bench, &retention(), now, 20);
    assert_eq!((purged.attachments, purged.instances, purged.next), (20, 0, Some(now)));
    let left = bench.instance(id(1)).expect("it is not gone yet");
    assert_eq!(left.last_history, 30);
    assert_eq!(bench.get(bench.store.history(left.last_history, 99)).len(), 30);
    let purged = purge_all(bench, &retention(), now);
    assert_eq!((purged.attachments, purged.instances), (30, 1));
}

fn what_ends_later_is_found_later(bench: &Bench<'_>) {
    // Instances of all ages; every third is live when it is examined, and ends later.
    for number in 1..=300 {
        if number % 3 == 0 {
            bench.done(start(&instance(number)));
        } else {
            bench.done(start(&over(number, Phase::Completed, 0)));
        }
    }
    let mut purged = purge_all(bench, &retention(), at(HOUR));
    assert_eq!(purged.instances, 200);
    for number in (3..=300).step_by(3) {
        bench.done(turn(&ended(&instance(number))));
    }
    let mut gone = 0;
    for _ in 0..4 {
        let next = purged.next.expect("there is something left");
        purged = purge_all(bench, &retention(), next);
        gone += purged.instances;
        if purged.next.is_none() {
            break;
        }
    }
    assert_eq!((gone, there(bench).len()), (100, 0));
}

fn an_empty_store_has_nothing_to_wait_for(bench: &Bench<'_>) {
    assert_eq!(purge(bench, &retention(), at(HOUR), 10), Purged::default());
}
