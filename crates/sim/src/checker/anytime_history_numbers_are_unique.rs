//! Every number of a history row is used once in the life of a store, by all its nodes together.
//!
//! Ids of instances are not checked: if a node loses its lease while a start waits, the id of the
//! start may be in use by then, and the start gets another one.

use std::collections::BTreeMap;

use meantime_core::InstanceId;

use super::violation::Findings;

/// Numbers in use, with their instance.
#[derive(Debug, Default)]
pub struct HistoryNumbers(BTreeMap<u64, InstanceId>);

impl HistoryNumbers {
    pub(super) fn check(&mut self, number: u64, instance: InstanceId, findings: &mut Findings<'_>) {
        if let Some(other) = self.0.insert(number, instance) {
            let text = format!("number {number} was given to {other} too");
            findings.add_for(instance, text);
        }
    }
}
