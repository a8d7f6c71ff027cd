//! Simulated clock, test notation, scenarios, crash harness and invariant checkers.
