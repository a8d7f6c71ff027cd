//! Applies one plan inside a transaction: fences first, then rows.

use std::collections::{BTreeMap, BTreeSet};

use meantime_kernel::store::{
    Error, Fence, InstanceRow, Plan, ResolvedPlan, TimerKey, TimerRow, UnitResult, Write,
};

use super::db::Db;
use super::find::find;
use super::instance::Advance;
use super::node::Mark;
use super::{
    answer, clear_open, definition, history, inbox, incident, instance, instance_tag, message,
    message_id, node, occurrence, subscription, task, timer, tree, trigger_start,
};

/// Why a plan could not be applied as a whole. The transaction must be rolled back.
#[derive(Debug)]
pub(super) enum Stop {
    /// A fence among the writes of a unit did not hold: the unit is a conflict.
    Fence(usize),
    /// A statement failed.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Applies a plan without the units that are left out, which count as conflicts.
pub(super) fn apply(
    db: &Db<'_>,
    plan: &Plan,
    left_out: &BTreeSet<usize>,
    mark: &mut Mark,
) -> Result<Vec<UnitResult>, Stop> {
    mark.batch = mark.batch.max(plan.batch);
    mark.clock = mark.clock.max(plan.now);
    let mut found = find(db, &plan.lookups(), plan.now)?;
    let resolved = plan.resolve(left_out, &mut found, |unit| try_guard(db, &unit.fence, mark))?;
    let ResolvedPlan { writes, results } = resolved;
    let mut timers = Timers::default();
    for (number, write) in writes {
        // Earlier writes of the unit are already in the transaction, so it cannot simply be
        // skipped: the caller rolls back and repeats the plan without it.
        if !make(db, &write, &mut timers, mark)? {
            return Err(Stop::Fence(number));
        }
    }
    timers.flush(db)?;
    Ok(results)
}

/// Tries a fence by making its write. A fence that does not hold writes nothing.
fn try_guard(db: &Db<'_>, fence: &Fence, mark: &mut Mark) -> Result<bool, Error> {
    match fence {
        Fence::Free => Ok(true),
        Fence::Insert(row) => {
            note_instance(row, mark);
            let is_new = instance::insert(db, row)?;
            if is_new {
                mark.counts.insert(row);
            }
            Ok(is_new)
        }
        Fence::Turn { row, expected } => {
            note_instance(row, mark);
            let advance = instance::advance(db, row, *expected)?;
            if let Advance::Changed(old) = advance {
                mark.counts.turn(old, row);
            }
            Ok(advance != Advance::Conflict)
        }
        Fence::Unchanged { instance, turn_no } => instance::stands_at(db, *instance, *turn_no),
        Fence::Task { row, claims } => task::replace(db, row, *claims),
    }
}

fn note_instance(row: &InstanceRow, mark: &mut Mark) {
    mark.note(row.id.order());
    mark.note(row.last_history);
}

/// Makes one write; returns whether its fence held.
fn make(db: &Db<'_>, write: &Write, timers: &mut Timers, mark: &mut Mark) -> Result<bool, Error> {
    match write {
        Write::InsertInstance(row) => {
            note_instance(row, mark);
            if !instance::insert(db, row)? {
                return Err(Error::Bug(format!("the id {} was given out twice", row.id)));
            }
            mark.counts.insert(row);
        }
        Write::History(row) => {
            mark.note(row.seq);
            history::append(db, row)?;
        }
        Write::PutInbox(row) => {
            mark.note(row.seq);
            inbox::put(db, row)?;
        }
        Write::DeleteInbox { instance, seq } => inbox::delete(db, *instance, *seq)?,
        Write::ReleaseInbox { instance, incident } => inbox::release(db, *instance, *incident)?,
        Write::ClearHeld { instance } => inbox::clear_held(db, *instance)?,
        Write::ClearOpen { instance } => clear_open::clear(db, *instance)?,
        Write::PutOccurrence(row) => occurrence::put(db, row)?,
        Write::InsertTimer(row) => timers.insert(row.clone()),
        Write::DeleteTimer(key) => timers.delete(db, *key)?,
        Write::MoveTimer { from, to } => timers.relocate(db, *from, *to)?,
        Write::InsertTask(row) => task::insert(db, row)?,
        Write::UpdateTask { row, claims } => return task::replace(db, row, *claims),
        Write::DeleteTask { id, claims } => return task::delete(db, *id, *claims),
        Write::DetachTask(id) => task::detach(db, *id)?,
        Write::JoinTree { root } => tree::join(db, *root)?,
        Write::LeaveTree { root } => tree::leave(db, *root)?,
        Write::PutMessage(row) => {
            mark.note(row.seq);
            message::put(db, row)?;
        }
        Write::DeleteMessage { channel, seq } => message::delete(db, channel, *seq)?,
        Write::ExpireMessages { channel, now } => message::expire(db, channel, *now)?,
        Write::ClearSignals { instance } => message::clear_signals(db, *instance)?,
        Write::PutSubscription(row) => {
            mark.note(row.seq);
            subscription::put(db, row)?;
        }
        Write::DeleteSubscription { channel, seq } => subscription::delete(db, channel, *seq)?,
        Write::PutIncident(row) => incident::put(db, row)?,
        Write::DeleteIncident(id) => incident::delete(db, *id)?,
        Write::ClearIncidents { instance } => incident::clear(db, *instance)?,
        Write::PutTags { instance, tags, attributes } => {
            instance_tag::put(db, *instance, tags, attributes)?;
        }
        Write::InsertDefinition(row) => definition::insert(db, row)?,
        Write::RetireDefinition(id) => definition::retire(db, *id)?,
        Write::PauseDefinition { name, pause } => definition::pause(db, name, pause.as_ref())?,
        Write::SetTriggers { name, definition, triggers } => {
            trigger_start::set(db, name, *definition, triggers)?;
        }
        Write::PutAnswer(row) => answer::put(db, row)?,
        Write::PutMessageId { id, expires_at } => message_id::put(db, id, *expires_at)?,
        Write::Resume { at, audit } => node::resume(db, *at, audit)?,
    }
    Ok(true)
}

/// Timers of a plan, collected and written in due order at the end, so that timers that are due
/// together are on the same pages. A removal also removes a collected timer.
#[derive(Default)]
struct Timers(BTreeMap<TimerKey, TimerRow>);

impl Timers {
    fn insert(&mut self, row: TimerRow) {
        self.0.insert(row.key(), row);
    }

    fn delete(&mut self, db: &Db<'_>, key: TimerKey) -> Result<(), Error> {
        self.0.remove(&key);
        timer::delete(db, key)
    }

    fn relocate(&mut self, db: &Db<'_>, from: TimerKey, to: TimerKey) -> Result<(), Error> {
        match self.0.remove(&from) {
            Some(row) => {
                self.insert(TimerRow { frozen: to.frozen, due_at: to.due_at, ..row });
                Ok(())
            }
            None => timer::relocate(db, from, to),
        }
    }

    fn flush(self, db: &Db<'_>) -> Result<(), Error> {
        self.0.values().try_for_each(|row| timer::insert(db, row))
    }
}
