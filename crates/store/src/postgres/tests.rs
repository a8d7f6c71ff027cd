//! Tests of the parts that only this crate can see: schema, migrations, query plans.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use meantime_kernel::store::Error;
use tokio::runtime::{Builder, Runtime};

use super::cluster::{Database, database};
use super::connect::Connector;
use super::connection::Connection;
use super::migration::{MIGRATIONS, migrate};
use super::{
    answer, batch, check, claim, clock, compact, definition, feed, history, inbox, incident,
    instance, instance_count, instance_list, instance_tag, lock, message, message_id, monitor,
    node, node_lease, notice, occurrence, operation, purge, subscription, sweep, task, timer, tree,
    trigger_start,
};
use crate::migration::Migration;
use crate::row::Columns;

/// Statements that may scan a table: none of them runs for a turn.
const SCANS: &[(&str, &str)] = &[
    ("SELECT DISTINCT id_order, id_random FROM inbox WHERE held_by", "recovery"),
    ("state = 'leased' OR", "recovery: only open tasks are in the table"),
    ("FROM node AS n, (SELECT max(clock_at)", "recovery: a few rows per process"),
    ("UPDATE commit_row SET closed_at = 0 WHERE", "a few rows per process"),
    ("DELETE FROM commit_row WHERE closed_at", "a few rows per process"),
    ("SELECT number, lease_term, until_at, session", "at most 64 rows"),
    ("SELECT id FROM definition ORDER BY id", "definitions are few"),
    ("ORDER BY d.id DESC", "the list of all definitions"),
    ("FROM instance_count GROUP BY", "a few rows per definition"),
    ("FROM instance GROUP BY", "check counts everything"),
];

/// A database, a connection to it, and its cluster.
struct Bench {
    connection: Connection,
    runtime: Runtime,
    database: Database,
}

impl Bench {
    fn empty() -> Self {
        let database = database().unwrap();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let connector = Connector::new(&database.options(), Arc::default(), monitor()).unwrap();
        let connection = runtime.block_on(connector.connect()).unwrap();
        let bench = Self { connection, runtime, database };
        // Databases are reused by other tests, so this one works in a schema of its own.
        bench.script("DROP SCHEMA IF EXISTS scratch CASCADE; CREATE SCHEMA scratch");
        bench.script("SET search_path = scratch");
        bench
    }

    fn migrated() -> Self {
        let bench = Self::empty();
        bench.migrate(MIGRATIONS).unwrap();
        bench
    }

    fn migrate(&self, steps: &[Migration]) -> Result<(), Error> {
        self.runtime.block_on(migrate(&self.connection, steps))
    }

    fn script(&self, sql: &str) {
        self.runtime.block_on(self.connection.script(sql)).unwrap();
    }

    fn texts(&self, sql: &'static str) -> Vec<String> {
        let answer = self.runtime.block_on(self.connection.one(sql, Vec::new())).unwrap();
        answer.read(|row| row.text(0)).unwrap()
    }

    /// The plan of a statement, line by line.
    fn plan(&self, sql: &str) -> Vec<String> {
        let sql = sql.to_owned();
        let explain: &'static str = Box::leak(format!("EXPLAIN EXECUTE it{}", nulls(&sql)).into());
        self.script(&format!("PREPARE it AS {sql}"));
        let plan = self.texts(explain);
        self.script("DEALLOCATE it");
        plan
    }
}

/// A monitor that is not running.
fn monitor() -> Arc<monitor::ConnectionMonitor> {
    monitor::ConnectionMonitor::new(Arc::default()).0
}

/// As many NULLs as a statement has parameters.
fn nulls(sql: &str) -> String {
    let count = (1..30).rev().find(|number| sql.contains(&format!("${number}"))).unwrap_or(0);
    if count == 0 { String::new() } else { format!("({})", vec!["NULL"; count].join(", ")) }
}

fn statements() -> Vec<&'static str> {
    let lists = [
        answer::STATEMENTS,
        batch::STATEMENTS,
        check::STATEMENTS,
        claim::STATEMENTS,
        clock::STATEMENTS,
        compact::STATEMENTS,
        definition::STATEMENTS,
        feed::STATEMENTS,
        history::STATEMENTS,
        inbox::STATEMENTS,
        incident::STATEMENTS,
        instance::STATEMENTS,
        instance_count::STATEMENTS,
        &instance_list::statements(),
        instance_tag::STATEMENTS,
        lock::STATEMENTS,
        message::STATEMENTS,
        message_id::STATEMENTS,
        tree::STATEMENTS,
        node::STATEMENTS,
        notice::STATEMENTS,
        occurrence::STATEMENTS,
        operation::STATEMENTS,
        monitor::STATEMENTS,
        &purge::statements(),
        node_lease::STATEMENTS,
        subscription::STATEMENTS,
        sweep::STATEMENTS,
        task::STATEMENTS,
        timer::STATEMENTS,
        trigger_start::STATEMENTS,
    ];
    lists.concat()
}

#[test]
fn no_statement_of_a_turn_scans_a_table() {
    let bench = Bench::migrated();
    // Prepared plans are kept for a long time: they must also suit the tables when these have
    // grown.
    let never = check_plans(&bench);
    bench.script("VACUUM ANALYZE");
    let known_as_empty = check_plans(&bench);
    let unused = (0..SCANS.len()).filter(|at| !never.contains(at) && !known_as_empty.contains(at));
    let unused: Vec<&str> = unused.map(|at| SCANS[at].0).collect();
    assert_eq!(unused, Vec::<&str>::new());
}

/// Checks the plan of every statement; returns which of [`SCANS`] occurred.
fn check_plans(bench: &Bench) -> BTreeSet<usize> {
    let leading = "SELECT i.indexrelid::regclass || ' ' || a.attname FROM pg_index AS i \
         JOIN pg_attribute AS a ON a.attrelid = i.indexrelid AND a.attnum = 1 \
         WHERE i.indrelid::regclass::text NOT LIKE '%.%'";
    let leading = bench.texts(leading);
    let leading: Vec<(&str, &str)> =
        leading.iter().filter_map(|line| line.split_once(' ')).collect();
    let mut met = BTreeSet::new();
    let mut problems = Vec::new();
    for sql in statements() {
        let plan = bench.plan(sql);
        if walks(&plan, &leading) {
            match SCANS.iter().position(|(part, _)| sql.contains(part)) {
                Some(allowed) => drop(met.insert(allowed)),
                None => problems.push(format!("{sql}\nis run as\n{}", plan.join("\n"))),
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    met
}

/// Whether a plan reads a whole table. An index scan without a condition on its first column also
/// reads the whole index, unless only its first rows are wanted.
fn walks(plan: &[String], leading: &[(&str, &str)]) -> bool {
    let is_limited = plan.iter().any(|line| line.contains("Limit"));
    plan.iter().enumerate().any(|(number, line)| {
        if let Some((_, rest)) =
            line.split_once("Scan using ").or(line.split_once("Backward using "))
        {
            let index = rest.split(' ').next().unwrap_or_default();
            let column = leading.iter().find(|(name, _)| *name == index).map(|(_, it)| *it);
            let next = plan.get(number + 1).filter(|next| next.contains("Index Cond"));
            let seeks = next.is_some_and(|next| column.is_some_and(|it| next.contains(it)));
            !seeks && (!is_limited || next.is_some())
        } else {
            line.contains("Seq Scan") || line.contains("Bitmap")
        }
    })
}

#[test]
fn timers_and_claims_seek_by_their_whole_key() {
    let bench = Bench::migrated();
    let conditions = |needle: &str| -> Vec<String> {
        let sql = statements().into_iter().find(|sql| sql.contains(needle)).unwrap();
        let lines = bench.plan(sql).into_iter().map(|line| line.trim().to_owned());
        lines.filter(|line| line.starts_with("Index Cond")).collect()
    };
    let due = conditions("AND due_at < $6 AND (id_random");
    assert_eq!(due.len(), 1);
    assert!(due[0].contains("frozen = $1") && due[0].contains("due_at < $6"), "{due:?}");
    assert!(due[0].contains("ROW(due_at, id_order, turn_no, ordinal) >"), "{due:?}");
    let claims = conditions("AND available_at <= $3");
    let ready = claims.iter().find(|it| it.contains("available_at <= $3")).unwrap();
    for part in ["queue =", "name =", "priority ="] {
        assert!(ready.contains(part), "{ready}");
    }
}

#[test]
fn the_committed_schema_is_what_migrations_make() {
    let bench = Bench::migrated();
    let mut schema = String::from(
        "-- Generated: what all migrations make together. \
         `UPDATE_EXPECT=1 cargo test -p meantime-store` writes it.\n",
    );
    let parts = [
        "SELECT 'CREATE TABLE ' || c.relname || ' (' || E'\\n' || string_agg('    ' || a.attname \
         || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN l.collname = 'C' \
         THEN ' COLLATE \"C\"' ELSE '' END || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END, \
         ',' || E'\\n' ORDER BY a.attnum) || coalesce((SELECT string_agg(',' || E'\\n    ' || \
         pg_get_constraintdef(k.oid), '' ORDER BY k.contype DESC, k.conname) FROM pg_constraint AS \
         k \
         WHERE k.conrelid = c.oid), '') || E'\\n)' || coalesce(' WITH (' || \
         array_to_string(c.reloptions, ', ') || ')', '') \
         FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 \
         LEFT JOIN pg_collation AS l ON l.oid = a.attcollation \
         WHERE c.relkind = 'r' AND c.relnamespace = 'scratch'::regnamespace \
         GROUP BY c.oid, c.relname, c.reloptions ORDER BY c.relname",
        "SELECT replace(pg_get_indexdef(i.indexrelid), 'scratch.', '') FROM pg_index AS i \
         JOIN pg_class AS c ON c.oid = i.indexrelid WHERE NOT i.indisprimary \
         AND c.relnamespace = 'scratch'::regnamespace ORDER BY c.relname",
        "SELECT 'CREATE VIEW ' || c.relname || ' AS' || E'\\n' || \
         rtrim(replace(pg_get_viewdef(c.oid, true), 'scratch.', ''), ';') FROM pg_class AS c \
         WHERE c.relkind = 'v' AND c.relnamespace = 'scratch'::regnamespace ORDER BY c.relname",
    ];
    for sql in parts.into_iter().flat_map(|part| bench.texts(part)) {
        write!(schema, "\n{sql};\n").unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/postgres/schema.sql");
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
        let line = format!("{}  postgres/migrations/{}", step.digest(), step.name);
        assert!(lock.lines().any(|locked| locked == line), "add the line {line}");
    }
}

const TABLES: &str =
    "SELECT tablename::text FROM pg_tables WHERE schemaname = 'scratch' ORDER BY 1";

#[test]
fn migrating_twice_changes_nothing() {
    let bench = Bench::migrated();
    let before = bench.texts(TABLES);
    bench.migrate(MIGRATIONS).unwrap();
    assert_eq!(bench.texts(TABLES), before);
}

#[test]
fn a_migration_that_breaks_off_leaves_nothing_and_runs_again() {
    let bench = Bench::migrated();
    let before = bench.texts(TABLES);
    let second = |sql| [MIGRATIONS, &[Migration { name: "9999_more.sql", sql }]].concat();
    let broken = second("CREATE TABLE more (a int); INSERT INTO nowhere VALUES (1);");
    bench.migrate(&broken).unwrap_err();
    assert_eq!(bench.texts(TABLES), before);
    bench.migrate(&second("CREATE TABLE more (a int);")).unwrap();
    assert!(bench.texts(TABLES).contains(&"more".to_owned()));
}

#[test]
fn a_changed_migration_is_refused() {
    let bench = Bench::migrated();
    let mut changed = MIGRATIONS.to_vec();
    changed[0].sql = "SELECT 1;";
    assert_eq!(bench.migrate(&changed).unwrap_err().code(), "store_corrupt");
}

#[test]
fn a_newer_schema_is_refused() {
    let bench = Bench::migrated();
    let older = &MIGRATIONS[..MIGRATIONS.len() - 1];
    assert_eq!(bench.migrate(older).unwrap_err().code(), "store_newer_schema");
}

#[test]
fn a_schema_of_another_program_is_refused() {
    let bench = Bench::empty();
    bench.script("CREATE TABLE instance (a int)");
    assert_eq!(bench.migrate(MIGRATIONS).unwrap_err().code(), "store_corrupt");
}

#[test]
fn several_processes_that_migrate_at_once_do_it_once() {
    let bench = Bench::empty();
    let connector = Connector::new(&bench.database.options(), Arc::default(), monitor()).unwrap();
    bench.runtime.block_on(async {
        let one = async {
            let connection = connector.connect().await?;
            connection.script("SET search_path = scratch").await?;
            migrate(&connection, MIGRATIONS).await
        };
        let other = migrate(&bench.connection, MIGRATIONS);
        let (one, other) = futures_util::future::join(one, other).await;
        one.and(other).unwrap();
    });
    let count = "SELECT count(*)::text FROM schema_migration";
    assert_eq!(bench.texts(count), [MIGRATIONS.len().to_string()]);
}

#[test]
fn views_can_be_read_and_print_ids_like_the_api() {
    let bench = Bench::migrated();
    let id = meantime_core::InstanceId::new(58_654_720_000_123, 0xfedc_ba98_7654_3210);
    let (order, id_random) = (id.order().cast_signed(), id.random().cast_signed());
    bench.script(&format!(
        "INSERT INTO instance (id_order, id_random, turn_no, phase, definition_id, started_at, \
         last_history, state_format, state) VALUES ({order}, {id_random}, 1, 'running', 1, \
         1790000000123, 0, 1, '')"
    ));
    let shown = bench.texts("SELECT id || ' ' || started FROM v_instance");
    assert_eq!(shown, [format!("{id} 2026-09-21T14:13:20.123Z")]);
    for view in ["v_timer", "v_task", "v_incident", "v_history", "v_operation", "v_occurrence"] {
        let count: &'static str =
            Box::leak(format!("SELECT count(*)::text FROM {view}").into_boxed_str());
        assert_eq!(bench.texts(count), ["0"]);
    }
}
