//! The choices of one fuzz case, from a seed and the number of the case.

use meantime_core::SplitMix64;

/// The choices of one case.
#[derive(Debug, Clone)]
pub struct CaseRandom {
    state: SplitMix64,
}

impl CaseRandom {
    /// The random numbers of one case.
    pub fn new(seed: u64, case: u64) -> Self {
        Self { state: SplitMix64::new(SplitMix64::nth(seed, case)) }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state.next_u64()
    }

    /// A number below `limit`; zero if the limit is zero.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next_u64() % limit).unwrap_or(0)
    }

    /// One of the items; `None` if there are none.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> Option<&'a T> {
        items.get(self.below(items.len())).copied()
    }

    /// True once in `times` calls, on average.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
