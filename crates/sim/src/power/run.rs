//! Cuts the power many times and looks at what is left.

use std::path::Path;
use std::sync::Arc;

use meantime_disk::{Op, What};
use meantime_kernel::command::{Command, StartCommand, Wait};
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::store::Store;
use meantime_store::sqlite::{Durability, Options, SqliteStore};

use super::image::Image;
use super::load::{FILE, Recording, record_load};
use super::platter::Platter;
use crate::audit::{Audit, When, audit};
use crate::harness::{Fate, World};

/// A mistake that the rig must find, made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// The engine as it is.
    None,
    /// `synchronous=NORMAL`: commits are not synced.
    Unsynced,
    /// Callers are answered when the commit is written and before it is synced.
    EarlyAnswer,
}

/// What was done and found.
#[derive(Debug, Clone, Default)]
pub struct PowerReport {
    /// Images that were looked at.
    pub images: usize,
    /// Writes that were lost in them, torn, and out of order.
    pub dropped: usize,
    /// Of these, in part only.
    pub torn: usize,
    /// That arrived in another order.
    pub reordered: usize,
    /// Acknowledgements that were looked for, over all images.
    pub acknowledged: usize,
    /// Images with which a new process went on.
    pub continued: usize,
    /// Acknowledged and not there.
    pub lost: Vec<String>,
    /// Damage, or a broken rule.
    pub wrong: Vec<String>,
}

/// How many images come from one recording.
const IMAGES_PER_LOAD: usize = 100;

/// Every so many images a new process goes on with one.
const CONTINUE_EVERY: usize = 10;

/// Settings that make everything happen often: the log is emptied again and again.
fn options(plant: Plant) -> Options {
    let durability =
        if plant == Plant::Unsynced { Durability::ProcessCrashOnly } else { Durability::Full };
    Options { durability, wal_limit: 512 << 10, readers: 2, ..Options::default() }
}

/// Makes images until there are so many, in a directory for scratch files.
///
/// # Panics
///
/// If scratch files cannot be written, or if no process can go on with a sound image.
pub fn cut_power(
    directory: &Path,
    seed: u64,
    images: usize,
    plant: Plant,
    mut progress: impl FnMut(&PowerReport),
) -> PowerReport {
    let mut entropy = SeededEntropy::new(seed);
    let mut report = PowerReport::default();
    while report.images < images {
        let here = tempfile::tempdir_in(directory).expect("a directory");
        let recording = record_load(here.path(), &options(plant), 8, 6);
        let count = (images - report.images).min(IMAGES_PER_LOAD);
        cuts(&recording, count, plant, &mut entropy, directory, &mut report);
        progress(&report);
    }
    report
}

fn cuts(
    recording: &Recording,
    count: usize,
    plant: Plant,
    entropy: &mut SeededEntropy,
    directory: &Path,
    report: &mut PowerReport,
) {
    let mut positions = positions(recording, count, entropy);
    positions.sort_unstable();
    let mut platter = Platter::new(recording.before.clone());
    let facts = match plant {
        Plant::EarlyAnswer => recording.facts.moved(|at| before_sync(&recording.ops, at)),
        Plant::None | Plant::Unsynced => recording.facts.clone(),
    };
    for position in positions {
        platter.advance_to(position, &recording.ops);
        let image = Image::of(&platter, entropy);
        let facts = facts.until(position);
        report.images += 1;
        report.dropped += image.dropped;
        report.torn += image.torn;
        report.reordered += image.reordered;
        report.acknowledged += facts.len();
        let here = tempfile::tempdir_in(directory).expect("a directory");
        for (name, bytes) in &image.files {
            std::fs::write(here.path().join(&**name), bytes).expect("written");
        }
        let path = here.path().join(FILE);
        let found = look(&path, plant, |store| audit(store, &facts, When::Anytime));
        let where_ = format!("cut at {position} of {}", recording.ops.len());
        match found {
            Ok(audit) => {
                if audit.is_clean() && report.images.is_multiple_of(CONTINUE_EVERY) {
                    go_on(&path);
                    report.continued += 1;
                }
                let Audit { lost, wrong, .. } = audit;
                report.lost.extend(lost.into_iter().map(|it| format!("{where_}: {it}")));
                report.wrong.extend(wrong.into_iter().map(|it| format!("{where_}: {it}")));
            }
            Err(error) => report.wrong.push(format!("{where_}: {error}")),
        }
    }
}

/// Where to cut: half of the time right before a sync, when most is at stake, else anywhere.
fn positions(recording: &Recording, count: usize, entropy: &mut SeededEntropy) -> Vec<usize> {
    let ops = recording.ops.iter().enumerate();
    let syncs: Vec<usize> =
        ops.filter(|(_, op)| matches!(op.what, What::Sync { .. })).map(|(at, _)| at).collect();
    let mut pick =
        |limit: usize| usize::try_from(entropy.next() >> 1).unwrap_or_default() % limit.max(1);
    (0..count)
        .map(|number| match syncs.get(pick(syncs.len())) {
            Some(sync) if number.is_multiple_of(2) => *sync,
            _ => pick(recording.ops.len() + 1),
        })
        .collect()
}

type Found<T> = Result<T, meantime_kernel::store::Error>;

/// Opens what is left with the settings of the process before: without syncs several transactions
/// may be torn, and none of them is damage.
fn look<T>(path: &Path, plant: Plant, look: impl FnOnce(&dyn Store) -> Found<T>) -> Found<T> {
    look(&SqliteStore::open(path, options(plant))?)
}

/// A new process works with what is left: it recovers, and an instance runs to its end.
fn go_on(path: &Path) {
    let store = SqliteStore::open(path, Options::default()).expect("it was open a moment ago");
    let mut world = World::with_probes(Arc::new(store), "probe after\nend \"done\"\n");
    let definition = "after".to_owned();
    let start = Command::Start(StartCommand { definition, ..StartCommand::default() });
    let (_, fate) = world.call(start, Wait::Quiet);
    assert!(matches!(fate, Fate::Answered(Ok(_))), "a start after the cut: {fate:?}");
}

/// Just before the sync of the log that an acknowledgement has waited for.
fn before_sync(ops: &[Op], position: usize) -> usize {
    let before = ops.get(..position).unwrap_or_default();
    let is_sync = |op: &Op| op.file.ends_with("-wal") && matches!(op.what, What::Sync { .. });
    before.iter().rposition(is_sync).unwrap_or(position)
}
