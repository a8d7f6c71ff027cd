//! One way in which a disk may look after the power was cut.

use std::collections::BTreeSet;

use meantime_disk::{DiskOp, OpKind};
use meantime_kernel::random::Entropy;

use super::sim_disk::{DiskFiles, SimDisk, apply_op};

/// Files as they are found afterwards, and what was done to those that were on their way.
#[derive(Debug, Default)]
pub(super) struct DiskImage {
    pub(super) files: DiskFiles,
    pub(super) dropped: usize,
    pub(super) torn: usize,
    pub(super) reordered: usize,
}

/// How the disk treats what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnsyncedFate {
    /// Nothing of it arrives.
    DropAll,
    /// All of it arrives: as if only the process had died.
    KeepAll,
    /// The oldest arrive, the next one is torn, the others are lost.
    Prefix,
    /// Each arrives or does not.
    Some,
    /// Each sector arrives or does not, in any order.
    Torn,
}

impl DiskImage {
    /// Cuts the power now.
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

    /// Lets some sectors of a write arrive. Another length arrives or does not.
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

/// Puts ops into another order; says how many have moved.
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

/// One or the other.
fn flip(entropy: &mut dyn Entropy) -> bool {
    entropy.next().is_multiple_of(2)
}

/// A number below a limit.
fn below(entropy: &mut dyn Entropy, limit: usize) -> usize {
    usize::try_from(entropy.next() >> 1).unwrap_or_default() % limit.max(1)
}
