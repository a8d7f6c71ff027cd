//! Distributions with fixed buckets.

/// How many buckets have an upper bound: 1, 2, 4 and so on, to half a million.
const BOUNDED_BUCKETS: usize = 20;

/// Counts of values by size. The bound of each bucket is twice that of the one before; the last
/// bucket has no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: [u64; BOUNDED_BUCKETS + 1],
    sum: u64,
}

impl Distribution {
    /// Adds a value.
    pub fn observe(&mut self, value: u64) {
        let bits = u64::BITS - value.saturating_sub(1).leading_zeros();
        let bucket = if value <= 1 { 0 } else { bits as usize };
        if let Some(count) = self.counts.get_mut(bucket.min(BOUNDED_BUCKETS)) {
            *count += 1;
        }
        self.sum = self.sum.saturating_add(value);
    }

    /// Upper bounds with the number of values in each bucket; the last has no bound.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = (0..BOUNDED_BUCKETS).map(|power| Some(1_u64 << power)).chain([None]);
        bounds.zip(self.counts)
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all values.
    pub const fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bucket_that_holds_it() {
        let mut seen = Distribution::default();
        for value in [0, 1, 2, 3, 4, 5, 524_288, 524_289, u64::MAX] {
            seen.observe(value);
        }
        let full: Vec<_> = seen.buckets().filter(|(_, count)| *count > 0).collect();
        let expected =
            [(Some(1), 2), (Some(2), 1), (Some(4), 2), (Some(8), 1), (Some(524_288), 1), (None, 2)];
        assert_eq!(full, expected);
        assert_eq!((seen.count(), seen.sum()), (9, u64::MAX));
    }
}
