//! Tasks: claims, fences, lists.

use std::collections::BTreeSet;

use meantime_core::{
    Failure, RetryPolicy, TaskCause, TaskId, TaskKind, TaskOutcome, TaskSpec, Thrown,
};
use meantime_kernel::store::{
    ClaimQuery, Fence, FetchRequest, LeaseRow, Page, TaskFilter, TaskRow, TaskState, Unit,
    UnitResult, Write,
};

use super::bench::{
    Bench, NOW, at, event, id, insert_task, instance, json, next, start, task, turn,
};
use super::suite::declare;

declare!("task":
    a_row_is_read_back_whole,
    claims_go_by_priority_then_age_then_id,
    claims_are_limited,
    claims_are_bound_to_their_queues,
    claims_are_bound_to_their_types,
    a_type_named_twice_is_one_type,
    delayed_leased_held_and_done_tasks_are_not_offered,
    tasks_of_the_engine_and_of_people_are_not_offered,
    tasks_that_are_being_handed_out_are_not_offered,
    several_claims_are_answered_in_order,
    a_claim_replaces_the_row,
    a_stale_claim_is_a_conflict,
    of_two_claims_in_one_plan_one_wins,
    a_stale_report_rejects_its_whole_unit_and_no_other,
    of_two_reports_in_one_plan_one_wins,
    a_task_is_cancelled_whoever_claimed_it,
    a_task_is_left_to_itself,
    a_task_that_was_left_to_itself_stays_so,
    an_update_counts_only_if_nobody_claimed_since,
    lists_are_paged_and_filtered,
    tasks_that_wait_for_time_are_found_after_a_restart,
);

fn insert(bench: &Bench<'_>, rows: &[TaskRow]) {
    bench.write(rows.iter().map(insert_task).collect());
}

fn spec(change: impl FnOnce(&mut TaskSpec), number: u64) -> TaskRow {
    let mut row = task(number, 0);
    change(&mut row.spec);
    row
}

fn leased(row: &TaskRow) -> TaskRow {
    let lease = LeaseRow { worker: "w".to_owned(), until: at(30), timeout_at: Some(at(20)) };
    let claims = row.claims + 1;
    TaskRow { state: TaskState::Leased, claims, lease: Some(lease), ..row.clone() }
}

fn claim(row: &TaskRow) -> Unit {
    let fence = Fence::Task { row: Box::new(leased(row)), claims: row.claims };
    Unit { fence, ..Unit::default() }
}

fn ten() -> ClaimQuery {
    ClaimQuery { limit: 10, ..ClaimQuery::default() }
}

fn a_row_is_read_back_whole(bench: &Bench<'_>) {
    let failure = Failure { data: Some(json("[1]")), ..Failure::new("E1", "no") };
    let thrown = Some(Thrown { code: "E2".to_owned(), variables: Some(json("{}")) });
    let row = TaskRow {
        spec: TaskSpec {
            kind: TaskKind::User,
            queue: "slow".to_owned(),
            priority: -5,
            detached: true,
            headers: Some(json("{\"h\":1}")),
            retry: RetryPolicy::never(),
            timeout_ms: Some(7),
            deadline_at: Some(at(8)),
            ..TaskSpec::worker("approve", "desk", json("\"x\""))
        },
        state: TaskState::Done,
        deadline_at: Some(at(9)),
        attempt: 2,
        expiries: 1,
        assignee: Some("ana".to_owned()),
        outcome: Some(TaskOutcome::Failed { failure, cause: TaskCause::Timeout, thrown }),
        ..leased(&task(2, 3))
    };
    insert(bench, std::slice::from_ref(&row));
    assert_eq!(bench.get(bench.store.task(row.id)), Some(row));
    assert_eq!(bench.get(bench.store.task(task(2, 4).id)), None);
}

fn claims_go_by_priority_then_age_then_id(bench: &Bench<'_>) {
    let low = spec(|it| it.priority = -1, 1);
    let old = TaskRow { available_at: at(-9), ..task(4, 0) };
    let high = spec(|it| it.priority = 7, 5);
    let (one, two) = (task(2, 1), task(2, 0));
    insert(bench, &[low.clone(), one.clone(), two.clone(), old.clone(), high.clone()]);
    assert_eq!(bench.claim(ten()), [high.id, old.id, two.id, one.id, low.id]);
}

fn claims_are_limited(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0), task(2, 0), spec(|it| it.priority = 1, 3)]);
    let query = |limit| ClaimQuery { limit, ..ClaimQuery::default() };
    assert_eq!(bench.claim(query(2)), [task(3, 0).id, task(1, 0).id]);
    assert_eq!(bench.claim(query(0)), []);
}

fn claims_are_bound_to_their_queues(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0), spec(|it| "slow".clone_into(&mut it.queue), 2)]);
    insert(bench, &[spec(|it| "fast".clone_into(&mut it.queue), 3)]);
    let queues = |names: &[&str]| {
        let queues = names.iter().map(|&name| name.to_owned()).collect();
        bench.claim(ClaimQuery { queues, ..ten() })
    };
    assert_eq!(queues(&[]), [task(1, 0).id]);
    assert_eq!(queues(&["slow"]), [task(2, 0).id]);
    assert_eq!(queues(&["fast", "", "none"]), [task(1, 0).id, task(3, 0).id]);
}

fn claims_are_bound_to_their_types(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0), spec(|it| "print".clone_into(&mut it.name), 2)]);
    insert(bench, &[spec(|it| it.name = String::new(), 3)]);
    let types = |names: &[&str]| {
        let types = names.iter().map(|&name| name.to_owned()).collect();
        bench.claim(ClaimQuery { types, ..ten() })
    };
    assert_eq!(types(&["print"]), [task(2, 0).id]);
    assert_eq!(types(&["other", "print", "mail"]), [task(1, 0).id, task(2, 0).id]);
    assert_eq!(types(&["other"]), []);
    assert_eq!(types(&[]), [task(1, 0).id, task(2, 0).id, task(3, 0).id]);
}

fn a_type_named_twice_is_one_type(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0)]);
    let types = vec!["mail".to_owned(), "mail".to_owned()];
    let queues = vec![String::new(), String::new()];
    assert_eq!(bench.claim(ClaimQuery { types, queues, ..ten() }), [task(1, 0).id]);
}

fn delayed_leased_held_and_done_tasks_are_not_offered(bench: &Bench<'_>) {
    let in_state = |state, number| TaskRow { state, ..task(number, 0) };
    let delayed = TaskRow { available_at: at(1), ..spec(|it| it.priority = 9, 1) };
    insert(bench, &[delayed, in_state(TaskState::Leased, 2), in_state(TaskState::Held, 3)]);
    insert(bench, &[in_state(TaskState::Done, 4), task(5, 0)]);
    assert_eq!(bench.claim(ten()), [task(5, 0).id]);
}

fn tasks_of_the_engine_and_of_people_are_not_offered(bench: &Bench<'_>) {
    let engine = spec(|it| it.kind = TaskKind::Engine, 1);
    insert(bench, &[engine, spec(|it| it.kind = TaskKind::User, 2)]);
    assert_eq!(bench.claim(ten()), []);
}

fn tasks_that_are_being_handed_out_are_not_offered(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0), task(2, 0), task(3, 0)]);
    let busy = BTreeSet::from([task(1, 0).id, task(2, 0).id]);
    let query = ClaimQuery { busy, limit: 1, ..ClaimQuery::default() };
    assert_eq!(bench.claim(query), [task(3, 0).id]);
}

fn several_claims_are_answered_in_order(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0), spec(|it| "q".clone_into(&mut it.queue), 2)]);
    let other = ClaimQuery { queues: vec!["q".to_owned()], ..ten() };
    let request = FetchRequest { now: NOW, claims: vec![other, ten()], ..FetchRequest::default() };
    let fetched = bench.get(bench.store.fetch(request));
    assert_eq!(fetched.claims[0][0].id, task(2, 0).id);
    assert_eq!(fetched.claims[1], [task(1, 0)]);
}

fn a_claim_replaces_the_row(bench: &Bench<'_>) {
    let row = task(1, 0);
    insert(bench, std::slice::from_ref(&row));
    bench.done(claim(&row));
    assert_eq!(bench.get(bench.store.task(row.id)), Some(leased(&row)));
    assert_eq!(bench.claim(ten()), []);
    let back = TaskRow { state: TaskState::Ready, ..leased(&row) };
    let fence = Fence::Task { row: Box::new(back), claims: 1 };
    bench.done(Unit { fence, ..Unit::default() });
    assert_eq!(bench.claim(ten()), [row.id]);
}

fn a_stale_claim_is_a_conflict(bench: &Bench<'_>) {
    let row = task(1, 0);
    assert_eq!(bench.commit(vec![claim(&row)]), [UnitResult::Conflict]);
    insert(bench, std::slice::from_ref(&row));
    bench.done(claim(&row));
    let other = Unit { writes: vec![insert_task(&task(2, 0))], ..Unit::default() };
    let results = bench.commit(vec![claim(&row), other]);
    assert_eq!(results[0], UnitResult::Conflict);
    assert_eq!(bench.claim(ten()), [task(2, 0).id]);
}

fn of_two_claims_in_one_plan_one_wins(bench: &Bench<'_>) {
    let row = task(1, 0);
    insert(bench, std::slice::from_ref(&row));
    let results = bench.commit(vec![claim(&row), claim(&row)]);
    assert!(matches!(results[0], UnitResult::Done(_)));
    assert_eq!(results[1], UnitResult::Conflict);
}

/// A turn that takes the outcome of a task.
fn report(number: u64, claims: u32, seq: u64) -> Unit {
    let delete = Write::DeleteTask { id: task(number, 0).id, claims: Some(claims) };
    let follow_up = Write::PutInbox(Box::new(event(number, seq)));
    Unit { writes: vec![follow_up, delete], ..turn(&next(&instance(number))) }
}

fn a_stale_report_rejects_its_whole_unit_and_no_other(bench: &Bench<'_>) {
    bench.commit((1..=3).map(|number| start(&instance(number))).collect());
    insert(bench, &[task(1, 0), leased(&task(2, 0)), leased(&task(3, 0))]);
    let results = bench.commit(vec![report(1, 1, 5), report(2, 1, 6), report(3, 2, 7)]);
    assert_eq!(results[0], UnitResult::Conflict);
    assert!(matches!(results[1], UnitResult::Done(_)));
    assert_eq!(results[2], UnitResult::Conflict);
    let turns = [1, 2, 3].map(|number| bench.instance(id(number)).expect("it is there").turn_no);
    assert_eq!(turns, [1, 2, 1]);
    let events = [1, 2, 3].map(|number| bench.inbox(id(number)).len());
    assert_eq!(events, [0, 1, 0]);
    let tasks = bench.get(bench.store.tasks(TaskFilter::default(), Page::first(9)));
    assert_eq!(tasks, [task(1, 0), leased(&task(3, 0))]);
}

fn of_two_reports_in_one_plan_one_wins(bench: &Bench<'_>) {
    insert(bench, &[leased(&task(1, 0))]);
    let delete = Write::DeleteTask { id: task(1, 0).id, claims: Some(1) };
    let unit = |seq| {
        let follow_up = Write::PutInbox(Box::new(event(1, seq)));
        Unit { writes: vec![delete.clone(), follow_up], ..Unit::default() }
    };
    let results = bench.commit(vec![unit(5), unit(6)]);
    assert!(matches!(results[0], UnitResult::Done(_)));
    assert_eq!(results[1], UnitResult::Conflict);
    assert_eq!(bench.inbox(id(1)).len(), 1);
}

fn a_task_is_cancelled_whoever_claimed_it(bench: &Bench<'_>) {
    insert(bench, &[leased(&task(1, 0))]);
    let delete = Write::DeleteTask { id: task(1, 0).id, claims: None };
    bench.write(vec![delete.clone()]);
    bench.write(vec![delete]);
    assert_eq!(bench.get(bench.store.task(task(1, 0).id)), None);
}

fn a_task_is_left_to_itself(bench: &Bench<'_>) {
    insert(bench, &[task(1, 0)]);
    bench.write(vec![Write::DetachTask(task(1, 0).id), Write::DetachTask(task(2, 0).id)]);
    let detached = spec(|it| it.detached = true, 1);
    assert_eq!(bench.get(bench.store.task(task(1, 0).id)), Some(detached));
    assert_eq!(bench.claim(ten()), [task(1, 0).id]);
}

/// The claim reads the row before the instance ends, and commits after it.
fn a_task_that_was_left_to_itself_stays_so(bench: &Bench<'_>) {
    let row = task(1, 0);
    insert(bench, std::slice::from_ref(&row));
    bench.write(vec![Write::DetachTask(row.id)]);
    bench.done(claim(&row));
    let kept = bench.get(bench.store.task(row.id));
    assert!(kept.is_some_and(|it| it.spec.detached && it.claims == 1));
}

fn an_update_counts_only_if_nobody_claimed_since(bench: &Bench<'_>) {
    let known = leased(&task(1, 0));
    insert(bench, std::slice::from_ref(&known));
    let held = TaskRow { state: TaskState::Held, ..known.clone() };
    let (row, claims) = (Box::new(held.clone()), known.claims - 1);
    let stale = Unit { writes: vec![Write::UpdateTask { row, claims }], ..Unit::default() };
    assert_eq!(bench.commit(vec![stale]), [UnitResult::Conflict]);
    assert_eq!(bench.get(bench.store.task(held.id)), Some(known.clone()));
    bench.write(vec![Write::UpdateTask { row: Box::new(held.clone()), claims: known.claims }]);
    assert_eq!(bench.get(bench.store.task(held.id)), Some(held));
}

fn lists_are_paged_and_filtered(bench: &Bench<'_>) {
    let mut rows: Vec<_> = (0..3).map(|ordinal| task(2, ordinal)).collect();
    rows[1].spec.kind = TaskKind::User;
    rows[2] = leased(&rows[2]);
    rows.push(spec(|it| it.kind = TaskKind::User, 5));
    insert(bench, &[rows[3].clone(), rows[1].clone(), rows[0].clone(), rows[2].clone()]);
    let list = |filter, after: Option<TaskId>, limit| {
        bench.get(bench.store.tasks(filter, Page { after, limit }))
    };
    let all = TaskFilter::default;
    assert_eq!(list(all(), None, 2), rows[..2]);
    assert_eq!(list(all(), Some(rows[1].id), 9), rows[2..]);
    let user = TaskFilter { kind: Some(TaskKind::User), ..all() };
    assert_eq!(list(user.clone(), None, 9), [rows[1].clone(), rows[3].clone()]);
    assert_eq!(list(user, Some(rows[1].id), 9), rows[3..]);
    let of = TaskFilter { instance: Some(id(2)), ..all() };
    assert_eq!(list(of.clone(), None, 9), rows[..3]);
    assert_eq!(list(of, Some(rows[0].id), 1), rows[1..2]);
    let state = TaskFilter { state: Some(TaskState::Leased), ..all() };
    assert_eq!(list(state, None, 9), rows[2..3]);
    let worker = TaskFilter { kind: Some(TaskKind::Worker), ..all() };
    assert_eq!(list(worker, None, 9), [rows[0].clone(), rows[2].clone()]);
}

fn tasks_that_wait_for_time_are_found_after_a_restart(bench: &Bench<'_>) {
    let delayed = TaskRow { available_at: at(1), ..task(2, 0) };
    let engine = spec(|it| it.kind = TaskKind::Engine, 3);
    let held = TaskRow { state: TaskState::Held, available_at: at(9), ..task(4, 0) };
    insert(bench, &[task(1, 0), delayed.clone(), engine.clone(), held, leased(&task(5, 0))]);
    let waiting = bench.recover().tasks;
    let ids: Vec<_> = waiting.iter().map(|task| task.id).collect();
    assert_eq!(ids, [delayed.id, engine.id, task(5, 0).id]);
    assert_eq!(waiting[0].available_at, at(1));
    assert_eq!(waiting[1].kind, TaskKind::Engine);
    let lease = (waiting[2].state, waiting[2].lease_until, waiting[2].timeout_at);
    assert_eq!(lease, (TaskState::Leased, Some(at(30)), Some(at(20))));
}
