//! Searches of instances: filters, orders, positions in a list, and counts.
//!
//! A search reads a bounded number of candidates from the index that gives its order, and checks
//! the other conditions on their rows. It answers with the matches and the position at which to
//! continue, so that no single read takes long, however few rows match.

use meantime_core::{DefinitionId, EffectKey, InstanceId, Outcome, Timestamp};

use super::{InstanceRow, Phase};
use crate::open::Key;
use crate::random::COUNTER_BITS;

/// By how much the time in an id may differ from the start of its instance: clocks of nodes differ
/// a little, and ids run ahead of a virtual clock that stands still.
const ID_SLACK_MS: i64 = 60_000;

/// A filter of instances.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InstanceFilter {
    /// With one of these definitions; empty means all.
    pub definitions: Vec<DefinitionId>,
    /// Without these definitions.
    pub except: Vec<DefinitionId>,
    /// In one of these phases; empty means all.
    pub phases: Vec<Phase>,
    /// With an open incident, or without one.
    pub incident: Option<bool>,
    /// With an open incident of this code.
    pub incident_code: Option<String>,
    /// Failed with this code.
    pub error_code: Option<String>,
    /// With this business key.
    pub key: Option<String>,
    /// With a business key that begins like this.
    pub key_prefix: Option<String>,
    /// With all of these tags.
    pub tags: Vec<String>,
    /// Started by this instance.
    pub parent: Option<InstanceId>,
    /// In the tree of this instance, itself included.
    pub root: Option<InstanceId>,
    /// Accepted at or after.
    pub started_from: Option<Timestamp>,
    /// Accepted before.
    pub started_before: Option<Timestamp>,
    /// Ended at or after.
    pub ended_from: Option<Timestamp>,
    /// Ended before.
    pub ended_before: Option<Timestamp>,
    /// With this id or a later one.
    pub id_from: Option<InstanceId>,
    /// With an id before this one.
    pub id_before: Option<InstanceId>,
}

impl InstanceFilter {
    /// Bounds the ids by the times of the start. Ids are numbered at the start and contain its
    /// time, so a search need not read what was started much earlier or later.
    #[must_use]
    pub fn bound_ids(self) -> Self {
        let first = |at: Timestamp| {
            let millis = u64::try_from(at.as_millis()).unwrap_or_default();
            InstanceId::new(millis << COUNTER_BITS, 0)
        };
        let from = self.started_from.map(|at| first(at.saturating_add_millis(-ID_SLACK_MS)));
        let before = self.started_before.map(|at| first(at.saturating_add_millis(ID_SLACK_MS)));
        Self {
            id_from: self.id_from.max(from),
            id_before: self.id_before.into_iter().chain(before).min(),
            ..self
        }
    }

    /// Whether a row matches, but for its tags and the codes of its incidents, which have tables of
    /// their own.
    pub fn matches(&self, row: &InstanceRow) -> bool {
        // A damaged row counts as one with an incident.
        let has_incident = row.meta.incidents > 0 || row.meta.damaged.is_some();
        self.matches_columns(row.definition, row.phase, row.started_at, row.ended_at)
            && self.matches_id(row.id)
            && self.matches_key(row.key.as_deref())
            && self.incident.is_none_or(|wanted| wanted == has_incident)
            && self.matches_lineage(row)
            && self.error_code.as_deref().is_none_or(|code| failed_with(row) == Some(code))
    }

    /// Whether the packed part of a row is needed to decide.
    pub fn needs_packed_row(&self) -> bool {
        let lineage = self.parent.is_some() || self.root.is_some();
        lineage || self.incident.is_some() || self.error_code.is_some()
    }

    /// Checks what stands in columns of its own.
    pub fn matches_columns(
        &self,
        definition: DefinitionId,
        phase: Phase,
        started_at: Timestamp,
        ended_at: Option<Timestamp>,
    ) -> bool {
        (self.definitions.is_empty() || self.definitions.contains(&definition))
            && !self.except.contains(&definition)
            && (self.phases.is_empty() || self.phases.contains(&phase))
            && self.started_from.is_none_or(|from| started_at >= from)
            && self.started_before.is_none_or(|before| started_at < before)
            && self.ended_from.is_none_or(|from| ended_at.is_some_and(|at| at >= from))
            && self.ended_before.is_none_or(|before| ended_at.is_some_and(|at| at < before))
    }

    /// Checks the range of ids.
    pub fn matches_id(&self, id: InstanceId) -> bool {
        self.id_from.is_none_or(|from| id >= from)
            && self.id_before.is_none_or(|before| id < before)
    }

    /// Checks the business key.
    pub fn matches_key(&self, key: Option<&str>) -> bool {
        let begins = |prefix: &String| key.is_some_and(|key| key.starts_with(prefix.as_str()));
        self.key.as_ref().is_none_or(|wanted| key == Some(wanted.as_str()))
            && self.key_prefix.as_ref().is_none_or(begins)
    }

    fn matches_lineage(&self, row: &InstanceRow) -> bool {
        let lineage = row.meta.lineage.as_ref();
        let parent = lineage.map(|lineage| lineage.parent.instance);
        let root = lineage.map_or(row.id, |lineage| lineage.root);
        self.parent.is_none_or(|wanted| parent == Some(wanted))
            && self.root.is_none_or(|wanted| root == wanted || row.id == wanted)
    }
}

/// The code of the error that an instance has failed with.
fn failed_with(row: &InstanceRow) -> Option<&str> {
    match &row.meta.outcome {
        Some(Outcome::Failed { failure, .. }) if row.phase == Phase::Failed => {
            Some(failure.code.as_str())
        }
        _ => None,
    }
}

/// By what instances are sorted. Each order has an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InstanceSort {
    /// By their start.
    #[default]
    Start,
    /// By their end; only those that have ended.
    End,
    /// By their business key; only those that have one.
    Key,
    /// By the timer that is due next; only those that have one that is not frozen.
    Due,
}

/// A position in a list of instances: the sort key of an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstancePosition {
    /// By the start.
    Start(InstanceId),
    /// By the end.
    End(Timestamp, InstanceId),
    /// By the business key.
    Key(String, InstanceId),
    /// By the next timer.
    Due(Timestamp, EffectKey),
}

impl InstancePosition {
    /// The order that it is a position of.
    pub const fn sort(&self) -> InstanceSort {
        match self {
            Self::Start(_) => InstanceSort::Start,
            Self::End(..) => InstanceSort::End,
            Self::Key(..) => InstanceSort::Key,
            Self::Due(..) => InstanceSort::Due,
        }
    }

    /// The instance.
    pub const fn instance(&self) -> InstanceId {
        match self {
            Self::Start(id) | Self::End(_, id) | Self::Key(_, id) => *id,
            Self::Due(_, timer) => timer.instance,
        }
    }

    /// The position of an instance in an order; none if the order does not contain it.
    pub fn of(row: &InstanceRow, sort: InstanceSort) -> Option<Self> {
        match sort {
            InstanceSort::Start => Some(Self::Start(row.id)),
            InstanceSort::End => row.ended_at.map(|at| Self::End(at, row.id)),
            InstanceSort::Key => row.key.clone().map(|key| Self::Key(key, row.id)),
            InstanceSort::Due => {
                let timers = row.open.timers.iter().filter(|(_, timer)| !timer.frozen);
                let (at, key) = timers.map(|(key, timer)| (timer.due_at, *key)).min()?;
                Some(Self::Due(at, Key::of(key, row.id)))
            }
        }
    }
}

/// A search of instances.
#[derive(Debug, Clone, Default)]
pub struct InstanceSearch {
    /// Which instances.
    pub filter: InstanceFilter,
    /// Their order.
    pub sort: InstanceSort,
    /// From the largest to the smallest.
    pub descending: bool,
    /// Behind this position of the same order.
    pub after: Option<InstancePosition>,
    /// How many matches at most.
    pub limit: usize,
    /// How many candidates are examined at most, from one up.
    pub examine: usize,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstanceMatches {
    /// The matches in order, each with its position.
    pub found: Vec<(InstancePosition, InstanceRow)>,
    /// How many candidates were examined.
    pub examined: usize,
    /// Where to continue; `None` at the end of the list.
    pub next: Option<InstancePosition>,
}

/// How many instances of a definition are in a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstanceCount {
    /// The definition.
    pub definition: DefinitionId,
    /// `Running` for all that have not ended.
    pub status: Phase,
    /// How many.
    pub count: u64,
}

/// How many open incidents of a definition have a code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IncidentCount {
    /// The code.
    pub code: String,
    /// The definition of their instances.
    pub definition: DefinitionId,
    /// How many.
    pub count: u64,
}

impl Phase {
    /// The phase under which an instance is counted: `Running` until it has ended.
    #[must_use]
    pub const fn counted(self) -> Self {
        if self.is_ended() { self } else { Self::Running }
    }
}
