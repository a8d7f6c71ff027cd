//! J on SQLite: all rows are appended, and deleted soon after.

use std::path::Path;

use anyhow::Result;
use rusqlite::params;

use super::file::File;

/// Instances that share each commit.
pub(crate) const GROUP_SIZE: usize = 64;

const SCHEMA_SQL: &str = "
CREATE TABLE instance (id_order INTEGER PRIMARY KEY, id_random INTEGER NOT NULL, turn_no INTEGER NOT NULL,
    phase TEXT NOT NULL, definition_id INTEGER NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER, last_history INTEGER NOT NULL, open BLOB, state BLOB NOT NULL) STRICT;
CREATE TABLE task (id_order INTEGER NOT NULL, turn_no INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    queue TEXT NOT NULL, name TEXT NOT NULL, priority INTEGER NOT NULL, state TEXT NOT NULL,
    available_at INTEGER NOT NULL, claims INTEGER NOT NULL, attempt INTEGER NOT NULL,
    lease_worker TEXT, lease_until INTEGER, spec BLOB NOT NULL,
    PRIMARY KEY (id_order, turn_no, ordinal)) WITHOUT ROWID, STRICT;
CREATE INDEX task_ready ON task (queue, name, priority DESC, available_at) WHERE state = 'ready';
CREATE TABLE history (seq INTEGER PRIMARY KEY, id_order INTEGER NOT NULL, turn_no INTEGER NOT NULL,
    happened_at INTEGER NOT NULL, previous INTEGER NOT NULL, records BLOB NOT NULL) STRICT;
";

const INSERT_INSTANCE: &str = "INSERT INTO instance (id_order, id_random, turn_no, phase, definition_id, started_at, \
     last_history, open, state) VALUES (?1, ?2, 1, 'running', 1, ?3, ?4, ?5, ?6)";
const INSERT_TASK: &str = "INSERT INTO task (id_order, turn_no, ordinal, queue, name, priority, state, \
     available_at, claims, attempt, spec) VALUES (?1, 1, 0, '', 'work', 0, 'ready', ?2, 0, 0, ?3)";
const CLAIM_TASK: &str = "UPDATE task SET state = 'leased', claims = 1, attempt = 1, \
     lease_worker = 'worker', lease_until = ?2 \
     WHERE id_order = ?1 AND turn_no = 1 AND ordinal = 0 AND claims = 0";
const END_INSTANCE: &str = "UPDATE instance SET turn_no = 2, phase = 'completed', ended_at = ?2, \
     last_history = ?3, open = NULL, state = ?4 WHERE id_order = ?1 AND turn_no = 1";
const DELETE_TASK: &str =
    "DELETE FROM task WHERE id_order = ?1 AND turn_no = 1 AND ordinal = 0 AND claims = 1";
const INSERT_HISTORY: &str = "INSERT INTO history (seq, id_order, turn_no, happened_at, previous, records) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// A fixed instant, from which ids are built as the engine builds them.
const NOW_MS: i64 = 1_790_000_000_000;

pub(crate) struct AppendBaseline {
    file: File,
    next: i64,
    state: Vec<u8>,
}

impl AppendBaseline {
    /// Opens a new file; instances have a state of `state` bytes.
    pub(crate) fn new(path: &Path, state: usize) -> Result<Self> {
        Ok(Self { file: File::new(path, SCHEMA_SQL)?, next: NOW_MS << 15, state: vec![7; state] })
    }

    /// Pages written to the log so far.
    pub(crate) fn pages(&self) -> u64 {
        self.file.pages()
    }

    /// Runs a group of instances from start to end; returns how many.
    pub(crate) fn group(&mut self) -> Result<usize> {
        let (state, open, records) = (&self.state, [8u8; 60], [9u8; 120]);
        let spec = [6u8; 60];
        let group = self.next..self.next + i64::try_from(GROUP_SIZE)?;
        self.next = group.end;
        let file = &self.file;
        file.begin()?;
        for id_order in group.clone() {
            let id_random = id_order.wrapping_mul(0x1e37_79b9_7f4a_7c15);
            file.run(
                INSERT_INSTANCE,
                params![id_order, id_random, NOW_MS, id_order * 2, open, state],
            )?;
            file.run(INSERT_TASK, params![id_order, NOW_MS, spec])?;
            file.run(INSERT_HISTORY, params![id_order * 2, id_order, 1, NOW_MS, 0, records])?;
        }
        file.commit()?;
        file.begin()?;
        for id_order in group.clone() {
            file.run(CLAIM_TASK, params![id_order, NOW_MS])?;
        }
        file.commit()?;
        file.begin()?;
        for id_order in group {
            file.run(END_INSTANCE, params![id_order, NOW_MS, id_order * 2 + 1, state])?;
            file.run(DELETE_TASK, [id_order])?;
            file.run(
                INSERT_HISTORY,
                params![id_order * 2 + 1, id_order, 2, NOW_MS, id_order * 2, records],
            )?;
        }
        file.commit()?;
        Ok(GROUP_SIZE)
    }
}
