//! Random choices from a seed: the only source of variation in a simulation.

use meantime_kernel::random::{Entropy, SeededEntropy};

/// A seeded generator: the same seed gives the same choices.
#[derive(Debug)]
pub struct Randomness(SeededEntropy);

impl Randomness {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        // Neighbouring seeds start in unrelated states.
        Self(SeededEntropy::new(entropy.next()))
    }

    /// A separate stream: drawing more from one does not change the other.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(SeededEntropy::new(self.0.next()))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below a bound; zero if the bound is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        let bits = self.0.next() >> 1;
        usize::try_from(bits).unwrap_or_default().checked_rem(bound).unwrap_or_default()
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        let width = usize::try_from(to.saturating_sub(from)).unwrap_or_default();
        from.saturating_add(i64::try_from(self.below(width.saturating_add(1))).unwrap_or_default())
    }

    /// True with this probability in percent.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// True with this probability in hundredths of a percent.
    pub fn permyriad(&mut self, share: u32) -> bool {
        self.below(10_000) < share as usize
    }

    /// One of several; the slice must not be empty.
    pub fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        let place = self.below(of.len());
        of[place].clone()
    }

    /// One of several, or `None` if there are none.
    pub fn pick_optional<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_another_one_does_not() {
        let draw = |seed| {
            let mut rng = Randomness::new(seed);
            (0..8).map(|_| rng.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_eq!(Randomness::new(1).below(0), 0);
    }
}
