//! Searches and counts of instances. Nothing is indexed: the tables are small.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::tables::Tables;
use crate::store::{
    IncidentCount, InstanceCount, InstanceFilter, InstanceMatches, InstancePosition, InstanceRow,
    InstanceSearch, InstanceSort,
};

impl Tables {
    /// The matches of a search, and where to continue.
    pub(super) fn search(&self, search: &InstanceSearch) -> InstanceMatches {
        let mut matches = InstanceMatches::default();
        let mut candidates = self.candidates(search).peekable();
        while let Some((position, row)) = candidates.next() {
            matches.examined += 1;
            if self.matches(&search.filter, row) {
                matches.found.push((position.clone(), row.clone()));
            }
            let is_full =
                matches.found.len() >= search.limit || matches.examined >= search.examine.max(1);
            if is_full {
                matches.next = candidates.peek().map(|_| position);
                break;
            }
        }
        matches
    }

    /// All instances of an order behind a position.
    fn candidates<'a>(
        &'a self,
        search: &'a InstanceSearch,
    ) -> Box<dyn Iterator<Item = (InstancePosition, &'a InstanceRow)> + 'a> {
        let is_behind = |position: &InstancePosition| {
            let after = search.after.as_ref();
            after.is_none_or(|it| if search.descending { position < it } else { position > it })
        };
        let entry = |row: &'a InstanceRow| Some((InstancePosition::of(row, search.sort)?, row));
        if search.sort == InstanceSort::Start {
            // In the order of the table, so that a page need not sort everything.
            let after = search.after.as_ref().map(InstancePosition::instance);
            let (first, last) = match after {
                None => (Bound::Unbounded, Bound::Unbounded),
                Some(after) if search.descending => (Bound::Unbounded, Bound::Excluded(after)),
                Some(after) => (Bound::Excluded(after), Bound::Unbounded),
            };
            let rows = self.instances.range((first, last)).map(|(_, row)| row);
            let rows: Box<dyn Iterator<Item = &InstanceRow>> =
                if search.descending { Box::new(rows.rev()) } else { Box::new(rows) };
            return Box::new(rows.filter_map(entry));
        }
        let rows = self.instances.values();
        let mut all: Vec<_> = rows.filter_map(entry).filter(|it| is_behind(&it.0)).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        if search.descending {
            all.reverse();
        }
        Box::new(all.into_iter())
    }

    fn matches(&self, filter: &InstanceFilter, row: &InstanceRow) -> bool {
        let has_code = |code: &String| {
            let mut incidents = self.incidents.values();
            incidents.any(|it| it.instance == row.id && it.failure.code == *code)
        };
        filter.matches(row)
            && filter.tags.iter().all(|tag| self.tags.contains(&(tag.clone(), row.id)))
            && filter.incident_code.as_ref().is_none_or(has_code)
    }

    pub(super) fn count_instances(&self) -> Vec<InstanceCount> {
        let mut counts = BTreeMap::new();
        for row in self.instances.values() {
            *counts.entry((row.definition, row.phase.counted())).or_insert(0) += 1;
        }
        let counts = counts.into_iter();
        counts
            .map(|((definition, status), count)| InstanceCount { definition, status, count })
            .collect()
    }

    pub(super) fn count_incidents(&self, limit: usize) -> Vec<IncidentCount> {
        let mut counts = BTreeMap::new();
        for incident in self.incidents.values().take(limit) {
            let Some(row) = self.instances.get(&incident.instance) else { continue };
            *counts.entry((incident.failure.code.clone(), row.definition)).or_insert(0) += 1;
        }
        let counts = counts.into_iter();
        counts
            .map(|((code, definition), count)| IncidentCount { code, definition, count })
            .collect()
    }
}
