//! One way in which a disk may look after the power was cut.

use std::collections::BTreeSet;

use meantime_disk::{Op, What};
use meantime_kernel::random::Entropy;

use super::platter::{Files, Platter, perform};

/// Files as they are found afterwards, and what was done to those that were on their way.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) files: Files,
    pub(super) dropped: usize,
    pub(super) torn: usize,
    pub(super) reordered: usize,
}

/// How the disk treats what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
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

impl Image {
    /// Cuts the power now.
    pub(super) fn of(platter: &Platter, entropy: &mut dyn Entropy) -> Self {
        let manner = match entropy.next() % 8 {
            0 => Manner::DropAll,
            1 => Manner::KeepAll,
            2 | 3 => Manner::Prefix,
            4 | 5 => Manner::Some,
            _ => Manner::Torn,
        };
        let mut image = Self { files: platter.durable().clone(), ..Self::default() };
        let mut pending: Vec<&Op> = platter.pending().collect();
        if manner == Manner::Torn || manner == Manner::Some {
            image.reordered += shuffle(&mut pending, entropy);
        }
        let last = below(entropy, pending.len() + 1);
        for (place, op) in pending.into_iter().enumerate() {
            match manner {
                Manner::KeepAll => image.keep(op),
                Manner::Prefix if place < last => image.keep(op),
                Manner::Some if flip(entropy) => image.keep(op),
                Manner::Torn => image.tear(op, entropy),
                Manner::Prefix if place == last => image.tear(op, entropy),
                Manner::DropAll | Manner::Some | Manner::Prefix => image.dropped += 1,
            }
        }
        image
    }

    fn keep(&mut self, op: &Op) {
        let file = self.files.entry(op.file.clone()).or_default();
        perform(file, &op.what, |_| true);
    }

    /// Lets some sectors of a write arrive. Another length arrives or does not.
    fn tear(&mut self, op: &Op, entropy: &mut dyn Entropy) {
        let (mut arrived, mut lost) = (0, 0);
        let file = self.files.entry(op.file.clone()).or_default();
        if let What::Truncate { .. } = op.what {
            if flip(entropy) {
                perform(file, &op.what, |_| true);
            } else {
                self.dropped += 1;
            }
            return;
        }
        perform(file, &op.what, |_| {
            let reaches = flip(entropy);
            *(if reaches { &mut arrived } else { &mut lost }) += 1;
            reaches
        });
        match (arrived, lost) {
            (0, _) => self.dropped += 1,
            (_, 0) => {}
            _ => self.torn += 1,
        }
    }
}

/// Puts ops into another order; says how many have moved.
fn shuffle(ops: &mut [&Op], entropy: &mut dyn Entropy) -> usize {
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
