//! Which index serves a search of instances, and how its answer is put together.
//!
//! ```text
//!   filter, order ─► sources ─► candidates of each, from an index ─► merged ─► rows ─► matches
//! ```
//!
//! Candidates are positions in an index; only the rows of the best ones are read. Each part of an
//! index is read up to a limit, so the merged list is complete up to the nearest end of a part that
//! was cut off, and the search continues there.

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::{
    Error, InstanceFilter, InstanceMatches, InstancePosition, InstanceRow, InstanceSearch,
    InstanceSort, Phase,
};

use crate::row::{id_order, instance::UNUSUAL_PHASES, int};

/// The smallest number of candidates that is read of each of many sources.
const MIN_PART: usize = 16;

/// A part of an index, in the order of ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexPart {
    All,
    Tag(String),
    Key(String),
    Parent(i64),
    Tree(i64),
    WithIncident,
    IncidentCode(String),
    Phase(Phase),
    /// Live instances of a definition.
    Live(i64),
}

/// What is read for a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccessPath {
    /// The index of the order.
    Sorted,
    /// Parts that are merged.
    Parts(Vec<IndexPart>),
    /// Live instances of all definitions; the store lists these.
    AllLive,
}

impl AccessPath {
    /// The narrowest index that fits.
    pub(crate) fn of(search: &InstanceSearch) -> Self {
        let filter = &search.filter;
        if search.sort != InstanceSort::Start {
            return Self::Sorted;
        }
        let one = |source| Self::Parts(vec![source]);
        if let Some(key) = &filter.key {
            return one(IndexPart::Key(key.clone()));
        }
        if let Some(parent) = filter.parent {
            return one(IndexPart::Parent(id_order(parent)));
        }
        if let Some(root) = filter.root {
            return one(IndexPart::Tree(id_order(root)));
        }
        if let Some(code) = &filter.incident_code {
            return one(IndexPart::IncidentCode(code.clone()));
        }
        if filter.incident == Some(true) {
            return one(IndexPart::WithIncident);
        }
        if let Some(tag) = filter.tags.first() {
            return one(IndexPart::Tag(tag.clone()));
        }
        let only = |phases: &dyn Fn(&Phase) -> bool| {
            !filter.phases.is_empty() && filter.phases.iter().all(phases)
        };
        if only(&|phase| UNUSUAL_PHASES.contains(phase)) {
            let mut phases = filter.phases.clone();
            phases.sort_unstable();
            phases.dedup();
            return Self::Parts(phases.into_iter().map(IndexPart::Phase).collect());
        }
        if filter.error_code.is_some() {
            return one(IndexPart::Phase(Phase::Failed));
        }
        if !only(&|phase| !phase.is_ended()) {
            return one(IndexPart::All);
        }
        if filter.definitions.is_empty() {
            return Self::AllLive;
        }
        let mut ids: Vec<i64> = filter.definitions.iter().map(|id| int(id.0)).collect();
        ids.sort_unstable();
        ids.dedup();
        Self::Parts(ids.into_iter().map(IndexPart::Live).collect())
    }
}

/// How many candidates are read of each of some sources.
pub(crate) fn part(search: &InstanceSearch, sources: usize) -> usize {
    let examine = search.examine.max(1);
    (examine / sources.max(1)).max(MIN_PART.min(examine))
}

/// Bounds of ids, both exclusive.
pub(crate) fn id_bounds(search: &InstanceSearch) -> (i64, i64) {
    let (from, before) = (search.filter.id_from, search.filter.id_before);
    let mut low = from.map_or(-1, |id| id_order(id) - 1);
    let mut high = before.map_or(i64::MAX, id_order);
    if let Some(after) = &search.after {
        let after = id_order(after.instance());
        if search.descending { high = high.min(after) } else { low = low.max(after) }
    }
    (low, high)
}

/// Bounds of ends and ids, both exclusive.
pub(crate) fn end_bounds(search: &InstanceSearch) -> [(i64, i64); 2] {
    let (from, before) = (search.filter.ended_from, search.filter.ended_before);
    let mut low = from.map_or((i64::MIN, -1), |at| (at.as_millis(), -1));
    let mut high = before.map_or((i64::MAX, i64::MAX), |at| (at.as_millis(), -1));
    if let Some(InstancePosition::End(at, id)) = &search.after {
        let after = (at.as_millis(), id_order(*id));
        if search.descending { high = high.min(after) } else { low = low.max(after) }
    }
    [low, high]
}

/// Bounds of keys and ids, both exclusive.
pub(crate) fn key_bounds(search: &InstanceSearch) -> [(String, i64); 2] {
    let InstanceFilter { key, key_prefix, .. } = &search.filter;
    let mut low = (String::new(), -1);
    // No text comes after this one.
    let mut high = ("\u{10ffff}".repeat(16), i64::MAX);
    if let Some(prefix) = key_prefix {
        low = (prefix.clone(), -1);
        high = next_prefix(prefix).map_or(high, |next| (next, -1));
    }
    if let Some(key) = key {
        (low, high) = ((key.clone(), -1), (key.clone(), i64::MAX));
    }
    if let Some(InstancePosition::Key(key, id)) = &search.after {
        let after = (key.clone(), id_order(*id));
        if search.descending { high = high.min(after) } else { low = low.max(after) }
    }
    [low, high]
}

/// The first text behind all that begin with a prefix, by code points.
fn next_prefix(prefix: &str) -> Option<String> {
    let mut begin: Vec<char> = prefix.chars().collect();
    while let Some(last) = begin.pop() {
        let next = u32::from(last) + 1;
        // Surrogates are no characters.
        let next = char::from_u32(if next == 0xd800 { 0xe000 } else { next });
        if let Some(next) = next {
            begin.push(next);
            return Some(begin.into_iter().collect());
        }
    }
    None
}

/// Bounds of timers, by due time, id, turn and ordinal, both exclusive.
pub(crate) fn due_bounds(search: &InstanceSearch) -> [[i64; 4]; 2] {
    let mut bounds = [[i64::MIN, -1, -1, -1], [i64::MAX; 4]];
    if let Some(InstancePosition::Due(at, key)) = &search.after {
        let (id, turn_no) = (id_order(key.instance), int(key.turn_no));
        let after = [at.as_millis(), id, turn_no, i64::from(key.ordinal)];
        bounds[usize::from(search.descending)] = after;
    }
    bounds
}

/// A candidate in the order of ids.
pub(crate) fn start_position(id_order: i64) -> InstancePosition {
    InstancePosition::Start(InstanceId::new(id_order.cast_unsigned(), 0))
}

/// A candidate in the order of ends.
pub(crate) fn end_position(at: Timestamp, id_order: i64) -> InstancePosition {
    InstancePosition::End(at, InstanceId::new(id_order.cast_unsigned(), 0))
}

/// A candidate in the order of keys.
pub(crate) fn key_position(key: String, id_order: i64) -> InstancePosition {
    InstancePosition::Key(key, InstanceId::new(id_order.cast_unsigned(), 0))
}

/// Candidates in order, and whether there are no others behind them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Candidates {
    pub(crate) positions: Vec<InstancePosition>,
    pub(crate) is_complete: bool,
}

impl Candidates {
    /// What one source answered to a request for so many.
    pub(crate) fn of_part(positions: Vec<InstancePosition>, part: usize) -> Self {
        let is_complete = positions.len() < part;
        Self { positions, is_complete }
    }

    /// Merges parts. Behind the end of a part that was cut off nothing is known.
    pub(crate) fn merge(parts: Vec<Self>, descending: bool) -> Self {
        let cut = parts.iter().filter(|part| !part.is_complete);
        let ends = cut.filter_map(|part| part.positions.last());
        let end = if descending { ends.max() } else { ends.min() }.cloned();
        let mut positions: Vec<_> = parts.into_iter().flat_map(|part| part.positions).collect();
        positions.sort_unstable();
        positions.dedup();
        if descending {
            positions.reverse();
        }
        if let Some(end) = &end {
            positions.retain(|it| if descending { it >= end } else { it <= end });
        }
        Self { positions, is_complete: end.is_none() }
    }

    /// The answer to a search. `read` returns the row of an id if it matches.
    pub(crate) fn answer(
        self,
        search: &InstanceSearch,
        mut read: impl FnMut(i64) -> Result<Option<InstanceRow>, Error>,
    ) -> Result<InstanceMatches, Error> {
        let mut matches = InstanceMatches::default();
        let mut positions = self.positions.into_iter().peekable();
        while let Some(candidate) = positions.next() {
            matches.examined += 1;
            let row = read(id_order(candidate.instance()))?;
            let place = row.as_ref().and_then(|row| InstancePosition::of(row, search.sort));
            // Of the timers of an instance only the first counts.
            let is_place =
                |place: &InstancePosition| search.sort != InstanceSort::Due || *place == candidate;
            let mut last = candidate.clone();
            if let (Some(row), Some(place)) = (row, place.filter(is_place)) {
                last = place.clone();
                matches.found.push((place, row));
            }
            let is_end = positions.peek().is_none();
            let is_full =
                matches.found.len() >= search.limit || matches.examined >= search.examine.max(1);
            if is_full || is_end {
                matches.next = (!is_end || !self.is_complete).then_some(last);
                break;
            }
        }
        Ok(matches)
    }
}

/// The filter that is left to check on rows: an incident may be open although the row of a damaged
/// instance does not count it.
pub(crate) fn residual(search: &InstanceSearch) -> InstanceFilter {
    let mut filter = search.filter.clone();
    match AccessPath::of(search) {
        AccessPath::Parts(parts) if parts.contains(&IndexPart::WithIncident) => {
            filter.incident = None;
        }
        AccessPath::Parts(parts) if matches!(parts[..], [IndexPart::IncidentCode(_)]) => {
            filter.incident = filter.incident.filter(|wanted| !wanted);
            filter.incident_code = None;
        }
        AccessPath::Parts(parts) if matches!(parts[..], [IndexPart::Tag(_)]) => {
            filter.tags.remove(0);
        }
        _ => {}
    }
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts<const N: usize>(orders: [i64; N]) -> Vec<InstancePosition> {
        orders.map(start_position).to_vec()
    }

    #[test]
    fn a_merged_list_ends_where_a_part_was_cut_off() {
        let parts = || {
            let cut = Candidates { positions: starts([9, 5]), is_complete: false };
            vec![cut, Candidates { positions: starts([8, 4, 2]), is_complete: true }]
        };
        let merged = Candidates::merge(parts(), true);
        assert_eq!(merged, Candidates { positions: starts([9, 8, 5]), is_complete: false });
        let up = vec![Candidates { positions: starts([1, 3]), is_complete: false }];
        let up =
            up.into_iter().chain([Candidates { positions: starts([2, 4]), is_complete: true }]);
        let merged = Candidates::merge(up.collect(), false);
        assert_eq!(merged, Candidates { positions: starts([1, 2, 3]), is_complete: false });
    }

    #[test]
    fn keys_with_a_prefix_end_before_the_next_prefix() {
        assert_eq!(next_prefix("ab"), Some("ac".to_owned()));
        assert_eq!(next_prefix("a\u{d7ff}"), Some("a\u{e000}".to_owned()));
        assert_eq!(next_prefix("a\u{10ffff}"), Some("b".to_owned()));
        assert_eq!((next_prefix("\u{10ffff}"), next_prefix("")), (None, None));
    }
}
