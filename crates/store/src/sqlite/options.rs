//! Options of a SQLite store.

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Power loss: every commit is synced before it is answered.
    #[default]
    Full,
    /// The end of the process, but not of the machine: the last commits before a power loss may be
    /// lost. Nothing is damaged; what is left is an earlier consistent state.
    ProcessCrashOnly,
}

impl Durability {
    /// The value of `PRAGMA synchronous`.
    pub(super) const fn synchronous(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::ProcessCrashOnly => "NORMAL",
        }
    }
}

/// Options of a SQLite store. The defaults are what a server should use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What a commit survives.
    pub durability: Durability,
    /// Page cache of the writer, in bytes.
    pub writer_cache: u64,
    /// Page cache of each reader, in bytes.
    pub reader_cache: u64,
    /// How many reads can run at a time.
    pub readers: usize,
    /// The length of the write-ahead log at which the writer itself checkpoints it, in bytes.
    /// Background checkpoints start at a sixteenth of it.
    pub wal_limit: u64,
    /// The largest number of units in one transaction.
    pub group_limit: usize,
    /// The largest size of the file, in bytes; `None` means as large as the disk allows.
    pub max_size: Option<u64>,
    /// Opens the store although its write-ahead log is damaged before its end. Everything from the
    /// damage on is lost.
    pub accept_damaged_wal: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            writer_cache: 32 << 20,
            reader_cache: 4 << 20,
            readers: 4,
            wal_limit: 256 << 20,
            group_limit: 4_096,
            max_size: None,
            accept_damaged_wal: false,
        }
    }
}
