//! One possible content of a disk after the power was cut.

use std::collections::BTreeSet;

use meantime_disk::{DiskOp, OpKind};
use meantime_kernel::random::Entropy;

use super::sim_disk::{DiskFiles, SimDisk, apply_op};

/// The files after the cut, with counts of the unsynced writes that were dropped, torn or
/// reordered.
#[derive(Debug, Default)]
pub(super) struct DiskImage {
    pub(super) files: DiskFiles,
    pub(super) dropped: usize,
    pub(super) torn: usize,
    pub(super) reordered: usize,
}

/// What the disk does with writes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnsyncedFate {
    /// All of them are lost.
    DropAll,
    /// All of them are kept: as if only the process had died.
    KeepAll,
    /// The oldest are kept, the next one is torn, the others are lost.
    Prefix,
    /// Each is kept or lost.
    Some,
    /// Each sector is kept or lost, in any order.
    Torn,
}

impl DiskImage {
    /// The image of a disk whose power is cut now.
    pub(super) fn of(disk: &SimDisk, entropy: &mut dyn Entropy) -> Self {
        let manner = match entropy.next() % 8 {
            0 => UnsyncedFate::DropAll,
            1 => UnsyncedFate::KeepAll,
            2 | 3 => UnsyncedFate::Prefix,
            4 | 5 => UnsyncedFate::Some,
            _ => UnsyncedFate::Torn,
        };
        let mut image = Self { files: disk.durable().clone(), ..Self::default() };
        let mut pending: Vec<&DiskOp> = disk.pending().collect();
        if manner == UnsyncedFate::Torn || manner == UnsyncedFate::Some {
            image.reordered += shuffle(&mut pending, entropy);
        }
        let last = below(entropy, pending.len() + 1);
        for (place, op) in pending.into_iter().enumerate() {
            match manner {
                UnsyncedFate::KeepAll => image.keep(op),
                UnsyncedFate::Prefix if place < last => image.keep(op),
                UnsyncedFate::Some if flip(entropy) => image.keep(op),
                UnsyncedFate::Torn => image.tear(op, entropy),
                UnsyncedFate::Prefix if place == last => image.tear(op, entropy),
                UnsyncedFate::DropAll | UnsyncedFate::Some | UnsyncedFate::Prefix => {
                    image.dropped += 1;
                }
            }
        }
        image
    }

    fn keep(&mut self, op: &DiskOp) {
        let file = self.files.entry(op.file.clone()).or_default();
        apply_op(file, &op.kind, |_| true);
    }

    /// Keeps some sectors of a write. A truncation is kept or lost as a whole.
    fn tear(&mut self, op: &DiskOp, entropy: &mut dyn Entropy) {
        let (mut arrived, mut lost) = (0, 0);
        let file = self.files.entry(op.file.clone()).or_default();
        if let OpKind::Truncate { .. } = op.kind {
            if flip(entropy) {
                apply_op(file, &op.kind, |_| true);
            } else {
                self.dropped += 1;
            }
            return;
        }
        apply_op(file, &op.kind, |_| {
            let sector_arrives = flip(entropy);
            *(if sector_arrives { &mut arrived } else { &mut lost }) += 1;
            sector_arrives
        });
        match (arrived, lost) {
            (0, _) => self.dropped += 1,
            (_, 0) => {}
            _ => self.torn += 1,
        }
    }
}

/// Reorders operations; returns how many have moved.
fn shuffle(ops: &mut [&DiskOp], entropy: &mut dyn Entropy) -> usize {
    let mut moved = BTreeSet::new();
    for place in (1..ops.len()).rev() {
        let other = below(entropy, place + 1);
        if other != place {
            ops.swap(place, other);
            moved.extend([place, other]);
        }
    }
    moved.len()
}

/// True or false with equal probability.
fn flip(entropy: &mut dyn Entropy) -> bool {
    entropy.next().is_multiple_of(2)
}

/// A number below a limit.
fn below(entropy: &mut dyn Entropy, limit: usize) -> usize {
    usize::try_from(entropy.next() >> 1).unwrap_or_default() % limit.max(1)
}
