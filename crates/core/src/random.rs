//! Deterministic pseudo-random numbers: the one mixing function behind every seed.
//!
//! Simulation, fuzzing, retry jitter and the random functions of the languages use it, so that a
//! seed gives the same numbers on every machine and in every release. It is not suitable for
//! secrets; real entropy comes from the kernel's random source.

use crate::InstanceId;

/// The step of the generator: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The `SplitMix64` generator: a counter whose values are mixed.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts with a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix64(self.0)
    }

    /// The value of the draw with this number, counted from 1, for callers that keep a counter.
    pub const fn nth(seed: u64, draw: u64) -> u64 {
        mix64(seed.wrapping_add(draw.wrapping_mul(STEP)))
    }
}

/// Spreads every bit of the input over the whole output; a bijection.
const fn mix64(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A seed for a point in the life of an instance, such as a turn and a draw in it. The order of the
/// parts matters.
pub fn instance_seed(instance: InstanceId, parts: &[u64]) -> u64 {
    let mut seed = instance.random() ^ instance.order().rotate_left(32);
    for part in parts {
        seed = (seed ^ part).wrapping_mul(STEP);
        seed ^= seed >> 29;
    }
    seed ^ (seed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds in bug reports, and jitter in stored timers, depend on these values: they never
    /// change.
    #[test]
    fn values_never_change() {
        let mut random = SplitMix64::new(0);
        let drawn = [random.next_u64(), random.next_u64(), random.next_u64()];
        // The reference implementation gives the same three.
        assert_eq!(drawn, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        let key = InstanceId::new(7, 9);
        assert_eq!(instance_seed(key, &[3, 4, 5]), 0xc485_52d3_69ed_ac9e);
        assert_eq!(instance_seed(key, &[]), 0x0000_0007_0000_000e);
    }

    #[test]
    fn a_numbered_draw_is_the_one_of_the_generator() {
        let mut random = SplitMix64::new(42);
        for draw in 1..=5 {
            assert_eq!(random.next_u64(), SplitMix64::nth(42, draw));
        }
    }

    #[test]
    fn the_order_of_parts_matters() {
        let key = InstanceId::new(7, 9);
        assert_ne!(instance_seed(key, &[1, 2]), instance_seed(key, &[2, 1]));
    }
}
