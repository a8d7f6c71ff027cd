//! Compares a run with the expected trace of its scenario.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meantime_kernel::store::MemoryStore;

use super::file::Scenario;
use super::player::play;

impl Scenario {
    /// The scenarios of a directory with their names, in the order of the names.
    pub fn all_in(directory: &Path) -> io::Result<Vec<(String, Self)>> {
        let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
        let is_scenario = |path: &PathBuf| {
            path.extension().is_some_and(|it| it == "md") && !path.ends_with("README.md")
        };
        let mut paths: Vec<PathBuf> =
            entries.iter().map(fs::DirEntry::path).filter(is_scenario).collect();
        paths.sort();
        let named = paths.iter().map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Ok((name, Self::read(path)?))
        });
        named.collect()
    }

    /// Plays the scenario on the in-memory store and compares the trace. If `UPDATE_EXPECT` is set,
    /// the trace is written into the file instead.
    pub fn check(&self) -> Result<(), String> {
        let trace = play(self, Arc::new(MemoryStore::new()), None).trace;
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            return self.rewrite(trace.trim_end()).map_err(|error| error.to_string());
        }
        self.compare(&trace)
    }

    /// Compares a trace with the expected one.
    pub fn compare(&self, trace: &str) -> Result<(), String> {
        let (expected, trace) = (self.trace.trim_end(), trace.trim_end());
        if trace == expected {
            return Ok(());
        }
        Err(format!("the trace differs:\n{}", difference(expected, trace)))
    }
}

/// The lines of both, with differences marked.
pub fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), actual.lines().collect());
    let mut lines = Vec::new();
    for number in 0..expected.len().max(actual.len()) {
        match (expected.get(number), actual.get(number)) {
            (Some(one), Some(other)) if one == other => lines.push(format!("  {one}")),
            (one, other) => {
                lines.extend(one.map(|one| format!("- {one}")));
                lines.extend(other.map(|other| format!("+ {other}")));
            }
        }
    }
    lines.join("\n")
}
