//! Estimates of the cost of turns, per definition.

use std::collections::BTreeMap;
use std::time::Duration;

use meantime_core::DefinitionId;

/// Cheaper turns are not recorded.
const MIN_RECORDED_COST: Duration = Duration::from_micros(20);

/// Weight of the old average, in eighths: a new turn replaces an eighth of it.
const OLD_AVERAGE_WEIGHT: u32 = 7;

/// The average cost of a turn of each definition. An average, because a single page fault,
/// interrupt or cold cache must not send a cheap definition to the slow lane, where hardly anything
/// would be computed that could show that it is cheap. A turn that exceeds the patience of its
/// batch counts fully at once. An unknown definition costs nothing.
#[derive(Debug, Default)]
pub(super) struct Costs(BTreeMap<DefinitionId, Duration>);

impl Costs {
    /// The estimated cost of the next turn.
    pub(super) fn of(&self, definition: DefinitionId) -> Duration {
        self.0.get(&definition).copied().unwrap_or_default()
    }

    /// Adds the cost of a turn.
    pub(super) fn saw(&mut self, definition: DefinitionId, cost: Duration) {
        let known = self.of(definition);
        if known.is_zero() && cost < MIN_RECORDED_COST {
            return;
        }
        let average = (known * OLD_AVERAGE_WEIGHT + cost) / (OLD_AVERAGE_WEIGHT + 1);
        self.set(definition, average);
    }

    /// A running turn has cost at least this much.
    pub(super) fn at_least(&mut self, definition: DefinitionId, cost: Duration) {
        self.set(definition, self.of(definition).max(cost));
    }

    fn set(&mut self, definition: DefinitionId, cost: Duration) {
        if cost < MIN_RECORDED_COST {
            self.0.remove(&definition);
        } else {
            self.0.insert(definition, cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: DefinitionId = DefinitionId(1);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn turns_that_are_cheap_and_costly_by_turns_are_costly() {
        let mut costs = Costs::default();
        (0..10).for_each(|_| {
            costs.saw(ONE, ms(8));
            costs.saw(ONE, Duration::ZERO);
            assert!(costs.of(ONE) > Duration::from_micros(500), "the next one is costly");
        });
        (0..20).for_each(|_| costs.saw(ONE, Duration::ZERO));
        assert!(costs.of(ONE) < Duration::from_micros(500));
        (0..30).for_each(|_| costs.saw(ONE, Duration::ZERO));
        assert!(costs.0.is_empty(), "what costs nothing takes no room");
    }

    #[test]
    fn one_accident_does_not_make_a_definition_costly() {
        let mut costs = Costs::default();
        (0..10).for_each(|_| costs.saw(ONE, Duration::from_micros(40)));
        costs.saw(ONE, ms(2));
        assert!(costs.of(ONE) < Duration::from_micros(500), "{:?}", costs.of(ONE));
        (0..10).for_each(|_| costs.saw(ONE, ms(2)));
        assert!(costs.of(ONE) > ms(1), "what happens again and again is no accident");
    }

    #[test]
    fn a_turn_that_is_not_through_counts_at_once() {
        let mut costs = Costs::default();
        costs.at_least(ONE, ms(10));
        costs.at_least(ONE, ms(5));
        assert_eq!(costs.of(ONE), ms(10));
        assert_eq!(costs.of(DefinitionId(2)), Duration::ZERO);
    }
}
