//! What turns of a definition cost, guessed from the last ones.

use std::collections::BTreeMap;
use std::time::Duration;

use meantime_core::DefinitionId;

/// What is cheaper is not worth remembering.
const NOTHING: Duration = Duration::from_micros(20);

/// What is left of what is known after another turn: an eighth is forgotten.
const KEPT: u32 = 7;

/// Of each definition the cost of a turn, on average. An average, because a cheap turn can meet a
/// page fault, an interrupt or a cold cache, and that must not put its definition behind those that
/// really take long: there nothing would be computed that could show that it is cheap. A turn that
/// has used up the patience of its batch counts at once and whole. A definition that is not known
/// costs nothing.
#[derive(Debug, Default)]
pub(super) struct Costs(BTreeMap<DefinitionId, Duration>);

impl Costs {
    /// What the next turn will cost.
    pub(super) fn of(&self, definition: DefinitionId) -> Duration {
        self.0.get(&definition).copied().unwrap_or_default()
    }

    /// A turn cost so much.
    pub(super) fn saw(&mut self, definition: DefinitionId, cost: Duration) {
        let known = self.of(definition);
        if known.is_zero() && cost < NOTHING {
            return;
        }
        let average = (known * KEPT + cost) / (KEPT + 1);
        self.set(definition, average);
    }

    /// A turn has cost so much and is not through.
    pub(super) fn at_least(&mut self, definition: DefinitionId, cost: Duration) {
        self.set(definition, self.of(definition).max(cost));
    }

    fn set(&mut self, definition: DefinitionId, cost: Duration) {
        if cost < NOTHING {
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
