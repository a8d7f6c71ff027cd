//! Resolves units in order: preconditions, the fence, the writes, then the conditional writes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use meantime_core::{Answer, DefinitionId, EffectKey, Event, InstanceId, Start, Timestamp};

use super::snapshot::Snapshot;
use crate::store::{
    ConditionalWrite, Error, Fence, InboxRow, InstanceRow, MessageRow, Plan, Precondition, Refusal,
    Unit, UnitDone, UnitResult, Write, encode_start,
};

/// A resolved plan: the rows to write, and the result of each unit.
#[derive(Debug, Default)]
pub struct ResolvedPlan<'p> {
    /// Rows to write, in order, with the number of the unit they belong to: those of the plan, and
    /// those that were decided.
    pub writes: Vec<(usize, Cow<'p, Write>)>,
    /// One result per unit, in order.
    pub results: Vec<UnitResult>,
}

impl Plan {
    /// Decides every unit in order. `fence` tries the fence of a unit and returns whether it holds.
    /// Units that are left out count as conflicts and write nothing.
    pub fn resolve(
        &self,
        left_out: &BTreeSet<usize>,
        snapshot: &mut Snapshot,
        mut fence: impl FnMut(&Unit) -> Result<bool, Error>,
    ) -> Result<ResolvedPlan<'_>, Error> {
        let mut resolved = ResolvedPlan::default();
        for (number, unit) in self.units.iter().enumerate() {
            if left_out.contains(&number) {
                resolved.results.push(UnitResult::Conflict);
                continue;
            }
            let mut unit_resolver =
                UnitResolver { now: self.now, snapshot, ended: None, done: UnitDone::default() };
            let result = match unit_resolver.admit(unit, &mut fence)? {
                Some(failed) => failed,
                None => {
                    let mut decided = Vec::new();
                    unit_resolver.claim_all(unit, &mut decided);
                    let decided_first = decided.drain(..).map(Cow::Owned);
                    resolved.writes.extend(decided_first.map(|write| (number, write)));
                    let planned = unit.writes.iter().map(Cow::Borrowed);
                    resolved.writes.extend(planned.map(|write| (number, write)));
                    unit_resolver.conditional_writes(unit, &mut decided);
                    let decided_last = decided.into_iter().map(Cow::Owned);
                    resolved.writes.extend(decided_last.map(|write| (number, write)));
                    UnitResult::Done(unit_resolver.done)
                }
            };
            resolved.results.push(result);
        }
        Ok(resolved)
    }
}

/// One unit while it is resolved.
pub(super) struct UnitResolver<'a> {
    pub(super) now: Timestamp,
    pub(super) snapshot: &'a mut Snapshot,
    /// The instance that ends by this unit.
    pub(super) ended: Option<InstanceId>,
    pub(super) done: UnitDone,
}

impl UnitResolver<'_> {
    /// Tries the fence of a unit; returns the result of a unit that is not admitted.
    fn admit(
        &mut self,
        unit: &Unit,
        fence: &mut impl FnMut(&Unit) -> Result<bool, Error>,
    ) -> Result<Option<UnitResult>, Error> {
        // Everything that can reject the unit comes before the first change of the snapshot: a
        // rejected unit must leave no trace for the units after it.
        if let Some(refusal) =
            unit.preconditions.iter().find_map(|precondition| self.refusal(precondition))
        {
            return Ok(Some(UnitResult::Refused(refusal)));
        }
        if let Some(refusal) = unit
            .conditional_writes
            .iter()
            .find_map(|conditional_write| self.refused_definition(conditional_write))
        {
            return Ok(Some(UnitResult::Refused(refusal)));
        }
        // The fence comes last, because SQLite checks it by writing its row. If it does not hold,
        // the unit was computed from a stale row and must write nothing.
        if !fence(unit)? {
            return Ok(Some(UnitResult::Conflict));
        }
        self.note_guard(&unit.fence);
        self.ended = match &unit.fence {
            Fence::Insert(row) | Fence::Turn { row, .. } if row.phase.is_ended() => Some(row.id),
            _ => None,
        };
        Ok(None)
    }

    /// Records the preconditions of a unit, which hold.
    fn claim_all(&mut self, unit: &Unit, writes: &mut Vec<Write>) {
        for precondition in &unit.preconditions {
            self.claim(precondition, &unit.fence, writes);
        }
    }

    /// Decides the conditional writes of a unit, which come after its other writes.
    fn conditional_writes(&mut self, unit: &Unit, writes: &mut Vec<Write>) {
        unit.writes.iter().for_each(|write| self.note_write(write));
        for conditional_write in &unit.conditional_writes {
            self.conditional_write(conditional_write.clone(), writes);
        }
    }

    pub(super) fn refusal(&self, precondition: &Precondition) -> Option<Refusal> {
        match precondition {
            Precondition::KeyFree { definition, key } => {
                let taken = self.snapshot.keys.get(&(definition.clone(), key.clone()))?;
                Some(Refusal::KeyTaken(*taken))
            }
            Precondition::NewRequest(new) => {
                let known = self.snapshot.requests.get(&new.key)?;
                if known.expires_at <= self.now {
                    None
                } else if known.request == new.request {
                    Some(Refusal::Repeated(known.instance))
                } else {
                    Some(Refusal::KeyReused)
                }
            }
        }
    }

    /// Records the row of a fence that held, so that later units of the plan see it.
    pub(super) fn note_guard(&mut self, fence: &Fence) {
        if let Fence::Turn { row, .. } = fence
            && row.phase.is_ended()
        {
            self.snapshot.live.remove(&row.id);
            if let Some(lineage) = &row.meta.lineage
                && let Some(children) = self.snapshot.children.get_mut(&lineage.parent.instance)
            {
                children.retain(|child| child.id != row.id);
            }
            if row.key.is_some() {
                self.snapshot.keys.retain(|_, holder| *holder != row.id);
            }
            for tagged in self.snapshot.tagged.values_mut() {
                tagged.retain(|id| *id != row.id);
            }
        }
    }

    /// Records a write: a subscription that ended gets no message, and a message that was taken is
    /// not offered again.
    pub(super) fn note_write(&mut self, write: &Write) {
        match write {
            Write::DeleteSubscription { channel, seq } => {
                if let Some(snapshot) = self.snapshot.channels.get_mut(channel) {
                    snapshot.subscriptions.retain(|waiter| waiter.seq != *seq);
                }
            }
            Write::DeleteMessage { channel, seq } => {
                if let Some(snapshot) = self.snapshot.channels.get_mut(channel) {
                    snapshot.messages.retain(|message| message.seq != *seq);
                }
            }
            Write::LeaveTree { root } => {
                if let Some(tree) = self.snapshot.trees.get_mut(root) {
                    tree.live = tree.live.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    pub(super) fn claim(
        &mut self,
        precondition: &Precondition,
        fence: &Fence,
        writes: &mut Vec<Write>,
    ) {
        match precondition {
            Precondition::KeyFree { definition, key } => {
                if let Fence::Insert(row) = fence
                    && !row.phase.is_ended()
                {
                    self.snapshot.keys.insert((definition.clone(), key.clone()), row.id);
                }
            }
            Precondition::NewRequest(answer) => {
                self.snapshot.requests.insert(answer.key.clone(), answer.clone());
                writes.push(Write::PutAnswer(answer.clone()));
            }
        }
    }

    pub(super) fn conditional_write(
        &mut self,
        conditional_write: ConditionalWrite,
        writes: &mut Vec<Write>,
    ) {
        match conditional_write {
            ConditionalWrite::Publish { message, id, accept } => {
                if self.is_new(id, writes) {
                    self.publish(message, &accept, writes);
                }
            }
            ConditionalWrite::Subscribe { subscription, seq } => {
                self.subscribe(subscription, seq, writes);
            }
            ConditionalWrite::Return { message, definition, waiter, accept } => {
                self.put_back(message, &definition, waiter, &accept, writes);
            }
            ConditionalWrite::Broadcast { channel, payload, accept } => {
                self.broadcast(&channel, &payload, accept, writes);
            }
            ConditionalWrite::StartChild(child) => self.start_child(child, writes),
            ConditionalWrite::PutSchedule { answer, row, tag, target, upsert, seq } => {
                self.put_schedule(answer, (row, tag), &target, upsert, seq, writes);
            }
            ConditionalWrite::CancelChildren { instance, only, normal_end, reason, seq } => {
                self.cancel_children(instance, only, normal_end, &reason, seq, writes);
            }
            ConditionalWrite::NotifyChildren { instance, event, seq } => {
                let children = self.snapshot.children.get(&instance).cloned().unwrap_or_default();
                for child in children {
                    self.deliver(child.id, event.clone(), None, seq, writes);
                }
            }
            // An instance that has ended has no use for the event.
            ConditionalWrite::Notify { parent, event, seq } => {
                if self.snapshot.live.contains(&parent) {
                    self.deliver(parent, event, None, seq, writes);
                }
            }
            ConditionalWrite::Offer { channels, definition, accept } => {
                self.offer(&channels, &definition, &accept, writes);
            }
            ConditionalWrite::Deploy(new) => self.deploy(*new, writes),
            ConditionalWrite::PauseDefinition { name, pause } => {
                self.pause_definition(name, pause, writes);
            }
            ConditionalWrite::Undeploy { name, version, accept } => {
                self.undeploy(&name, version, &accept, writes);
            }
        }
    }

    pub(super) fn new_instance(
        &self,
        id: InstanceId,
        definition: DefinitionId,
        start: &Start,
    ) -> InstanceRow {
        let state = encode_start(start);
        InstanceRow { state, ..InstanceRow::accepted(id, definition, self.now) }
    }

    pub(super) fn accept(&mut self, row: Box<InstanceRow>, writes: &mut Vec<Write>) {
        self.done.accepted.push(row.id);
        self.done.accepted_definitions.push(row.definition);
        writes.push(Write::InsertInstance(row));
    }

    /// Answers an effect of a turn. An instance that ends with that turn hears nothing any more: an
    /// answer would only be read to be dropped, and a definition that starts itself and ends would
    /// write one for every child that is refused.
    pub(super) fn answer(
        &mut self,
        key: EffectKey,
        answer: Answer,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        if self.ended != Some(key.instance) {
            self.deliver(key.instance, Event::EffectDone { key, answer }, None, seq, writes);
        }
    }

    pub(super) fn deliver(
        &mut self,
        instance: InstanceId,
        event: Event,
        origin: Option<MessageRow>,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        self.done.woken.push(instance);
        let row = InboxRow { instance, seq, at: self.now, event, origin, held: None };
        writes.push(Write::PutInbox(Box::new(row)));
    }
}
