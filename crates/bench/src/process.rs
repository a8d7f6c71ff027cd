//! Figures of the operating system about a process.

use std::path::Path;

use super::report::float;

/// This process.
const SELF: &str = "self";

/// Resident memory of this process, in bytes.
pub(super) fn resident_bytes() -> u64 {
    resident_bytes_of(SELF)
}

/// Resident memory of another process, by its id.
pub(super) fn resident_bytes_of(process: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1_024
}

/// Processor time used so far, in milliseconds: user and system, in ticks of a hundredth.
pub(super) fn processor_ms() -> u64 {
    processor_ms_of(SELF)
}

/// Processor time of another process, by its id.
pub(super) fn processor_ms_of(process: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks * 10
}

/// The size of a file in bytes; zero if it does not exist.
pub(super) fn file_bytes(path: &Path, suffix: &str) -> u64 {
    let name = format!("{}{suffix}", path.display());
    std::fs::metadata(name).map_or(0, |file| file.len())
}

/// How much processor time the machine had since it started, and how much of it its host took away.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessorTime {
    all: u64,
    stolen: u64,
}

impl ProcessorTime {
    /// Until now, in ticks of a hundredth, over all cores.
    pub(super) fn now() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).map_while(|it| it.parse().ok()).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or_default() }
    }

    /// The share of the time since then that the host of a virtual machine took away. A figure that
    /// was measured meanwhile says as much about the neighbours of that machine as about this
    /// program.
    pub(super) fn stolen_share_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        float(self.stolen.saturating_sub(before.stolen)) / float(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        let before = ProcessorTime::parse("cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 1 2");
        let after = ProcessorTime::parse("cpu  150 0 150 750 0 0 0 150 0 0\ncpu0 1 2");
        assert!((after.stolen_share_since(before) - 0.25).abs() < 1e-9);
        let nothing_known = ProcessorTime::parse("");
        assert!(nothing_known.stolen_share_since(nothing_known) < 1e-9);
    }
}
