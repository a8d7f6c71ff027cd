//! Units in order: what must be new, the fence, the writes, then what depends on others.

use meantime_core::{DefinitionId, Event, InstanceId, Start, Timestamp};

use super::found::Found;
use crate::open::Open;
use crate::store::{
    Ask, Error, Extra, Guard, InboxRow, InstanceRow, MessageRow, Phase, Plan, Refusal, Require,
    Unit, UnitDone, UnitResult, Write, encode_start,
};

/// A settled plan: rows to write, and what became of each unit.
#[derive(Debug, Default)]
pub struct Settled {
    /// Rows to write, in order, with the number of the unit they belong to.
    pub writes: Vec<(usize, Write)>,
    /// One result per unit, in order.
    pub results: Vec<UnitResult>,
}

impl Plan {
    /// Decides every unit in order. `fence` tries the fence of a unit and says whether it holds.
    pub fn settle(
        self,
        found: &mut Found,
        mut fence: impl FnMut(&Unit) -> Result<bool, Error>,
    ) -> Result<Settled, Error> {
        let mut settled = Settled::default();
        for (number, unit) in self.units.into_iter().enumerate() {
            let mut settling = Settling { now: self.now, found, done: UnitDone::default() };
            let mut writes = Vec::new();
            let result = match settling.unit(unit, &mut fence, &mut writes)? {
                Some(failed) => failed,
                None => UnitResult::Done(settling.done),
            };
            settled.writes.extend(writes.into_iter().map(|write| (number, write)));
            settled.results.push(result);
        }
        Ok(settled)
    }
}

/// One unit being settled.
pub(super) struct Settling<'a> {
    pub(super) now: Timestamp,
    pub(super) found: &'a mut Found,
    pub(super) done: UnitDone,
}

impl Settling<'_> {
    pub(super) fn unit(
        &mut self,
        unit: Unit,
        fence: &mut impl FnMut(&Unit) -> Result<bool, Error>,
        writes: &mut Vec<Write>,
    ) -> Result<Option<UnitResult>, Error> {
        if let Some(refusal) = unit.requires.iter().find_map(|require| self.refusal(require)) {
            return Ok(Some(UnitResult::Refused(refusal)));
        }
        if let Some(refusal) = unit.asks.iter().find_map(|ask| self.refused_definition(ask)) {
            return Ok(Some(UnitResult::Refused(refusal)));
        }
        if !fence(&unit)? {
            return Ok(Some(UnitResult::Conflict));
        }
        self.note_guard(&unit.guard);
        for require in unit.requires {
            self.claim(require, &unit.guard, writes);
        }
        unit.writes.iter().for_each(|write| self.note_write(write));
        writes.extend(unit.writes);
        for ask in unit.asks {
            self.ask(ask, writes);
        }
        Ok(None)
    }

    pub(super) fn refusal(&self, require: &Require) -> Option<Refusal> {
        match require {
            Require::KeyFree { definition, key } => {
                let taken = self.found.keys.get(&(definition.clone(), key.clone()))?;
                Some(Refusal::KeyTaken(*taken))
            }
            Require::NewRequest(new) => {
                let known = self.found.requests.get(&new.key)?;
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

    /// Units of one batch see what the ones before them did.
    pub(super) fn note_guard(&mut self, guard: &Guard) {
        if let Guard::Turn { row, .. } = guard
            && row.phase.is_ended()
        {
            self.found.live.remove(&row.id);
            if let Some(lineage) = &row.extra.lineage
                && let Some(children) = self.found.children.get_mut(&lineage.parent.instance)
            {
                children.retain(|child| child.id != row.id);
            }
            if row.key.is_some() {
                self.found.keys.retain(|_, holder| *holder != row.id);
            }
            for tagged in self.found.tagged.values_mut() {
                tagged.retain(|id| *id != row.id);
            }
        }
    }

    /// Who stopped waiting gets nothing, and what was taken out is not offered.
    pub(super) fn note_write(&mut self, write: &Write) {
        match write {
            Write::DeleteSubscription { channel, seq } => {
                if let Some(found) = self.found.channels.get_mut(channel) {
                    found.subscriptions.retain(|waiter| waiter.seq != *seq);
                }
            }
            Write::DeleteMessage { channel, seq } => {
                if let Some(found) = self.found.channels.get_mut(channel) {
                    found.messages.retain(|message| message.seq != *seq);
                }
            }
            Write::LeaveTree { root } => {
                if let Some(tree) = self.found.trees.get_mut(root) {
                    tree.live = tree.live.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    pub(super) fn claim(&mut self, require: Require, guard: &Guard, writes: &mut Vec<Write>) {
        match require {
            Require::KeyFree { definition, key } => {
                if let Guard::Insert(row) = guard
                    && !row.phase.is_ended()
                {
                    self.found.keys.insert((definition, key), row.id);
                }
            }
            Require::NewRequest(answer) => {
                self.found.requests.insert(answer.key.clone(), answer.clone());
                writes.push(Write::PutAnswer(answer));
            }
        }
    }

    pub(super) fn ask(&mut self, ask: Ask, writes: &mut Vec<Write>) {
        match ask {
            Ask::Publish { message, id, accept } => {
                if self.is_new(id, writes) {
                    self.publish(message, &accept, writes);
                }
            }
            Ask::Subscribe { subscription, seq } => self.subscribe(subscription, seq, writes),
            Ask::Return { message, definition, waiter, accept } => {
                self.put_back(message, &definition, waiter, &accept, writes);
            }
            Ask::Broadcast { channel, payload, accept } => {
                self.broadcast(&channel, &payload, accept, writes);
            }
            Ask::StartChild { key, definition, version, label, row, slot, tree_limit, seq } => {
                let place = (slot, tree_limit);
                self.start_child(key, (definition, version, label), row, place, seq, writes);
            }
            Ask::PutSchedule { answer, row, tag, target, upsert, seq } => {
                self.put_schedule(answer, (row, tag), &target, upsert, seq, writes);
            }
            Ask::CancelChildren { instance, only, normal_end, reason, seq } => {
                self.cancel_children(instance, only, normal_end, &reason, seq, writes);
            }
            Ask::TellChildren { instance, event, seq } => {
                let children = self.found.children.get(&instance).cloned().unwrap_or_default();
                for child in children {
                    self.deliver(child.id, event.clone(), None, seq, writes);
                }
            }
            Ask::Notify { parent, event, seq } => {
                if self.found.live.contains(&parent) {
                    self.deliver(parent, event, None, seq, writes);
                }
            }
            Ask::Offer { channels, definition, accept } => {
                self.offer(&channels, &definition, &accept, writes);
            }
            Ask::Deploy(new) => self.deploy(*new, writes),
            Ask::Undeploy { name, version, accept } => {
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
        InstanceRow {
            id,
            turn_no: 0,
            phase: Phase::Starting,
            definition,
            started_at: self.now,
            ended_at: None,
            deadline_at: None,
            state: encode_start(start),
            open: Open::default(),
            last_history: 0,
            key: None,
            extra: Extra::default(),
        }
    }

    pub(super) fn accept(&mut self, row: InstanceRow, writes: &mut Vec<Write>) {
        self.done.accepted.push(row.id);
        writes.push(Write::InsertInstance(Box::new(row)));
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
