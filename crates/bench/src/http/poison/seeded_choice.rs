//! Choices that follow from a seed.

use meantime_kernel::random::{Entropy as _, SeededEntropy};

pub(super) struct SeededChoice(SeededEntropy);

impl SeededChoice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(SeededEntropy::new(seed))
    }

    /// A number from `least` to `most`, both included.
    pub(super) fn between(&mut self, least: usize, most: usize) -> usize {
        let drawn = usize::try_from(self.0.next() >> 1).unwrap_or_default();
        least + drawn % (most - least + 1)
    }

    /// Like [`Self::between`], but small numbers are as likely as large ones: the number of digits
    /// is drawn first.
    pub(super) fn magnitude(&mut self, least: usize, most: usize) -> usize {
        let mut most_here = least.max(1);
        let steps = (most / most_here).max(1).ilog2();
        for _ in 0..self.between(0, usize::try_from(steps).unwrap_or_default()) {
            most_here *= 2;
        }
        self.between(most_here, (most_here * 2).clamp(most_here, most.max(most_here)))
    }

    pub(super) fn coin_flip(&mut self) -> bool {
        self.between(0, 1) == 1
    }

    /// One of several choices; the slice must not be empty.
    #[expect(clippy::indexing_slicing, reason = "the number is below the length")]
    pub(super) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.between(0, choices.len() - 1)]
    }
}
