//! Cuts the power many times and audits what is left.

use std::path::Path;
use std::sync::Arc;

use meantime_disk::{DiskOp, OpKind};
use meantime_kernel::command::{Command, StartCommand, Wait};
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::store::Store;
use meantime_store::sqlite::{Durability, Options, SqliteStore};

use super::disk_image::DiskImage;
use super::recording::{DATABASE_FILE, Recording, record_load};
use super::sim_disk::SimDisk;
use crate::audit::{Audit, AuditPoint, audit};
use crate::harness::{CallStatus, SimKernel};

/// A fault that the rig must detect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// No fault.
    None,
    /// `synchronous=NORMAL`: commits are not synced.
    Unsynced,
    /// Callers are answered when the commit is written, before it is synced.
    EarlyAck,
}

/// What was done and found.
#[derive(Debug, Clone, Default)]
pub struct PowerReport {
    /// Images that were audited.
    pub images: usize,
    /// Writes that were lost.
    pub dropped: usize,
    /// Writes of which only a part was kept.
    pub torn: usize,
    /// Writes that reached the disk in another order.
    pub reordered: usize,
    /// Acknowledgements that were checked, over all images.
    pub acknowledged: usize,
    /// Images on which a new process continued.
    pub continued: usize,
    /// Acknowledged, but missing from the store.
    pub lost: Vec<String>,
    /// Damage, or another violation.
    pub problems: Vec<String>,
}

/// Images per recording.
const IMAGES_PER_RECORDING: usize = 100;

/// A new process continues to work on every n-th image.
const IMAGES_PER_CONTINUATION: usize = 10;

/// Options with a small log, so that checkpoints happen often.
fn store_options(fault: InjectedFault) -> Options {
    let durability = if fault == InjectedFault::Unsynced {
        Durability::ProcessCrashOnly
    } else {
        Durability::Full
    };
    Options { durability, wal_limit: 512 << 10, readers: 2, ..Options::default() }
}

/// Creates and audits `images` images, in a directory for scratch files.
///
/// # Panics
///
/// If scratch files cannot be written, or if a process cannot continue on a sound image.
pub fn cut_power(
    directory: &Path,
    seed: u64,
    images: usize,
    fault: InjectedFault,
    mut progress: impl FnMut(&PowerReport),
) -> PowerReport {
    let mut entropy = SeededEntropy::new(seed);
    let mut report = PowerReport::default();
    while report.images < images {
        let here = tempfile::tempdir_in(directory).expect("a directory");
        let recording = record_load(here.path(), &store_options(fault), 8, 6);
        let count = (images - report.images).min(IMAGES_PER_RECORDING);
        cut_recording(&recording, count, fault, &mut entropy, directory, &mut report);
        progress(&report);
    }
    report
}

fn cut_recording(
    recording: &Recording,
    count: usize,
    fault: InjectedFault,
    entropy: &mut SeededEntropy,
    directory: &Path,
    report: &mut PowerReport,
) {
    let mut cut_positions = cut_positions(recording, count, entropy);
    cut_positions.sort_unstable();
    let mut disk = SimDisk::new(recording.before.clone());
    let acknowledged = match fault {
        InjectedFault::EarlyAck => {
            recording.acknowledged.with_positions(|at| position_before_sync(&recording.ops, at))
        }
        InjectedFault::None | InjectedFault::Unsynced => recording.acknowledged.clone(),
    };
    for position in cut_positions {
        disk.advance_to(position, &recording.ops);
        let image = DiskImage::of(&disk, entropy);
        let acknowledged = acknowledged.until(position);
        report.images += 1;
        report.dropped += image.dropped;
        report.torn += image.torn;
        report.reordered += image.reordered;
        report.acknowledged += acknowledged.len();
        let here = tempfile::tempdir_in(directory).expect("a directory");
        for (name, bytes) in &image.files {
            std::fs::write(here.path().join(&**name), bytes).expect("written");
        }
        let path = here.path().join(DATABASE_FILE);
        let found =
            open_image(&path, fault, |store| audit(store, &acknowledged, AuditPoint::Anytime));
        let cut = format!("cut at {position} of {}", recording.ops.len());
        match found {
            Ok(audit) => {
                if audit.is_clean() && report.images.is_multiple_of(IMAGES_PER_CONTINUATION) {
                    continue_from(&path);
                    report.continued += 1;
                }
                let Audit { lost, problems, .. } = audit;
                report.lost.extend(lost.into_iter().map(|it| format!("{cut}: {it}")));
                report.problems.extend(problems.into_iter().map(|it| format!("{cut}: {it}")));
            }
            Err(error) => report.problems.push(format!("{cut}: {error}")),
        }
    }
}

/// Positions of the cuts: half of them right before a sync, when most is unsynced, the others
/// anywhere.
fn cut_positions(recording: &Recording, count: usize, entropy: &mut SeededEntropy) -> Vec<usize> {
    let ops = recording.ops.iter().enumerate();
    let syncs: Vec<usize> =
        ops.filter(|(_, op)| matches!(op.kind, OpKind::Sync { .. })).map(|(at, _)| at).collect();
    let mut pick =
        |limit: usize| usize::try_from(entropy.next() >> 1).unwrap_or_default() % limit.max(1);
    (0..count)
        .map(|number| match syncs.get(pick(syncs.len())) {
            Some(sync) if number.is_multiple_of(2) => *sync,
            _ => pick(recording.ops.len() + 1),
        })
        .collect()
}

type StoreResult<T> = Result<T, meantime_kernel::store::Error>;

/// Opens an image with the options of the process that wrote it: without syncs several transactions
/// may be torn, and SQLite must not report that as damage.
fn open_image<T>(
    path: &Path,
    fault: InjectedFault,
    open_image: impl FnOnce(&dyn Store) -> StoreResult<T>,
) -> StoreResult<T> {
    open_image(&SqliteStore::open(path, store_options(fault))?)
}

/// A new process recovers the image and runs an instance to its end.
fn continue_from(path: &Path) {
    let store = SqliteStore::open(path, Options::default()).expect("it was open a moment ago");
    let mut sim = SimKernel::with_probes(Arc::new(store), "probe after\nend \"done\"\n");
    let definition = "after".to_owned();
    let start = Command::Start(StartCommand { definition, ..StartCommand::default() });
    let (_, status) = sim.call(start, Wait::Quiet);
    assert!(matches!(status, CallStatus::Answered(Ok(_))), "a start after the cut: {status:?}");
}

/// The position just before the sync of the log that an acknowledgement has waited for.
fn position_before_sync(ops: &[DiskOp], position: usize) -> usize {
    let before = ops.get(..position).unwrap_or_default();
    let is_sync = |op: &DiskOp| op.file.ends_with("-wal") && matches!(op.kind, OpKind::Sync { .. });
    before.iter().rposition(is_sync).unwrap_or(position)
}
