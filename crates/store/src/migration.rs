//! Migrations of a schema, in every database: numbered files that never change after their release.

use meantime_kernel::store::Error;
use sha2::{Digest, Sha256};

/// One migration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// The migrations of a back end: files of these names in its directory `migrations`.
macro_rules! migrations {
    ($($name:literal),+ $(,)?) => {
        &[$($crate::migration::Migration {
            name: $name,
            sql: include_str!(concat!("migrations/", $name)),
        }),+]
    };
}
pub(crate) use migrations;

impl Migration {
    /// The hash of its text, as `migrations.lock` has it.
    pub(crate) fn digest(&self) -> String {
        let hex = |byte: &u8| format!("{byte:02x}");
        Sha256::digest(self.sql).iter().map(hex).collect()
    }

    /// Compares the recorded hash with its text.
    pub(crate) fn verify(&self, recorded: Option<&str>) -> Result<(), Error> {
        if recorded == Some(self.digest().as_str()) {
            return Ok(());
        }
        let name = self.name;
        Err(Error::Corrupt(format!("migration {name} is not the one this store was made with")))
    }
}

/// How many migrations a store has had, unless a newer release created it.
pub(crate) fn check_known(found: u32, steps: &[Migration]) -> Result<u32, Error> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    if found > known { Err(Error::NewerSchema { found, known }) } else { Ok(found) }
}
