//! Incidents: open ones only.

use meantime_core::{Failure, IncidentId};
use meantime_kernel::store::{FetchRequest, IncidentCause, IncidentRow, Page, Write};

use super::bench::{Bench, NOW, at, id, incident_id, json};
use super::suite::declare;

declare!("incident":
    a_row_is_read_back_whole,
    a_closed_incident_is_gone,
    an_end_closes_the_incidents_of_its_instance_only,
    lists_are_paged_oldest_first,
    lists_are_bound_to_an_instance,
    incidents_are_taken_with_a_batch,
);

pub(super) fn row(number: u64, instance: u64) -> IncidentRow {
    IncidentRow {
        id: incident_id(number),
        instance: id(instance),
        cause: IncidentCause::Turn,
        element: String::new(),
        failure: Failure::new("E1", "it broke"),
        raised_at: NOW,
    }
}

fn put(bench: &Bench<'_>, rows: &[IncidentRow]) {
    bench.write(rows.iter().cloned().map(Write::PutIncident).collect());
}

fn list(bench: &Bench<'_>, of: Option<u64>, page: Page<IncidentId>) -> Vec<IncidentRow> {
    bench.get(bench.store.incidents(of.map(id), page))
}

fn a_row_is_read_back_whole(bench: &Bench<'_>) {
    let key = id(2).effect(3, 4);
    let causes = [IncidentCause::Element(key), IncidentCause::Turn, IncidentCause::Task(key)];
    for (number, cause) in (1..).zip(causes) {
        let data = (number == 2).then(|| json("{\"a\": 1}"));
        let failure = Failure { data, ..Failure::new("E", "m") };
        let row = IncidentRow {
            cause,
            failure,
            element: "p".to_owned(),
            raised_at: at(3),
            ..row(number, 2)
        };
        put(bench, std::slice::from_ref(&row));
        assert_eq!(bench.get(bench.store.incident(row.id)), Some(row));
    }
    assert_eq!(bench.get(bench.store.incident(incident_id(9))), None);
}

fn a_closed_incident_is_gone(bench: &Bench<'_>) {
    put(bench, &[row(1, 1), row(2, 1)]);
    bench.write(vec![Write::DeleteIncident(incident_id(1))]);
    assert_eq!(list(bench, None, Page::first(9)), [row(2, 1)]);
}

fn an_end_closes_the_incidents_of_its_instance_only(bench: &Bench<'_>) {
    put(bench, &[row(1, 1), row(2, 2), row(3, 1)]);
    bench.write(vec![Write::ClearIncidents { instance: id(1) }]);
    assert_eq!(list(bench, None, Page::first(9)), [row(2, 2)]);
}

fn lists_are_paged_oldest_first(bench: &Bench<'_>) {
    put(bench, &[row(3, 1), row(1, 2), row(2, 3)]);
    assert_eq!(list(bench, None, Page::first(2)), [row(1, 2), row(2, 3)]);
    let rest = Page { after: Some(incident_id(2)), limit: 2 };
    assert_eq!(list(bench, None, rest), [row(3, 1)]);
}

fn lists_are_bound_to_an_instance(bench: &Bench<'_>) {
    put(bench, &[row(1, 1), row(2, 2), row(3, 1)]);
    assert_eq!(list(bench, Some(1), Page::first(9)), [row(1, 1), row(3, 1)]);
    let rest = Page { after: Some(incident_id(1)), limit: 9 };
    assert_eq!(list(bench, Some(1), rest), [row(3, 1)]);
}

fn incidents_are_taken_with_a_batch(bench: &Bench<'_>) {
    put(bench, &[row(1, 1)]);
    let incidents = vec![incident_id(2), incident_id(1)];
    let fetched =
        bench.get(bench.store.fetch(FetchRequest { incidents, ..FetchRequest::default() }));
    assert_eq!(fetched.incidents, [None, Some(row(1, 1))]);
}
