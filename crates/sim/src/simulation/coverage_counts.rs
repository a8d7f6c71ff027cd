//! Counts of what happened over many seeds: a fault that never occurred was not tested.

use std::collections::BTreeMap;
use std::fmt;

use super::setup::FaultFamily;

/// Counts by group and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoverageCounts {
    counts: BTreeMap<(CountGroup, &'static str), u64>,
    /// Events by the phase of their instance.
    pub coverage: BTreeMap<(&'static str, &'static str), u64>,
    /// Turns that were committed.
    pub turns: u64,
    /// Commits.
    pub commits: u64,
}

/// The groups of counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountGroup {
    /// Injected faults.
    Fault,
    /// Operations that succeeded.
    Operation,
    /// Operations that were refused.
    Refused,
    /// Effects that turns requested.
    Effect,
    /// Other observations, such as lost answers and late timers.
    Observation,
}

impl CoverageCounts {
    /// Counts one.
    pub fn count(&mut self, group: CountGroup, name: &'static str) {
        *self.counts.entry((group, name)).or_default() += 1;
    }

    /// The count of a name.
    pub fn count_of(&self, group: CountGroup, name: &str) -> u64 {
        let same = |(key, _): &(&(CountGroup, &'static str), &u64)| key.0 == group && key.1 == name;
        self.counts.iter().find(same).map_or(0, |(_, count)| *count)
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        for (key, count) in &other.counts {
            *self.counts.entry(*key).or_default() += count;
        }
        for (key, count) in &other.coverage {
            *self.coverage.entry(*key).or_default() += count;
        }
        self.turns += other.turns;
        self.commits += other.commits;
    }

    /// Families that never occurred, although many seeds were run.
    pub fn missing_families(&self) -> Vec<String> {
        let faults = FaultFamily::ALL.iter().map(|(_, name)| (CountGroup::Fault, *name));
        let operations = OPERATION_NAMES.iter().map(|name| (CountGroup::Operation, *name));
        let effects = EFFECT_NAMES.iter().map(|name| (CountGroup::Effect, *name));
        let observations = [HAND_OFF, LOST_HAND_OFF].map(|name| (CountGroup::Observation, name));
        let all = faults.chain(operations).chain(effects).chain(observations);
        all.filter(|(group, name)| self.count_of(*group, name) == 0)
            .map(|(group, name)| format!("{group:?} {name:?}"))
            .collect()
    }

    /// Pairs of event and phase that never occurred. Some are rare.
    pub fn missing_pairs(&self) -> Vec<String> {
        let missing = EVENT_PHASE_PAIRS.iter().filter(|pair| !self.coverage.contains_key(*pair));
        missing.map(|(event, phase)| format!("{event} while {phase}")).collect()
    }
}

/// A task was leased in the commit that created it.
pub(super) const HAND_OFF: &str = "task handed off";

/// A task that was handed off went to another worker, because the first one never got the answer.
pub(super) const LOST_HAND_OFF: &str = "answer to a hand-off lost";

/// All operations that clients can request.
pub(super) const OPERATION_NAMES: [&str; 40] = [
    "abandon",
    "assign",
    "backfill",
    "broadcast",
    "cancel",
    "change schedule",
    "claim",
    "claim and wait",
    "claim with a report",
    "compact",
    "complete",
    "complete by a person",
    "complete by the engine",
    "deploy",
    "deploy the same",
    "extend",
    "fail by the engine",
    "fail for good",
    "fail once",
    "fire timer",
    "freeze timer",
    "move timer",
    "pause schedule",
    "publish",
    "publish again",
    "purge",
    "put schedule",
    "release timer",
    "resolve incident",
    "restore",
    "resume",
    "resume schedule",
    "retry incident",
    "set variables",
    "signal",
    "start",
    "start again",
    "submit",
    "throw",
    "trigger schedule",
];

/// All effects that turns can request. `resolveIncident` is missing: no notation learns the number
/// of an open incident.
pub(super) const EFFECT_NAMES: [&str; 17] = [
    "broadcast",
    "cancelChild",
    "cancelTask",
    "cancelTimer",
    "incident",
    "notifyParent",
    "occurrence",
    "publishMessage",
    "putSchedule",
    "record",
    "scheduleTask",
    "setAttributes",
    "startChild",
    "startTimer",
    "subscribe",
    "unsubscribe",
    "cancelIncident",
];

/// All events that the history records; slices and timers are counted separately.
pub(super) const EVENT_NAMES: [&str; 12] = [
    "taskCompleted",
    "taskFailed",
    "signal",
    "message",
    "submitted",
    "childDone",
    "childRaised",
    "effectDone",
    "incidentRetried",
    "variablesSet",
    "cancel",
    "deadlineReached",
];

/// Every pair of an event and a phase that the contract allows.
pub(super) const EVENT_PHASE_PAIRS: [(&str, &str); 33] = [
    ("start", "starting"),
    ("taskCompleted", "running"),
    ("taskFailed", "running"),
    ("taskCompleted", "yielding"),
    ("taskFailed", "yielding"),
    ("timerFired", "running"),
    ("timerFired", "yielding"),
    ("signal", "running"),
    ("signal", "yielding"),
    ("message", "running"),
    ("message", "yielding"),
    ("submitted", "running"),
    ("submitted", "yielding"),
    ("childDone", "running"),
    ("childDone", "yielding"),
    ("childDone", "closing"),
    ("childRaised", "running"),
    ("childRaised", "yielding"),
    ("childRaised", "closing"),
    ("effectDone", "running"),
    ("effectDone", "yielding"),
    ("effectDone", "closing"),
    ("incidentRetried", "running"),
    ("incidentRetried", "yielding"),
    ("variablesSet", "running"),
    ("variablesSet", "yielding"),
    ("continue", "yielding"),
    ("cancel", "starting"),
    ("cancel", "running"),
    ("cancel", "yielding"),
    ("deadlineReached", "starting"),
    ("deadlineReached", "running"),
    ("deadlineReached", "yielding"),
];

impl fmt::Display for CoverageCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} turns in {} commits", self.turns, self.commits)?;
        let mut last = None;
        for ((group, name), count) in &self.counts {
            if last != Some(*group) {
                write!(f, "\n{group:?}:")?;
                last = Some(*group);
            }
            write!(f, " {name} {count};")?;
        }
        write!(f, "\n\nevents by phase:")?;
        for ((event, phase), count) in &self.coverage {
            write!(f, " {event} while {phase} {count};")?;
        }
        let hit = EVENT_PHASE_PAIRS.iter().filter(|pair| self.coverage.contains_key(*pair)).count();
        write!(f, "\n{hit} of {} pairs of event and phase", EVENT_PHASE_PAIRS.len())
    }
}
