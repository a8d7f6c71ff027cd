//! Tests of the parts that only this crate can see: schema, migrations, query plans.

use std::fmt::Write;

use rusqlite::Connection;

use super::migration::{MIGRATIONS, migrate};
use super::{
    answer, check, claim, compact, definition, history, inbox, incident, instance, instance_count,
    instance_list, instance_tag, message, message_id, node, occurrence, operation, purge,
    subscription, sweep, task, timer, tree, trigger_start,
};
use crate::migration::Migration;

/// Statements that may scan a table: none of them runs for a turn.
const SCANS: &[(&str, &str)] = &[
    ("FROM instance AS i WHERE i.ended_at IS NULL ORDER BY i.id_order", "check reads everything"),
    ("SELECT id_order, turn_no, ordinal, id_random, frozen, due_at FROM timer", "check"),
    ("SELECT DISTINCT id_order, id_random FROM inbox", "check, and recovery after a start"),
    ("OR (state = 'ready' AND (kind = 'engine'", "recovery: only open tasks are in the table"),
    ("SELECT id FROM definition ORDER BY id", "definitions are few"),
    ("ORDER BY d.id DESC", "the list of all definitions"),
    ("json_each(?4)", "the versions that a forecast looks at"),
    ("WITH RECURSIVE member", "the members of one tree"),
    ("SELECT code, id_order FROM incident ORDER BY id LIMIT", "at most so many"),
    ("status, count FROM instance_count", "a few rows per definition"),
    ("FROM instance GROUP BY 1, 2", "check counts everything"),
    ("FROM sqlite_schema WHERE name", "the schema is small"),
];

fn fresh() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    migrate(&mut connection, MIGRATIONS).unwrap();
    connection
}

fn statements() -> Vec<&'static str> {
    let lists = [
        answer::ALL,
        check::ALL,
        claim::ALL,
        compact::ALL,
        definition::ALL,
        history::ALL,
        inbox::ALL,
        incident::ALL,
        instance::ALL,
        instance_count::ALL,
        &instance_list::all(),
        instance_tag::ALL,
        occurrence::ALL,
        message::ALL,
        message_id::ALL,
        tree::ALL,
        node::ALL,
        operation::ALL,
        &purge::all(),
        subscription::ALL,
        sweep::ALL,
        task::ALL,
        timer::ALL,
        trigger_start::ALL,
    ];
    lists.concat()
}

#[test]
fn no_statement_of_a_turn_scans_a_table() {
    let connection = fresh();
    let mut used = vec![false; SCANS.len()];
    for sql in statements() {
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let parameters = explain.parameter_count();
        let nulls = vec![rusqlite::types::Null; parameters];
        let params = rusqlite::params_from_iter(nulls);
        let steps = explain.query_map(params, |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        if !steps.iter().any(|step| step.starts_with("SCAN") && step != "SCAN CONSTANT ROW") {
            continue;
        }
        let allowed = SCANS.iter().position(|(part, _)| sql.contains(part));
        let Some(allowed) = allowed else { panic!("{sql}\nis run as {steps:#?}") };
        used[allowed] = true;
    }
    let unused = SCANS.iter().zip(used).filter(|(_, used)| !used).map(|(scan, _)| scan);
    assert_eq!(unused.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
}

#[test]
fn timers_tasks_and_claims_seek_by_their_whole_key() {
    let connection = fresh();
    let plan = |needle: &str| -> String {
        let sql = statements().into_iter().find(|sql| sql.contains(needle)).unwrap();
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nulls = vec![rusqlite::types::Null; explain.parameter_count()];
        let params = rusqlite::params_from_iter(nulls);
        let steps = explain.query_map(params, |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        plan("(due_at, id_order, turn_no, ordinal) > (?2"),
        "SEARCH timer USING PRIMARY KEY \
         (frozen=? AND (due_at,id_order,turn_no,ordinal)>(?,?,?,?) AND due_at<?)"
    );
    assert_eq!(
        plan("AND available_at <= ?4"),
        "SEARCH task USING INDEX task_ready (queue=? AND name=? AND priority=? AND available_at<?)"
    );
    assert_eq!(
        plan("AND priority < ?3"),
        "SEARCH task USING COVERING INDEX task_ready (queue=? AND name=? AND priority<?)"
    );
}

#[test]
fn the_committed_schema_is_what_migrations_make() {
    let connection = fresh();
    let list = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL \
                ORDER BY type = 'view', tbl_name, type <> 'table', name";
    let mut schema = String::from(
        "-- Generated: what all migrations make together. \
         `UPDATE_EXPECT=1 cargo test -p meantime-store` writes it.\n",
    );
    let mut query = connection.prepare(list).unwrap();
    for sql in query.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        write!(schema, "\n{};\n", sql.unwrap()).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sqlite/schema.sql");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &schema).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(committed, schema, "run with UPDATE_EXPECT=1 and review the change");
}

#[test]
fn every_migration_is_in_the_lock_file() {
    let lock = include_str!("../migrations.lock");
    for step in MIGRATIONS {
        let line = format!("{}  sqlite/migrations/{}", step.digest(), step.name);
        assert!(lock.lines().any(|locked| locked == line), "add the line {line}");
    }
}

fn tables(connection: &Connection) -> Vec<String> {
    let list = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
    let mut query = connection.prepare(list).unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn migrating_twice_changes_nothing() {
    let mut connection = fresh();
    let before = tables(&connection);
    migrate(&mut connection, MIGRATIONS).unwrap();
    assert_eq!(tables(&connection), before);
}

#[test]
fn a_migration_that_breaks_off_leaves_nothing_and_runs_again() {
    let mut connection = fresh();
    let before = tables(&connection);
    let second = |sql| [MIGRATIONS, &[Migration { name: "9999_more.sql", sql }]].concat();
    let broken = second("CREATE TABLE more (a); INSERT INTO nowhere VALUES (1);");
    migrate(&mut connection, &broken).unwrap_err();
    assert_eq!(tables(&connection), before);
    migrate(&mut connection, &second("CREATE TABLE more (a);")).unwrap();
    assert!(tables(&connection).contains(&"more".to_owned()));
}

#[test]
fn a_changed_migration_is_refused() {
    let mut connection = fresh();
    let mut changed = MIGRATIONS.to_vec();
    changed[0].sql = "SELECT 1;";
    assert_eq!(migrate(&mut connection, &changed).unwrap_err().code(), "store_corrupt");
}

#[test]
fn a_newer_schema_is_refused() {
    let mut connection = fresh();
    let known = u32::try_from(MIGRATIONS.len()).unwrap();
    connection.pragma_update(None, "user_version", known + 1).unwrap();
    let error = migrate(&mut connection, MIGRATIONS).unwrap_err();
    assert_eq!(error.code(), "store_newer_schema");
}

#[test]
fn a_database_of_another_program_is_refused() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE theirs (a)").unwrap();
    let error = migrate(&mut connection, MIGRATIONS).unwrap_err();
    assert_eq!(error.code(), "store_corrupt");
}

#[test]
fn views_can_be_read_and_print_ids_like_the_api() {
    let connection = fresh();
    let id = meantime_core::InstanceId::new(58_654_720_000_123, 0xfedc_ba98_7654_3210);
    let insert = "INSERT INTO instance (id_order, id_random, turn_no, phase, definition_id, \
         started_at, \
                  last_history, state_format, state) VALUES (?1, ?2, 1, 'running', 1, ?3, 0, 1, \
                  x'')";
    let parts = (id.order().cast_signed(), id.random().cast_signed(), 1_790_000_000_123_i64);
    connection.execute(insert, parts).unwrap();
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
    let shown = connection.query_row("SELECT id, started FROM v_instance", [], read).unwrap();
    assert_eq!(shown, (id.to_string(), "2026-09-21T14:13:20.123Z".to_owned()));
    for view in ["v_timer", "v_task", "v_incident", "v_history", "v_operation"] {
        let count = format!("SELECT count(*) FROM {view}");
        assert_eq!(connection.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    }
}
