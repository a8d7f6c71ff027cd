//! What the system knows of this process.

use std::path::Path;

/// Resident memory, in bytes.
pub(super) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or_default() * 1_024
}

/// Processor time used so far, in milliseconds: user and system, in ticks of a hundredth.
pub(super) fn processor_ms() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks * 10
}

/// The size of a file, in bytes; nothing when it is not there.
pub(super) fn file_bytes(path: &Path, suffix: &str) -> u64 {
    let name = format!("{}{suffix}", path.display());
    std::fs::metadata(name).map_or(0, |file| file.len())
}
