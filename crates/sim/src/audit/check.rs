//! Reads a whole store and says what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{InstanceId, TaskId, Timestamp};
use meantime_kernel::store::{Error, HistoryRow, InstanceRow, Store};

use super::facts::Facts;
use super::story::Story;
use crate::checker::{Chronicle, Rows, at_rest, eventually_and_finally};
use crate::harness::block_on;

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Instances in the store.
    pub instances: usize,
    /// Of these, how many are over.
    pub ended: usize,
    /// Turns that were read.
    pub turns: usize,
    /// Timers that have fired.
    pub fired: usize,
    /// Tasks that have their outcome.
    pub done: usize,
    /// Signals that each instance has taken.
    pub signals: BTreeMap<InstanceId, usize>,
    /// Tasks that have an outcome.
    pub outcomes: BTreeSet<TaskId>,
    /// Acknowledged and not there.
    pub lost: Vec<String>,
    /// Anything else that must not be.
    pub wrong: Vec<String>,
}

impl Audit {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.wrong.is_empty()
    }
}

/// At which moment a store is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At any, in the middle of everything.
    Anytime,
    /// When everything has come to its end.
    Settled,
}

/// Holds a store against what was acknowledged and against itself.
pub fn audit(store: &dyn Store, facts: &Facts, when: When) -> Result<Audit, Error> {
    let mut audit = Audit { wrong: block_on(store.check())?, ..Audit::default() };
    let rows = Rows::read(store, Timestamp::MAX)?;
    let chronicle = Chronicle { rows, ..Chronicle::default() };
    let mut found = Vec::new();
    match when {
        When::Anytime => at_rest(&chronicle, &mut found),
        When::Settled => eventually_and_finally(&chronicle, &mut found),
    }
    audit.wrong.extend(found.iter().map(ToString::to_string));
    let mut stories = BTreeMap::new();
    for row in chronicle.rows.instances.values() {
        let history = chronicle.rows.histories.get(&row.id).map_or(&[][..], Vec::as_slice);
        stories.insert(row.id, read(row, history, &mut audit));
    }
    acknowledged(facts, &stories, &mut audit);
    Ok(audit)
}

fn read(row: &InstanceRow, history: &[HistoryRow], audit: &mut Audit) -> Story {
    let story = Story::read(row, history);
    audit.instances += 1;
    audit.ended += usize::from(row.phase.is_ended());
    audit.turns += history.len();
    audit.fired += story.fired;
    audit.done += story.done();
    audit.outcomes.extend(story.with_outcome());
    audit.signals.insert(row.id, story.signals);
    audit.wrong.extend(story.problems.iter().map(|problem| format!("{}: {problem}", row.id)));
    story
}

/// Everything that somebody was told is there.
fn acknowledged(facts: &Facts, stories: &BTreeMap<InstanceId, Story>, audit: &mut Audit) {
    for id in facts.started.keys() {
        if !stories.contains_key(id) {
            audit.lost.push(format!("{id} was started and is not there"));
        }
    }
    let mut signals: BTreeMap<InstanceId, usize> = BTreeMap::new();
    for (id, _) in &facts.signalled {
        *signals.entry(*id).or_default() += 1;
    }
    for (id, told) in signals {
        let taken = stories.get(&id).map_or(0, |story| story.signals);
        if taken < told {
            audit.lost.push(format!("{id} has {taken} signals, {told} were acknowledged"));
        }
    }
    for task in facts.completed.keys() {
        let outcomes = stories.get(&task.0.instance).map_or(0, |story| story.outcomes(task.0));
        if outcomes == 0 {
            audit.lost.push(format!("{task} was completed and has no outcome"));
        }
    }
}
