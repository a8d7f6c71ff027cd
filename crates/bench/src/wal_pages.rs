//! The B-trees that a commit has changed: the pages in the write-ahead log, by their B-tree.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rusqlite::Connection;

const WAL_HEADER_BYTES: u64 = 32;
const WAL_FRAME_HEADER_BYTES: usize = 24;
const WAL_FRAME_BYTES: usize = WAL_FRAME_HEADER_BYTES + 4_096;

/// Reads the log of a file, from commit to commit.
pub(super) struct WalPages {
    connection: Connection,
    log: PathBuf,
    at: u64,
}

impl WalPages {
    /// Starts with an empty log.
    pub(super) fn new(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        let log = PathBuf::from(format!("{}-wal", path.display()));
        Ok(Self { connection, log, at: WAL_HEADER_BYTES })
    }

    /// How many pages of each B-tree were written since the last call.
    pub(super) fn since(&mut self) -> Result<BTreeMap<String, usize>> {
        let mut file = std::fs::File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        self.at += u64::try_from(bytes.len())?;
        let mut pages = BTreeMap::new();
        let owners = self.owners()?;
        for frame in bytes.chunks_exact(WAL_FRAME_BYTES) {
            let (number, _) = frame.split_first_chunk::<4>().context("a short frame")?;
            // Page 1 holds the header of the file; free pages belong to no B-tree.
            let owner = match u32::from_be_bytes(*number) {
                1 => "(header)",
                number => owners.get(&number).map_or("(free)", String::as_str),
            };
            *pages.entry(owner.to_owned()).or_default() += 1;
        }
        Ok(pages)
    }

    fn owners(&self) -> Result<BTreeMap<u32, String>> {
        let mut statement = self.connection.prepare_cached("SELECT pageno, name FROM dbstat")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
