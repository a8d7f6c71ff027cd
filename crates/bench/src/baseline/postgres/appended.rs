//! JP: the write set of J, each statement for a whole group.

use anyhow::Result;
use futures_util::future::try_join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use super::super::super::bench_store::BenchDatabase;
use super::super::sqlite::GROUP_SIZE;

const SCHEMA_SQL: &str = "
CREATE TABLE instance (id_order BIGINT PRIMARY KEY, id_random BIGINT NOT NULL, turn_no BIGINT NOT NULL,
    definition_id BIGINT NOT NULL, started_at BIGINT NOT NULL, ended_at BIGINT,
    last_history BIGINT NOT NULL, phase TEXT COLLATE \"C\" NOT NULL, open BYTEA,
    state BYTEA NOT NULL) WITH (fillfactor = 80);
CREATE TABLE task (id_order BIGINT NOT NULL, turn_no BIGINT NOT NULL, available_at BIGINT NOT NULL,
    lease_until BIGINT, ordinal BIGINT NOT NULL, priority INTEGER NOT NULL, claims BIGINT NOT NULL,
    attempt BIGINT NOT NULL, state TEXT COLLATE \"C\" NOT NULL, queue TEXT COLLATE \"C\" NOT NULL,
    name TEXT COLLATE \"C\" NOT NULL, lease_worker TEXT, spec BYTEA NOT NULL,
    PRIMARY KEY (id_order, turn_no, ordinal));
CREATE INDEX task_ready ON task (queue, name, priority DESC, available_at) WHERE state = 'ready';
CREATE TABLE history (seq BIGINT PRIMARY KEY, id_order BIGINT NOT NULL, turn_no BIGINT NOT NULL,
    happened_at BIGINT NOT NULL, previous BIGINT NOT NULL, records BYTEA NOT NULL);
";

const INSERT_INSTANCE: &str = "INSERT INTO instance (id_order, id_random, turn_no, definition_id, started_at, \
     last_history, phase, open, state) SELECT o, o, 1, 1, $2, o * 2, 'running', p, s \
     FROM UNNEST($1::BIGINT[], $3::BYTEA[], $4::BYTEA[]) AS given (o, p, s)";
const INSERT_TASK: &str = "INSERT INTO task (id_order, turn_no, available_at, ordinal, priority, claims, \
     attempt, state, queue, name, spec) SELECT o, 1, $2, 0, 0, 0, 0, 'ready', '', 'work', s \
     FROM UNNEST($1::BIGINT[], $3::BYTEA[]) AS given (o, s)";
const CLAIM_TASK: &str = "UPDATE task SET state = 'leased', claims = 1, attempt = 1, \
     lease_worker = 'worker', lease_until = $2 FROM UNNEST($1::BIGINT[]) AS given (o) \
     WHERE id_order = o AND turn_no = 1 AND ordinal = 0 AND claims = 0";
const END_INSTANCE: &str = "UPDATE instance SET turn_no = 2, phase = 'completed', ended_at = $2, \
     last_history = o * 2 + 1, open = NULL, state = s \
     FROM UNNEST($1::BIGINT[], $3::BYTEA[]) AS given (o, s) WHERE id_order = o AND turn_no = 1";
const DELETE_TASK: &str = "DELETE FROM task USING UNNEST($1::BIGINT[]) AS given (o) \
     WHERE id_order = o AND turn_no = 1 AND ordinal = 0 AND claims = 1";
const INSERT_HISTORY: &str = "INSERT INTO history (seq, id_order, turn_no, happened_at, previous, records) \
     SELECT o * 2 + $2 - 1, o, $2, $3, 0, r \
     FROM UNNEST($1::BIGINT[], $4::BYTEA[]) AS given (o, r)";

/// A fixed instant, the first part of the ids.
const NOW_MS: i64 = 1_790_000_000_000;

pub(crate) struct AppendBaseline {
    client: Client,
    statements: Vec<Statement>,
    next: i64,
}

impl AppendBaseline {
    pub(crate) async fn new(database: &BenchDatabase) -> Result<Self> {
        let client = database.connect_empty().await?;
        client.batch_execute(SCHEMA_SQL).await?;
        let mut statements = Vec::new();
        for sql in
            [INSERT_INSTANCE, INSERT_TASK, INSERT_HISTORY, CLAIM_TASK, END_INSTANCE, DELETE_TASK]
        {
            statements.push(client.prepare(sql).await?);
        }
        Ok(Self { client, statements, next: NOW_MS << 15 })
    }

    /// Runs a group of instances from start to end; returns how many.
    pub(crate) async fn group(&mut self) -> Result<usize> {
        let [start, schedule, append, claim, end, done] = self.statements.as_slice() else {
            return Ok(0);
        };
        let id_orders: Vec<i64> = (self.next..).take(GROUP_SIZE).collect();
        self.next += i64::try_from(GROUP_SIZE)?;
        let fill = |byte: u8, len: usize| vec![vec![byte; len]; GROUP_SIZE];
        let (states, opens, specs, records) =
            (fill(7, 500), fill(8, 60), fill(6, 60), fill(9, 120));
        let client = &self.client;
        transaction(
            client,
            &[
                (start, &[&id_orders, &NOW_MS, &opens, &states]),
                (schedule, &[&id_orders, &NOW_MS, &specs]),
                (append, &[&id_orders, &1i64, &NOW_MS, &records]),
            ],
        )
        .await?;
        transaction(client, &[(claim, &[&id_orders, &NOW_MS])]).await?;
        transaction(
            client,
            &[
                (end, &[&id_orders, &NOW_MS, &states]),
                (done, &[&id_orders]),
                (append, &[&id_orders, &2i64, &NOW_MS, &records]),
            ],
        )
        .await?;
        Ok(GROUP_SIZE)
    }
}

/// A statement and its parameters.
pub(super) type TransactionStep<'a> = (&'a Statement, &'a [&'a (dyn ToSql + Sync)]);

/// A transaction whose statements are all sent before the first answer is read.
pub(super) async fn transaction(client: &Client, steps: &[TransactionStep<'_>]) -> Result<()> {
    // Statements are sent in the order in which their futures are first polled.
    let steps =
        try_join_all(steps.iter().map(|(statement, values)| client.execute(*statement, values)));
    tokio::try_join!(biased; client.batch_execute("BEGIN"), steps, client.batch_execute("COMMIT"))?;
    Ok(())
}
