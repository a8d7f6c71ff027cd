//! B on SQLite: instances picked at random, each resumed by its timer.

use std::path::Path;

use anyhow::Result;
use meantime_kernel::random::{Entropy, SeededEntropy};
use rusqlite::params;

use super::super::super::notation::YEAR_MS;
use super::file::File;

/// Transitions that share a commit.
const BATCH_SIZE: usize = 1_000;

const SCHEMA_SQL: &str = "
CREATE TABLE instance (id_order INTEGER PRIMARY KEY, id_random INTEGER NOT NULL, turn_no INTEGER NOT NULL,
    phase TEXT NOT NULL, definition_id INTEGER NOT NULL, started_at INTEGER NOT NULL,
    last_history INTEGER NOT NULL, open BLOB, state BLOB NOT NULL) STRICT;
CREATE TABLE history (seq INTEGER PRIMARY KEY, id_order INTEGER NOT NULL, turn_no INTEGER NOT NULL,
    happened_at INTEGER NOT NULL, previous INTEGER NOT NULL, records BLOB NOT NULL) STRICT;
CREATE TABLE timer (due_at INTEGER NOT NULL, id_order INTEGER NOT NULL, turn_no INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, kind TEXT NOT NULL, element TEXT NOT NULL,
    PRIMARY KEY (due_at, id_order, turn_no, ordinal)) WITHOUT ROWID, STRICT;
";

const INSERT_INSTANCE: &str = "INSERT INTO instance (id_order, id_random, turn_no, phase, definition_id, started_at, \
     last_history, open, state) VALUES (?1, ?2, 1, 'running', 1, ?3, ?4, ?5, ?6)";
const UPDATE_INSTANCE: &str = "UPDATE instance SET turn_no = ?2 + 1, last_history = ?3, open = ?4, state = ?5 \
     WHERE id_order = ?1 AND turn_no = ?2";
const INSERT_HISTORY: &str = "INSERT INTO history (seq, id_order, turn_no, happened_at, previous, records) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const INSERT_TIMER: &str = "INSERT INTO timer (due_at, id_order, turn_no, ordinal, kind, element) \
     VALUES (?1, ?2, ?3, 0, 'timer', 'sleep')";
const DELETE_TIMER: &str =
    "DELETE FROM timer WHERE due_at = ?1 AND id_order = ?2 AND turn_no = ?3 AND ordinal = 0";

const NOW_MS: i64 = 1_790_000_000_000;

pub(crate) struct RandomUpdateBaseline {
    file: File,
    /// The due time of each instance's timer, and its turn number.
    instances: Vec<(i64, i64)>,
    entropy: SeededEntropy,
    seq: i64,
}

impl RandomUpdateBaseline {
    pub(crate) fn new(path: &Path, count: usize) -> Result<Self> {
        let file = File::new(path, SCHEMA_SQL)?;
        let mut entropy = SeededEntropy::new(1);
        let due: Vec<i64> = (0..count).map(|_| random_due_at(&mut entropy)).collect();
        let mut baseline = Self { file, instances: Vec::new(), entropy, seq: NOW_MS << 15 };
        for group in due.chunks(BATCH_SIZE) {
            baseline.fill(group)?;
        }
        Ok(baseline)
    }

    fn fill(&mut self, group: &[i64]) -> Result<()> {
        self.file.begin()?;
        for due_at in group {
            let id_order = id_order(self.instances.len());
            let id_random = id_order.wrapping_mul(0x1e37_79b9_7f4a_7c15);
            self.file.run(
                INSERT_INSTANCE,
                params![id_order, id_random, NOW_MS, 0, [8u8; 60], [7u8; 500]],
            )?;
            self.file.run(INSERT_TIMER, params![due_at, id_order, 1])?;
            self.instances.push((*due_at, 1));
        }
        self.file.commit()
    }

    /// Runs a batch of transitions; returns how many.
    pub(crate) fn batch(&mut self) -> Result<usize> {
        self.file.begin()?;
        for _ in 0..BATCH_SIZE {
            let picked = pick(&mut self.entropy, self.instances.len());
            let next_due = random_due_at(&mut self.entropy);
            let Some((due_at, turn_no)) = self.instances.get_mut(picked) else { continue };
            let id_order = id_order(picked);
            let seq = self.seq;
            self.file
                .run(UPDATE_INSTANCE, params![id_order, *turn_no, seq, [8u8; 60], [7u8; 500]])?;
            self.file
                .run(INSERT_HISTORY, params![seq, id_order, *turn_no, NOW_MS, 0, [9u8; 120]])?;
            self.file.run(DELETE_TIMER, params![*due_at, id_order, *turn_no])?;
            (*due_at, *turn_no) = (next_due, *turn_no + 1);
            self.file.run(INSERT_TIMER, params![*due_at, id_order, *turn_no])?;
            self.seq += 1;
        }
        self.file.commit()?;
        Ok(BATCH_SIZE)
    }
}

/// The key of the instance at an index, built as the engine builds its ids.
fn id_order(index: usize) -> i64 {
    (NOW_MS << 15) + i64::try_from(index).unwrap_or_default()
}

fn pick(entropy: &mut SeededEntropy, count: usize) -> usize {
    let bits = usize::try_from(entropy.next() >> 1).unwrap_or_default();
    bits.checked_rem(count).unwrap_or_default()
}

/// A random instant within the next year.
fn random_due_at(entropy: &mut SeededEntropy) -> i64 {
    let within = i64::try_from(entropy.next() >> 1).unwrap_or_default();
    NOW_MS + within.rem_euclid(YEAR_MS)
}
