//! Figures of the operating system about a process.

use std::path::Path;

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
