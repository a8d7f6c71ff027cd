//! Checks the write-ahead log that an ended process left, before SQLite reads it.
//!
//! ```text
//!   header │ frame … frame+commit │ frame … frame+commit │ frame ✗ frame … (frame+commit)
//!           └─── each checksum builds on those before ───┘ the chain ends here
//! ```
//!
//! SQLite follows the chain of checksums, assumes that everything after its end is a transaction
//! that was being written during a power loss, and drops it silently. That is correct for the last
//! transaction, because each one is synced before the next begins. If a commit after the break is
//! followed by another frame, acknowledged commits are damaged.
//!
//! If a start finds frames after the end of the chain, the log is reset afterwards, so that the
//! remains of one power loss cannot look like damage after the next one.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use meantime_kernel::store::Error;

use super::options::{Durability, Options};

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The magic number of a log; its lowest bit gives the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;

/// The result of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WalReport {
    /// Frames up to the end of the chain.
    pub(super) valid_frames: u64,
    /// Whether frames of the same log follow it.
    pub(super) has_tail: bool,
    /// Commits after the end of the chain that were followed by another transaction: they had been
    /// acknowledged.
    pub(super) lost_commits: u64,
    /// The header does not match its checksum.
    pub(super) is_headless: bool,
}

impl WalReport {
    /// The damage, as text.
    pub(super) fn damage(&self) -> Option<String> {
        if self.is_headless {
            return Some("the header of the write-ahead log is damaged".to_owned());
        }
        let (frame, lost_commits) = (self.valid_frames + 1, self.lost_commits);
        (lost_commits > 0).then(|| {
            let what = format!("at least {lost_commits} commits follow");
            format!("the write-ahead log is damaged at frame {frame}; {what}")
        })
    }
}

impl WalReport {
    /// Refuses a damaged log. Without a sync after every commit, a power loss may tear several
    /// transactions, and damage cannot be distinguished from that.
    pub(super) fn accept(&self, options: &Options) -> Result<(), Error> {
        let is_synced = options.durability == Durability::Full;
        match self.damage() {
            Some(damage) if is_synced && !options.accept_damaged_wal => Err(Error::Corrupt(damage)),
            _ => Ok(()),
        }
    }
}

/// Reads a log. A missing or empty log is sound.
pub(super) fn inspect(path: &Path) -> Result<WalReport, Error> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(WalReport::default()),
        opened => opened.map_err(|error| io(path, &error))?,
    };
    read(std::io::BufReader::with_capacity(1 << 20, file)).map_err(|error| io(path, &error))
}

fn io(path: &Path, error: &std::io::Error) -> Error {
    Error::Unavailable(format!("{}: {error}", path.display()))
}

/// The running checksum of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct WalChecksum(u32, u32);

impl WalChecksum {
    fn add(self, bytes: &[u8], is_big: bool) -> Self {
        let number = |word: &[u8]| {
            let word = word.try_into().unwrap_or_default();
            if is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let Self(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            let (one, other) = pair.split_at(4);
            first = first.wrapping_add(number(one)).wrapping_add(second);
            second = second.wrapping_add(number(other)).wrapping_add(first);
        }
        Self(first, second)
    }

    fn stored(bytes: &[u8], at: usize) -> Self {
        Self(word(bytes, at), word(bytes, at + 4))
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..at + 4).and_then(|it| it.try_into().ok());
    u32::from_be_bytes(bytes.unwrap_or_default())
}

fn read(mut log: impl Read + Seek) -> std::io::Result<WalReport> {
    let length = log.seek(SeekFrom::End(0))?;
    log.seek(SeekFrom::Start(0))?;
    let mut header = [0; HEADER];
    if length < HEADER as u64 {
        return Ok(WalReport::default());
    }
    log.read_exact(&mut header)?;
    if header == [0; HEADER] {
        return Ok(WalReport::default());
    }
    let magic = word(&header, 0);
    let is_big = magic & 1 == 1;
    let page = word(&header, 8) as usize;
    let mut checksum = WalChecksum::default().add(&header[..24], is_big);
    let is_sound = magic & !1 == MAGIC
        && checksum == WalChecksum::stored(&header, 24)
        && page.is_power_of_two()
        && (512..=65_536).contains(&page);
    if !is_sound {
        return Ok(WalReport { is_headless: true, ..WalReport::default() });
    }
    let salts = &header[16..24];
    let mut report = WalReport::default();
    let mut is_chained = true;
    // Commits after the end of the chain; the last one may belong to the last, unacknowledged
    // transaction.
    let mut behind = 0;
    let mut frame = vec![0; FRAME + page];
    let frames = (length - HEADER as u64) / frame.len() as u64;
    for _ in 0..frames {
        log.read_exact(&mut frame)?;
        let (head, data) = frame.split_at(FRAME);
        let is_of_log = &head[8..16] == salts;
        if is_chained {
            let next = checksum.add(&head[..8], is_big).add(data, is_big);
            is_chained = is_of_log && word(head, 0) != 0 && next == WalChecksum::stored(head, 16);
            if is_chained {
                checksum = next;
                report.valid_frames += 1;
                continue;
            }
        }
        if is_of_log {
            // All commits before this frame were followed by it, so they had been acknowledged.
            report.lost_commits = behind;
            report.has_tail = true;
            behind += u64::from(word(head, 4) != 0);
        }
    }
    Ok(report)
}

/// The size of a page in logs of tests.
#[cfg(any(test, feature = "fuzz"))]
const PAGE: usize = 512;

/// A log with transactions of the given numbers of frames.
#[cfg(any(test, feature = "fuzz"))]
pub(super) fn log_of_transactions(transactions: &[usize]) -> Vec<u8> {
    let mut log = Vec::new();
    for word in [MAGIC, 3_007_000, 512, 0, 17, 4_711] {
        log.extend(word.to_be_bytes());
    }
    let mut checksum = WalChecksum::default().add(&log, false);
    log.extend([checksum.0.to_be_bytes(), checksum.1.to_be_bytes()].concat());
    let mut number = 0_u32;
    for frames in transactions {
        for frame in 1..=*frames {
            number += 1;
            let commit = if frame == *frames { 9_u32 } else { 0 };
            let head = [u32::to_be_bytes(number), commit.to_be_bytes()].concat();
            let data = vec![number.to_be_bytes()[3]; PAGE];
            checksum = checksum.add(&head, false).add(&data, false);
            log.extend(head);
            log.extend([17_u32.to_be_bytes(), 4_711_u32.to_be_bytes()].concat());
            log.extend([checksum.0.to_be_bytes(), checksum.1.to_be_bytes()].concat());
            log.extend(data);
        }
    }
    log
}

/// Reads a log that is in memory.
#[cfg(any(test, feature = "fuzz"))]
pub(super) fn report(log: &[u8]) -> WalReport {
    read(std::io::Cursor::new(log)).expect("memory can be read")
}

#[cfg(test)]
mod tests {
    use super::log_of_transactions as log;
    use super::*;

    /// The position of a byte of a frame's page; frames count from 1.
    fn in_frame(frame: usize, at: usize) -> usize {
        HEADER + (frame - 1) * (FRAME + PAGE) + at
    }

    #[test]
    fn a_log_without_damage_is_whole() {
        let valid_frames = WalReport { valid_frames: 6, ..WalReport::default() };
        assert_eq!(report(&log(&[1, 3, 2])), valid_frames);
        assert_eq!(report(&[]), WalReport::default());
        assert_eq!(report(&[0; 5_000]), WalReport::default());
    }

    #[test]
    fn the_torn_end_of_a_log_is_no_damage() {
        for at in [0, 9, FRAME + 100] {
            for frame in 4..=6 {
                let mut torn = log(&[1, 2, 3]);
                torn[in_frame(frame, at)] ^= 0xff;
                let report = report(&torn);
                assert_eq!(
                    (report.valid_frames, report.lost_commits),
                    (frame as u64 - 1, 0),
                    "{frame} {at}"
                );
                assert_eq!(report.damage(), None);
            }
        }
        let mut cut = log(&[1, 2, 3]);
        cut.truncate(cut.len() - 7);
        assert_eq!(report(&cut), WalReport { valid_frames: 5, ..WalReport::default() });
    }

    #[test]
    fn damage_before_the_last_transaction_is_found() {
        for frame in 1..=3 {
            let mut damaged = log(&[1, 2, 3]);
            damaged[in_frame(frame, FRAME + 7)] ^= 1;
            let report = report(&damaged);
            let lost_commits = if frame == 1 { 2 } else { 1 };
            assert_eq!(
                (report.valid_frames, report.lost_commits),
                (frame as u64 - 1, lost_commits),
                "{frame}"
            );
            assert!(report.damage().is_some());
        }
    }

    #[test]
    fn a_sector_of_nothing_hides_nothing() {
        let mut damaged = log(&[1, 2, 1, 2]);
        let frame = in_frame(2, 0);
        damaged[frame..frame + FRAME + PAGE].fill(0);
        assert_eq!((report(&damaged).valid_frames, report(&damaged).lost_commits), (1, 2));
    }

    #[test]
    fn frames_of_an_earlier_log_count_for_nothing() {
        let mut older = log(&[1, 2, 3]);
        for frame in 3..=6 {
            older[in_frame(frame, 8)] ^= 1;
        }
        assert_eq!(report(&older), WalReport { valid_frames: 2, ..WalReport::default() });
    }

    #[test]
    fn a_header_that_is_damaged_is_told() {
        let mut damaged = log(&[1]);
        damaged[9] ^= 1;
        assert!(report(&damaged).damage().is_some());
    }
}
