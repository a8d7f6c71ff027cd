//! The only random source (I7), and the ids that are made from it.

use meantime_core::{IncidentId, InstanceId, SplitMix64, Timestamp};

use crate::store::NodeIndex;

/// A source of random numbers.
pub trait Entropy: Send {
    /// The next 64 random bits.
    fn next(&mut self) -> u64;
}

/// Random bits of the operating system, read in blocks.
#[derive(Debug, Default)]
pub struct SystemEntropy {
    block: Vec<u8>,
}

impl Entropy for SystemEntropy {
    fn next(&mut self) -> u64 {
        if self.block.len() < 8 {
            self.block.resize(4096, 0);
            getrandom::fill(&mut self.block).expect("the operating system has random bits");
        }
        let tail = self.block.split_off(self.block.len() - 8);
        tail.try_into().map_or(0, u64::from_le_bytes)
    }
}

/// Deterministic bits from a seed, for simulation and tests.
#[derive(Debug)]
pub struct SeededEntropy(SplitMix64);

impl SeededEntropy {
    /// Starts at a seed.
    pub const fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }
}

impl Entropy for SeededEntropy {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Generates ids and sequence numbers: strictly increasing, close to the time, never reused.
pub struct Ids {
    entropy: Box<dyn Entropy>,
    last: u64,
    node_index: Option<NodeIndex>,
}

/// The bits of a number that count within a millisecond.
pub(crate) const COUNTER_BITS: u32 = 15;

impl Ids {
    /// Continues after the largest number in use.
    pub fn new(entropy: Box<dyn Entropy>, last: u64) -> Self {
        Self { entropy, last, node_index: None }
    }

    /// Never returns a number up to this one again.
    pub fn skip_to(&mut self, last: u64) {
        self.last = self.last.max(last);
    }

    /// From now on returns only numbers of this node index: no other node returns them at the same
    /// time.
    pub fn use_node_index(&mut self, node_index: NodeIndex) {
        self.node_index = Some(node_index);
    }

    /// The next number: 48 bits of milliseconds and 15 bits that count within one. On a shared
    /// store the lowest bits are the node index.
    pub fn next(&mut self, now: Timestamp) -> u64 {
        let ms = u64::try_from(now.as_millis()).unwrap_or(0);
        let next = (self.last + 1).max((ms << COUNTER_BITS) & (u64::MAX >> 1));
        self.last = self.node_index.map_or(next, |NodeIndex(node_index)| {
            let (count, node_index) = (u64::from(NodeIndex::COUNT), u64::from(node_index));
            next + (node_index + count - next % count) % count
        });
        self.last
    }

    /// A new instance id.
    pub fn instance(&mut self, now: Timestamp) -> InstanceId {
        InstanceId::new(self.next(now), self.entropy.next())
    }

    /// A new incident id.
    pub fn incident(&mut self, now: Timestamp) -> IncidentId {
        IncidentId::new(self.next(now), self.entropy.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_increase_even_when_the_clock_stands_or_goes_back() {
        let mut ids = Ids::new(Box::new(SeededEntropy::new(1)), 0);
        let mut last = ids.instance(Timestamp::from_millis(1_000));
        for ms in [1_000, 1_000, 999, 0, 1_001] {
            let next = ids.instance(Timestamp::from_millis(ms));
            assert!(next > last);
            last = next;
        }
    }

    #[test]
    fn nodes_with_different_indexes_never_give_the_same_number() {
        let numbers = |node_index| {
            let mut ids = Ids::new(Box::new(SeededEntropy::new(1)), 77);
            ids.use_node_index(NodeIndex(node_index));
            (0..1_000).map(|it| ids.next(Timestamp::from_millis(it / 7))).collect::<Vec<_>>()
        };
        let (one, other) = (numbers(0), numbers(63));
        assert!(one.is_sorted() && other.is_sorted());
        assert!(one.iter().all(|it| !other.contains(it)));
        assert!(one.first() > Some(&77));
    }
}
