//! Processor time and memory of a process and its descendants, and of the whole machine, from
//! `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use anyhow::{Context, Result};

/// Ticks of `/proc/PID/stat` in a second; a constant of Linux on all common platforms.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process with the name that its figures have in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProcess {
    /// What it is called.
    pub name: String,
    /// Its id.
    pub id: u32,
}

impl FromStr for NamedProcess {
    type Err = anyhow::Error;

    /// Reads `NAME=PID`.
    fn from_str(text: &str) -> Result<Self> {
        let (name, id) = text.split_once('=').context("write NAME=PID")?;
        Ok(Self { name: name.to_owned(), id: id.parse().context("not the id of a process")? })
    }
}

impl NamedProcess {
    /// The seconds of processor time that this process and all its descendants, also those that
    /// have ended, have used.
    pub fn processor_seconds(&self) -> f64 {
        let entries = processes();
        let ticks: u64 = tree(&entries, self.id).iter().map(|id| entries[id].ticks).sum();
        float(ticks) / TICKS_PER_SECOND
    }

    /// Resident memory of this process and its descendants, in MiB. Shared pages count for each.
    pub fn resident_mib(&self) -> f64 {
        let kib: u64 = tree(&processes(), self.id).into_iter().map(resident_kib).sum();
        float(kib) / 1_024.0
    }
}

/// The seconds of processor time that all processes of the machine have used on all cores.
pub fn machine_seconds() -> f64 {
    float(busy_ticks(&std::fs::read_to_string("/proc/stat").unwrap_or_default())) / TICKS_PER_SECOND
}

/// User, nice and system time of the first line, which is about all cores.
fn busy_ticks(stat: &str) -> u64 {
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    fields.skip(1).take(3).map_while(|field| field.parse::<u64>().ok()).sum()
}

/// What is needed of `/proc/PID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    parent: u32,
    ticks: u64,
}

fn processes() -> BTreeMap<u32, Entry> {
    let mut found = BTreeMap::new();
    for directory in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = directory.file_name();
        let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process may end meanwhile.
        let text = std::fs::read_to_string(directory.path().join("stat")).unwrap_or_default();
        if let Some(entry) = parse(&text) {
            found.insert(id, entry);
        }
    }
    found
}

/// The name of the process may contain anything, so fields count from the bracket that ends it.
fn parse(stat: &str) -> Option<Entry> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    // User and system time, then those of children that have ended.
    let ticks = fields.skip(9).take(4).map_while(|field| field.parse::<u64>().ok()).sum();
    Some(Entry { parent, ticks })
}

/// A process and its descendants.
fn tree(entries: &BTreeMap<u32, Entry>, root: u32) -> BTreeSet<u32> {
    let mut members = BTreeSet::from([root]);
    members.retain(|id| entries.contains_key(id));
    loop {
        let children = entries.iter().filter(|(_, entry)| members.contains(&entry.parent));
        let more: Vec<u32> = children.map(|(id, _)| *id).collect();
        let before = members.len();
        members.extend(more);
        if members.len() == before {
            return members;
        }
    }
}

fn resident_kib(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "ticks and sizes of a measurement are small")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_those_of_the_process_and_of_its_ended_children() {
        let stat = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 50 60 7 8 20 0 1 0 9";
        assert_eq!(parse(stat), Some(Entry { parent: 3, ticks: 125 }));
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_machine_is_busy_in_three_ways() {
        assert_eq!(busy_ticks("cpu  100 20 3 4000 500 60 7 8 9 10\ncpu0 1 2 3"), 123);
        assert_eq!(busy_ticks(""), 0);
        assert!(machine_seconds() > 0.0);
    }

    #[test]
    fn a_tree_has_all_descendants_and_nobody_else() {
        let entry = |parent| Entry { parent, ticks: 1 };
        let entries = BTreeMap::from([(1, entry(0)), (5, entry(1)), (3, entry(5)), (4, entry(3))]);
        assert_eq!(tree(&entries, 5), BTreeSet::from([3, 4, 5]));
        assert!(tree(&entries, 9).is_empty());
    }

    #[test]
    fn this_process_has_memory() {
        let this = NamedProcess { name: "this".to_owned(), id: std::process::id() };
        assert!(this.resident_mib() > 0.1);
    }
}
