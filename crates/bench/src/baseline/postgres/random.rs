//! BP: the transitions of B, each statement for a whole batch.

use anyhow::Result;
use meantime_kernel::random::{Entropy, SeededEntropy};
use tokio_postgres::{Client, Statement};

use super::super::super::bench_store::BenchDatabase;
use super::super::super::notation::YEAR_MS;
use super::appended::transaction;

/// Transitions that share a commit.
const BATCH_SIZE: usize = 1_000;

const SCHEMA_SQL: &str = "
CREATE TABLE instance (id_order BIGINT PRIMARY KEY, id_random BIGINT NOT NULL, turn_no BIGINT NOT NULL,
    definition_id BIGINT NOT NULL, started_at BIGINT NOT NULL, last_history BIGINT NOT NULL,
    phase TEXT COLLATE \"C\" NOT NULL, open BYTEA, state BYTEA NOT NULL) WITH (fillfactor = 80);
CREATE TABLE history (seq BIGINT PRIMARY KEY, id_order BIGINT NOT NULL, turn_no BIGINT NOT NULL,
    happened_at BIGINT NOT NULL, previous BIGINT NOT NULL, records BYTEA NOT NULL);
CREATE TABLE timer (due_at BIGINT NOT NULL, id_order BIGINT NOT NULL, turn_no BIGINT NOT NULL,
    ordinal BIGINT NOT NULL, kind TEXT COLLATE \"C\" NOT NULL, element TEXT NOT NULL,
    PRIMARY KEY (due_at, id_order, turn_no, ordinal));
";

const INSERT_INSTANCE: &str = "INSERT INTO instance (id_order, id_random, turn_no, definition_id, started_at, \
     last_history, phase, open, state) SELECT o, o, 1, 1, $2, 0, 'running', p, s \
     FROM UNNEST($1::BIGINT[], $3::BYTEA[], $4::BYTEA[]) AS given (o, p, s)";
const UPDATE_INSTANCE: &str = "UPDATE instance SET turn_no = t + 1, last_history = h, open = p, state = s \
     FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BYTEA[], $5::BYTEA[]) \
     AS given (o, t, h, p, s) WHERE id_order = o AND turn_no = t";
const INSERT_HISTORY: &str = "INSERT INTO history (seq, id_order, turn_no, happened_at, previous, records) \
     SELECT h, o, t, $4, 0, r \
     FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $5::BYTEA[]) AS given (h, o, t, r)";
const DELETE_TIMER: &str = "DELETE FROM timer \
     USING UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) AS given (d, o, t) \
     WHERE due_at = d AND id_order = o AND turn_no = t AND ordinal = 0";
const INSERT_TIMER: &str = "INSERT INTO timer (due_at, id_order, turn_no, ordinal, kind, element) \
     SELECT d, o, t, 0, 'timer', 'sleep' \
     FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) AS given (d, o, t)";

const NOW_MS: i64 = 1_790_000_000_000;

pub(crate) struct RandomUpdateBaseline {
    client: Client,
    statements: Vec<Statement>,
    /// The due time of each instance's timer, and its turn number.
    instances: Vec<(i64, i64)>,
    entropy: SeededEntropy,
    seq: i64,
}

impl RandomUpdateBaseline {
    pub(crate) async fn new(database: &BenchDatabase, count: usize) -> Result<Self> {
        let client = database.connect_empty().await?;
        client.batch_execute(SCHEMA_SQL).await?;
        let mut statements = Vec::new();
        for sql in [INSERT_INSTANCE, UPDATE_INSTANCE, INSERT_HISTORY, DELETE_TIMER, INSERT_TIMER] {
            statements.push(client.prepare(sql).await?);
        }
        let (entropy, seq) = (SeededEntropy::new(1), NOW_MS << 15);
        let mut baseline = Self { client, statements, instances: Vec::new(), entropy, seq };
        while baseline.instances.len() < count {
            baseline.fill().await?;
        }
        // The state of a database that has been in use for a while.
        baseline.client.batch_execute("VACUUM ANALYZE").await?;
        Ok(baseline)
    }

    async fn fill(&mut self) -> Result<()> {
        let [start, .., arm] = self.statements.as_slice() else { return Ok(()) };
        let first = self.instances.len();
        let id_orders: Vec<i64> = (first..first + BATCH_SIZE).map(id_order).collect();
        let due: Vec<i64> = (0..BATCH_SIZE).map(|_| random_due_at(&mut self.entropy)).collect();
        let turns = vec![1i64; BATCH_SIZE];
        let (opens, states) = (vec![vec![8u8; 60]; BATCH_SIZE], vec![vec![7u8; 500]; BATCH_SIZE]);
        let client = &self.client;
        transaction(
            client,
            &[(start, &[&id_orders, &NOW_MS, &opens, &states]), (arm, &[&due, &id_orders, &turns])],
        )
        .await?;
        self.instances.extend(due.into_iter().map(|due_at| (due_at, 1)));
        Ok(())
    }

    /// Runs a batch of transitions; returns how many.
    pub(crate) async fn batch(&mut self) -> Result<usize> {
        let [_, turn, append, disarm, arm] = self.statements.as_slice() else { return Ok(0) };
        let mut picked = std::collections::BTreeSet::new();
        while picked.len() < BATCH_SIZE.min(self.instances.len()) {
            let bits = usize::try_from(self.entropy.next() >> 1)?;
            picked.insert(bits % self.instances.len());
        }
        let (mut id_orders, mut turns, mut seqs) = (Vec::new(), Vec::new(), Vec::new());
        let (mut due, mut next_due, mut next_turns) = (Vec::new(), Vec::new(), Vec::new());
        for index in picked {
            let Some((due_at, turn_no)) = self.instances.get_mut(index) else { continue };
            id_orders.push(id_order(index));
            due.push(*due_at);
            turns.push(*turn_no);
            (*due_at, *turn_no) = (random_due_at(&mut self.entropy), *turn_no + 1);
            next_due.push(*due_at);
            next_turns.push(*turn_no);
            seqs.push(self.seq);
            self.seq += 1;
        }
        let count = id_orders.len();
        let fill = |byte: u8, len: usize| vec![vec![byte; len]; count];
        let (opens, states, records) = (fill(8, 60), fill(7, 500), fill(9, 120));
        let client = &self.client;
        transaction(
            client,
            &[
                (turn, &[&id_orders, &turns, &seqs, &opens, &states]),
                (append, &[&seqs, &id_orders, &turns, &NOW_MS, &records]),
                (disarm, &[&due, &id_orders, &turns]),
                (arm, &[&next_due, &id_orders, &next_turns]),
            ],
        )
        .await?;
        Ok(count)
    }
}

/// The key of the instance at an index, built as the engine builds its ids.
fn id_order(index: usize) -> i64 {
    (NOW_MS << 15) + i64::try_from(index).unwrap_or_default()
}

/// A random instant within the next year.
fn random_due_at(entropy: &mut SeededEntropy) -> i64 {
    let within = i64::try_from(entropy.next() >> 1).unwrap_or_default();
    NOW_MS + within.rem_euclid(YEAR_MS)
}
