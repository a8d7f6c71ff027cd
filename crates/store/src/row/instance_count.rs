//! Counts of instances by definition and status, and changes of them.

use std::collections::BTreeMap;

use meantime_core::DefinitionId;
use meantime_kernel::store::{Error, InstanceCount, InstanceRow, Phase};
use minicbor::{Decode, Encode};

use super::{Columns, damaged, packed};

const TABLE: &str = "instance_count";

/// Numbers by definition and status; in a change they may be negative.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Counts(pub(crate) BTreeMap<(DefinitionId, Phase), i64>);

/// One number, as it is packed.
#[derive(Encode, Decode)]
#[cbor(array)]
struct Entry {
    #[n(0)]
    definition: DefinitionId,
    #[n(1)]
    status: u8,
    #[n(2)]
    count: i64,
}

/// The statuses by their packed number.
const STATUSES: [Phase; 4] = [Phase::Running, Phase::Completed, Phase::Failed, Phase::Cancelled];

impl Counts {
    /// Adds a number to a status.
    pub(crate) fn add(&mut self, definition: DefinitionId, phase: Phase, count: i64) {
        let number = self.0.entry((definition, phase.counted())).or_default();
        *number += count;
        if *number == 0 {
            self.0.remove(&(definition, phase.counted()));
        }
    }

    /// Adds a new instance.
    pub(crate) fn insert(&mut self, row: &InstanceRow) {
        self.add(row.definition, row.phase, 1);
    }

    /// Moves an instance from its old definition and phase to those of its new row.
    pub(crate) fn turn(&mut self, old: (DefinitionId, Phase), row: &InstanceRow) {
        self.add(old.0, old.1, -1);
        self.insert(row);
    }

    /// Adds all numbers of another value.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for ((definition, status), count) in &other.0 {
            self.add(*definition, *status, *count);
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let number = |phase: Phase| STATUSES.iter().position(|it| *it == phase).unwrap_or_default();
        let entries = self.0.iter().map(|((definition, status), count)| Entry {
            definition: *definition,
            status: u8::try_from(number(*status)).unwrap_or_default(),
            count: *count,
        });
        packed(&entries.collect::<Vec<_>>())
    }

    /// Reads what [`Self::to_bytes`] wrote; nothing is no numbers.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut counts = Self::default();
        if bytes.is_empty() {
            return Ok(counts);
        }
        let entries: Vec<Entry> = minicbor::decode(bytes).map_err(|e| damaged(TABLE, e))?;
        for Entry { definition, status, count } in entries {
            let status = STATUSES.get(usize::from(status)).copied();
            let status = status.ok_or_else(|| damaged(TABLE, "there is no such status"))?;
            counts.add(definition, status, count);
        }
        Ok(counts)
    }

    /// Adds a row of `definition_id, status, count`; the status may be any phase.
    pub(crate) fn read(&mut self, row: &impl Columns) -> Result<(), Error> {
        let phase = row.named(1, TABLE, Phase::from_name)?;
        self.add(DefinitionId(row.number(0)?), phase, row.integer(2)?);
        Ok(())
    }

    /// The numbers in order.
    pub(crate) fn list(&self) -> Vec<InstanceCount> {
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        let entries = self.0.iter();
        entries
            .map(|(&(definition, status), count)| InstanceCount {
                definition,
                status,
                count: number(*count),
            })
            .collect()
    }

    /// What is wrong with maintained numbers, line by line; `self` are the right ones.
    pub(crate) fn differences(&self, maintained: &Self) -> Vec<String> {
        let keys: std::collections::BTreeSet<_> =
            self.0.keys().chain(maintained.0.keys()).collect();
        let of = |counts: &Self, key| counts.0.get(key).copied().unwrap_or_default();
        let wrong = keys.into_iter().filter(|key| of(self, key) != of(maintained, key));
        wrong
            .map(|key| {
                let (is, said) = (of(self, key), of(maintained, key));
                let (DefinitionId(definition), status) = (key.0, key.1.name());
                format!(
                    "{said} {status} instances of definition {definition} are counted, not {is}"
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_counts_are_read_back() {
        let mut counts = Counts::default();
        counts.add(DefinitionId(7), Phase::Closing, 3);
        counts.add(DefinitionId(7), Phase::Failed, -2);
        counts.add(DefinitionId(9), Phase::Completed, 1);
        counts.add(DefinitionId(9), Phase::Completed, -1);
        assert_eq!(Counts::from_bytes(&counts.to_bytes()).unwrap(), counts);
        assert_eq!(counts.0.len(), 2);
        assert_eq!(Counts::from_bytes(&[]).unwrap(), Counts::default());
        assert!(Counts::from_bytes(&[0x81, 0x83, 1, 9, 1]).is_err());
    }
}
