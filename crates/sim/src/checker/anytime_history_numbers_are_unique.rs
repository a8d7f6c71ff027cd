//! Numbers of history rows are given once in the life of a store, whoever shares it.
//!
//! Ids of instances are not looked at: a start that waited while its node lost its lease may come
//! with a number that is taken by then, and gets another one.

use std::collections::BTreeMap;

use meantime_core::InstanceId;

use super::violation::Findings;

/// Numbers that were used, and by whom.
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
