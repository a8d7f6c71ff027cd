//! The list of all cases, and functions that run them.

use meantime_kernel::store::Store;

use super::bench::Bench;
use super::{
    channel, child, definition, history, inbox, incident, instance, purge, read, request, search,
    task, timer, upkeep,
};

/// One case.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The entity that it tests.
    pub entity: &'static str,
    /// What it shows, as a sentence.
    pub name: &'static str,
    body: fn(&Bench<'_>),
}

impl Case {
    pub(super) const fn new(
        entity: &'static str,
        name: &'static str,
        body: fn(&Bench<'_>),
    ) -> Self {
        Self { entity, name, body }
    }

    /// Runs the case on an empty store.
    ///
    /// # Panics
    ///
    /// If the store does not behave as the case says.
    pub fn run(&self, store: &dyn Store) {
        (self.body)(&Bench::new(store));
    }
}

/// Makes the list of a file: every function is a case with its own name.
macro_rules! declare {
    ($entity:literal: $($case:ident),+ $(,)?) => {
        pub(super) const CASES: &[$crate::conformance::Case] = &[
            $($crate::conformance::Case::new($entity, stringify!($case), $case)),+
        ];
    };
}
pub(super) use declare;

/// Every case, by entity.
pub fn cases() -> Vec<Case> {
    let lists = [
        instance::CASES,
        request::CASES,
        child::CASES,
        inbox::CASES,
        timer::CASES,
        task::CASES,
        channel::CASES,
        definition::CASES,
        history::CASES,
        incident::CASES,
        read::CASES,
        search::CASES,
        purge::CASES,
        upkeep::CASES,
    ];
    lists.concat()
}

/// Runs every case, each on an empty store from the factory.
///
/// # Panics
///
/// If a case fails.
pub fn exercise<S: Store>(factory: impl Fn() -> S) {
    for case in cases() {
        case.run(&factory());
    }
}
