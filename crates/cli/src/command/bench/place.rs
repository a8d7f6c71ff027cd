//! Where a bench keeps its data.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The store to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// New files in a directory.
    Sqlite(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("postgres:") || text.starts_with("postgresql:") {
            return Err("this build has no PostgreSQL store yet".to_owned());
        }
        let path = PathBuf::from(text.strip_prefix("sqlite:").unwrap_or(text));
        if path.is_dir() {
            Ok(Self::Sqlite(path))
        } else {
            Err(format!("{} is not a directory", path.display()))
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Sqlite(directory) = self;
        write!(f, "SQLite in {}", directory.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_needed_and_a_store_must_exist() {
        assert_eq!("sqlite:.".parse(), Ok(Place::Sqlite(".".into())));
        assert_eq!(".".parse(), Ok(Place::Sqlite(".".into())));
        assert!("sqlite:no/such/place".parse::<Place>().is_err());
    }
}
