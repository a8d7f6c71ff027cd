//! Settling a plan: the conditional parts, decided inside the transaction by pure code.
//!
//! Every store does the same three things: fetch what [`Plan::lookups`] asks for, call
//! [`Plan::settle`] with a function that tries a guard, and write the rows it gets back. So a
//! publish and a subscribe of two nodes meet here, under the store's locks, and cannot miss each
//! other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use meantime_core::{
    Answer, DefinitionId, EffectKey, Event, InstanceId, Json, ParentClose, Start, StartCause,
    Timestamp, Trigger,
};

use super::plan::encode_start;
use super::{
    Accept, AnswerRow, Ask, ChannelKey, ChannelKind, ChildRef, Error, Extra, Guard, InboxRow,
    InstanceRow, Lookups, MessageRow, NewDefinition, Phase, Plan, Refusal, Require, StartedBy,
    SubscriptionRow, Unit, UnitDone, UnitResult, Write,
};
use crate::open::Open;

/// What the store holds of everything the plan depends on.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Live instances by (definition name, key).
    pub keys: BTreeMap<(String, String), InstanceId>,
    /// Remembered answers by idempotency key.
    pub requests: BTreeMap<String, AnswerRow>,
    /// Message ids that were seen.
    pub messages: BTreeSet<String>,
    /// Channels, oldest first on both sides.
    pub channels: BTreeMap<ChannelKey, Channel>,
    /// All versions by name, latest first.
    pub definitions: BTreeMap<String, Vec<DefinitionHead>>,
    /// What messages and signals start.
    pub starts: BTreeMap<(ChannelKind, String), Vec<(DefinitionHead, Trigger)>>,
    /// Live children by parent.
    pub children: BTreeMap<InstanceId, Vec<ChildRef>>,
    /// Which of the asked-for instances are live.
    pub live: BTreeSet<InstanceId>,
    /// The number of the next definition.
    pub next_definition: u64,
}

/// Both sides of a channel.
#[derive(Debug, Clone, Default)]
pub struct Channel {
    /// Kept messages that have not expired.
    pub messages: VecDeque<MessageRow>,
    /// Those who wait.
    pub subscriptions: VecDeque<SubscriptionRow>,
}

/// A version, without its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionHead {
    /// Its number.
    pub id: DefinitionId,
    /// The name.
    pub name: String,
    /// The version.
    pub version: u32,
    /// The content's hash.
    pub hash: String,
    /// Whether it starts nothing any more.
    pub retired: bool,
    /// What it starts by itself.
    pub triggers: Vec<Trigger>,
}

/// A settled plan: rows to write, and what became of each unit.
#[derive(Debug, Default)]
pub struct Settled {
    /// Rows to write, in order, with the number of the unit they belong to.
    pub writes: Vec<(usize, Write)>,
    /// One result per unit, in order.
    pub results: Vec<UnitResult>,
}

impl Plan {
    /// What settling this plan needs to see.
    pub fn lookups(&self) -> Lookups {
        let mut lookups = Lookups::default();
        for unit in &self.units {
            unit.requires.iter().for_each(|require| lookups.add_require(require));
            unit.asks.iter().for_each(|ask| lookups.add_ask(ask));
        }
        // What a plan takes out of a channel does not count towards what it may have to match.
        for write in self.units.iter().flat_map(|unit| &unit.writes) {
            let (Write::DeleteMessage { channel, .. } | Write::DeleteSubscription { channel, .. }) =
                write
            else {
                continue;
            };
            if let Some(wanted) = lookups.channels.get_mut(channel) {
                *wanted = wanted.saturating_add(1);
            }
        }
        lookups
    }

    /// Decides every unit in order. `guard` tries a fence and says whether it holds.
    pub fn settle(
        self,
        found: &mut Found,
        mut guard: impl FnMut(&Guard) -> Result<bool, Error>,
    ) -> Result<Settled, Error> {
        let mut settled = Settled::default();
        for (number, unit) in self.units.into_iter().enumerate() {
            let mut settling = Settling { now: self.now, found, done: UnitDone::default() };
            let mut writes = Vec::new();
            let result = match settling.unit(unit, &mut guard, &mut writes)? {
                Some(failed) => failed,
                None => UnitResult::Done(settling.done),
            };
            settled.writes.extend(writes.into_iter().map(|write| (number, write)));
            settled.results.push(result);
        }
        Ok(settled)
    }
}

impl Lookups {
    fn add_require(&mut self, require: &Require) {
        match require {
            Require::KeyFree { definition, key } => {
                self.keys.insert((definition.clone(), key.clone()));
            }
            Require::NewRequest(answer) => {
                self.requests.insert(answer.key.clone());
            }
        }
    }

    fn add_ask(&mut self, ask: &Ask) {
        match ask {
            Ask::Publish { message, id, .. } => {
                self.messages.extend(id.iter().map(|(id, _)| id.clone()));
                self.add_channel(&message.channel);
                self.add_start(&message.channel);
            }
            Ask::Return { message, .. } => self.add_channel(&message.channel),
            Ask::Subscribe { subscription, .. } => self.add_channel(&subscription.channel),
            Ask::Offer { channel, .. } => {
                self.add_channel(channel);
                self.add_start(channel);
            }
            Ask::Broadcast { channel, .. } => {
                self.channels.insert(channel.clone(), usize::MAX);
                self.add_start(channel);
            }
            Ask::StartChild { definition, row, .. } => {
                self.definitions.insert(definition.clone());
                if let Some(key) = &row.key {
                    self.keys.insert((definition.clone(), key.clone()));
                }
            }
            Ask::CancelChildren { instance, .. } => {
                self.children.insert(*instance);
            }
            Ask::Notify { parent, .. } => {
                self.live.insert(*parent);
            }
            Ask::Deploy(new) => {
                self.definitions.insert(new.row.name.clone());
            }
            Ask::Undeploy { name, .. } => {
                self.definitions.insert(name.clone());
            }
        }
    }

    fn add_channel(&mut self, channel: &ChannelKey) {
        let wanted = self.channels.entry(channel.clone()).or_default();
        *wanted = wanted.saturating_add(1);
    }

    fn add_start(&mut self, channel: &ChannelKey) {
        self.starts.insert((channel.kind, channel.name.clone()));
    }

    /// The business keys that message starts depend on, once it is known what they start.
    pub fn start_keys(&self, found: &Found) -> BTreeSet<(String, String)> {
        let mut keys = BTreeSet::new();
        for channel in self.channels.keys() {
            for (head, _) in found.starts_of(channel) {
                keys.insert((head.name.clone(), channel.key.clone()));
            }
        }
        keys
    }
}

impl Found {
    fn starts_of(&self, channel: &ChannelKey) -> &[(DefinitionHead, Trigger)] {
        self.starts.get(&(channel.kind, channel.name.clone())).map_or(&[], Vec::as_slice)
    }

    fn latest(&self, name: &str, version: Option<u32>) -> Option<&DefinitionHead> {
        let wanted = |head: &&DefinitionHead| {
            !head.retired && version.is_none_or(|version| head.version == version)
        };
        self.definitions.get(name)?.iter().find(wanted)
    }
}

/// One unit being settled.
struct Settling<'a> {
    now: Timestamp,
    found: &'a mut Found,
    done: UnitDone,
}

impl Settling<'_> {
    fn unit(
        &mut self,
        unit: Unit,
        guard: &mut impl FnMut(&Guard) -> Result<bool, Error>,
        writes: &mut Vec<Write>,
    ) -> Result<Option<UnitResult>, Error> {
        if let Some(refusal) = unit.requires.iter().find_map(|require| self.refusal(require)) {
            return Ok(Some(UnitResult::Refused(refusal)));
        }
        if let Some(refusal) = unit.asks.iter().find_map(|ask| self.unknown_version(ask)) {
            return Ok(Some(UnitResult::Refused(refusal)));
        }
        if !guard(&unit.guard)? {
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

    fn refusal(&self, require: &Require) -> Option<Refusal> {
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

    fn unknown_version(&self, ask: &Ask) -> Option<Refusal> {
        let Ask::Undeploy { name, version } = ask else { return None };
        self.found.latest(name, Some(*version)).is_none().then_some(Refusal::UnknownDefinition)
    }

    /// Units of one batch see what the ones before them did.
    fn note_guard(&mut self, guard: &Guard) {
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
        }
    }

    /// Who stopped waiting gets nothing, and what was taken out is not offered.
    fn note_write(&mut self, write: &Write) {
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
            _ => {}
        }
    }

    fn claim(&mut self, require: Require, guard: &Guard, writes: &mut Vec<Write>) {
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

    fn ask(&mut self, ask: Ask, writes: &mut Vec<Write>) {
        match ask {
            Ask::Publish { message, id, accept } => {
                if self.is_new(id, writes) {
                    self.publish(message, accept, writes);
                }
            }
            Ask::Subscribe { subscription, seq } => self.subscribe(subscription, seq, writes),
            Ask::Return { message, seq } => self.put_back(message, seq, writes),
            Ask::Broadcast { channel, payload, accept } => {
                self.broadcast(&channel, &payload, accept, writes);
            }
            Ask::StartChild { key, definition, version, row, seq } => {
                self.start_child(key, definition, version, row, seq, writes);
            }
            Ask::CancelChildren { instance, only, normal_end, reason, seq } => {
                self.cancel_children(instance, only, normal_end, &reason, seq, writes);
            }
            Ask::Notify { parent, event, seq } => {
                if self.found.live.contains(&parent) {
                    self.deliver(parent, event, None, seq, writes);
                }
            }
            Ask::Offer { channel, accept } => self.offer(&channel, accept, writes),
            Ask::Deploy(new) => self.deploy(*new, writes),
            Ask::Undeploy { name, version } => self.undeploy(&name, version, writes),
        }
    }

    /// Remembers a message's id, unless it was seen before.
    fn is_new(&mut self, id: Option<(String, Timestamp)>, writes: &mut Vec<Write>) -> bool {
        let Some((id, expires_at)) = id else { return true };
        if !self.found.messages.insert(id.clone()) {
            self.done.duplicate = true;
            return false;
        }
        writes.push(Write::PutMessageId { id, expires_at });
        true
    }

    fn publish(&mut self, message: MessageRow, accept: Accept, writes: &mut Vec<Write>) {
        writes.push(Write::ExpireMessages { channel: message.channel.clone(), now: self.now });
        if self.give(&message, accept.seq, writes)
            || self.start_by_message(&message, accept, writes)
            || message.expires_at.is_some_and(|expiry| expiry <= self.now)
        {
            return;
        }
        self.keep(message, writes);
    }

    /// Gives the message to whoever waits longest.
    fn give(&mut self, message: &MessageRow, seq: u64, writes: &mut Vec<Write>) -> bool {
        let channel = self.found.channels.entry(message.channel.clone()).or_default();
        let Some(waiter) = channel.subscriptions.pop_front() else { return false };
        writes.push(Write::DeleteSubscription { channel: waiter.channel, seq: waiter.seq });
        self.hand_over(waiter.key, message.clone(), seq, writes);
        true
    }

    fn keep(&mut self, message: MessageRow, writes: &mut Vec<Write>) {
        let messages = &mut self.found.channels.entry(message.channel.clone()).or_default().messages;
        let place = messages.partition_point(|other| other.seq < message.seq);
        messages.insert(place, message.clone());
        self.done.kept = true;
        writes.push(Write::PutMessage(message));
    }

    fn subscribe(&mut self, waiter: SubscriptionRow, seq: u64, writes: &mut Vec<Write>) {
        let channel = self.found.channels.entry(waiter.channel.clone()).or_default();
        if let Some(message) = channel.messages.pop_front() {
            let channel = message.channel.clone();
            writes.push(Write::DeleteMessage { channel, seq: message.seq });
            self.hand_over(waiter.key, message, seq, writes);
        } else if waiter.channel.kind != ChannelKind::Signal {
            // Signals need no row: only their own instance can wait for them, in its open list.
            channel.subscriptions.push_back(waiter.clone());
            writes.push(Write::PutSubscription(waiter));
        }
    }

    fn put_back(&mut self, message: MessageRow, seq: u64, writes: &mut Vec<Write>) {
        let expired = message.expires_at.is_some_and(|expiry| expiry <= self.now);
        if !expired && !self.give(&message, seq, writes) {
            self.keep(message, writes);
        }
    }

    fn broadcast(
        &mut self,
        channel: &ChannelKey,
        payload: &Json,
        accept: Accept,
        writes: &mut Vec<Write>,
    ) {
        let name = &channel.name;
        let waiting = self.found.channels.entry(channel.clone()).or_default();
        let waiters = std::mem::take(&mut waiting.subscriptions);
        let starts = self.found.starts_of(channel).to_vec();
        // An instance may wait at several places, and each delivery needs its own place in the
        // inbox: ids that start nothing lend their numbers, which nobody else uses.
        let mut spare = accept.ids.iter().skip(starts.len()).map(|id| id.order());
        let mut served = BTreeSet::new();
        for waiter in waiters {
            let is_first = served.insert(waiter.key.instance);
            let seq =
                if is_first { accept.seq } else { spare.next().unwrap_or(waiter.seq) };
            let event =
                Event::Signal { key: waiter.key, name: name.clone(), payload: payload.clone() };
            writes.push(Write::DeleteSubscription { channel: waiter.channel, seq: waiter.seq });
            self.deliver(waiter.key.instance, event, None, seq, writes);
        }
        for ((head, trigger), id) in starts.into_iter().zip(accept.ids) {
            let (Trigger::Signal { place, .. } | Trigger::Message { place, .. }) = trigger;
            let cause = StartCause::Signal { name: name.clone() };
            let input = payload.clone();
            let start = Start { cause, at: Some(place), input, context: None };
            self.accept(self.new_instance(id, head.id, &start), writes);
        }
    }

    /// Starts an instance by a message, unless one with this key is still alive.
    fn start_by_message(
        &mut self,
        message: &MessageRow,
        accept: Accept,
        writes: &mut Vec<Write>,
    ) -> bool {
        let ChannelKey { name, key, .. } = &message.channel;
        let Some((head, trigger)) = self.found.starts_of(&message.channel).first().cloned() else {
            return false;
        };
        let Some(id) = accept.ids.first() else { return false };
        if !key.is_empty() && self.found.keys.contains_key(&(head.name.clone(), key.clone())) {
            return false;
        }
        let (Trigger::Message { place, .. } | Trigger::Signal { place, .. }) = trigger;
        let cause = StartCause::Message { name: name.clone() };
        let input = message.payload.clone();
        let start = Start { cause, at: Some(place), input, context: None };
        let mut row = self.new_instance(*id, head.id, &start);
        if !key.is_empty() {
            row.key = Some(key.clone());
            let started_by = StartedBy { name: name.clone(), key: key.clone() };
            row.extra.started_by = Some(started_by);
            self.found.keys.insert((head.name, key.clone()), *id);
        }
        self.accept(row, writes);
        true
    }

    fn offer(&mut self, channel: &ChannelKey, accept: Accept, writes: &mut Vec<Write>) {
        let kept = self.found.channels.entry(channel.clone()).or_default();
        let Some(message) = kept.messages.pop_front() else { return };
        if self.start_by_message(&message, accept, writes) {
            writes.push(Write::DeleteMessage { channel: message.channel, seq: message.seq });
        } else if let Some(kept) = self.found.channels.get_mut(channel) {
            kept.messages.push_front(message);
        }
    }

    fn new_instance(&self, id: InstanceId, definition: DefinitionId, start: &Start) -> InstanceRow {
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

    fn accept(&mut self, row: InstanceRow, writes: &mut Vec<Write>) {
        self.done.accepted.push(row.id);
        writes.push(Write::InsertInstance(Box::new(row)));
    }

    fn start_child(
        &mut self,
        key: EffectKey,
        definition: String,
        version: Option<u32>,
        mut row: Box<InstanceRow>,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        let taken = row.key.clone().is_some_and(|key| {
            self.found.keys.contains_key(&(definition.clone(), key))
        });
        let conflict = match self.found.latest(&definition, version) {
            None => "unknown_definition",
            Some(_) if taken => "key_taken",
            Some(head) => {
                row.definition = head.id;
                if let Some(key) = row.key.clone() {
                    self.found.keys.insert((definition, key), row.id);
                }
                self.done.accepted.push(row.id);
                writes.push(Write::InsertInstance(row));
                return;
            }
        };
        let answer = Answer::Conflict { code: conflict.to_owned() };
        self.deliver(key.instance, Event::EffectDone { key, answer }, None, seq, writes);
    }

    fn cancel_children(
        &mut self,
        instance: InstanceId,
        only: Option<EffectKey>,
        normal_end: bool,
        reason: &str,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        let ends = |child: &ChildRef| match (only, child.close) {
            (Some(key), _) => child.key == key,
            (None, ParentClose::Cancel) => true,
            (None, ParentClose::Detach) => !normal_end,
            (None, ParentClose::Abandon) => false,
        };
        let children = self.found.children.get(&instance).cloned().unwrap_or_default();
        for child in children.into_iter().filter(ends) {
            let event = Event::Cancel { reason: reason.to_owned() };
            self.deliver(child.id, event, None, seq, writes);
        }
    }

    /// Turns a message into the event of the subscription it was matched with.
    fn hand_over(
        &mut self,
        key: EffectKey,
        message: MessageRow,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        let (name, payload) = (message.channel.name.clone(), message.payload.clone());
        let event = match message.channel.kind {
            ChannelKind::Message => Event::Message { key, name, payload },
            ChannelKind::Signal | ChannelKind::Broadcast => Event::Signal { key, name, payload },
        };
        self.deliver(key.instance, event, Some(message), seq, writes);
    }

    fn deliver(
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

    fn deploy(&mut self, new: NewDefinition, writes: &mut Vec<Write>) {
        let mut row = new.row;
        let versions = self.found.definitions.entry(row.name.clone()).or_default();
        if let Some(latest) = versions.iter().find(|head| !head.retired)
            && latest.hash == row.hash
        {
            self.done.deployed.push((latest.id, latest.version, false));
            return;
        }
        row.id = DefinitionId(self.found.next_definition);
        self.found.next_definition = self.found.next_definition.saturating_add(1);
        row.version = versions.first().map_or(1, |head| head.version.saturating_add(1));
        versions.insert(0, DefinitionHead {
            id: row.id,
            name: row.name.clone(),
            version: row.version,
            hash: row.hash.clone(),
            retired: false,
            triggers: row.triggers.clone(),
        });
        self.done.deployed.push((row.id, row.version, true));
        let (name, definition, triggers) = (row.name.clone(), row.id, row.triggers.clone());
        writes.push(Write::InsertDefinition(Box::new(row)));
        writes.push(Write::SetTriggers { name, definition, triggers });
    }

    fn undeploy(&mut self, name: &str, version: u32, writes: &mut Vec<Write>) {
        let Some(versions) = self.found.definitions.get_mut(name) else { return };
        let was_latest =
            versions.iter().find(|head| !head.retired).is_some_and(|head| head.version == version);
        let Some(head) = versions.iter_mut().find(|head| head.version == version) else { return };
        head.retired = true;
        let retired = head.id;
        writes.push(Write::RetireDefinition(retired));
        if was_latest {
            let heir = versions.iter().find(|head| !head.retired);
            let definition = heir.map_or(retired, |head| head.id);
            let triggers = heir.map_or_else(Vec::new, |head| head.triggers.clone());
            writes.push(Write::SetTriggers { name: name.to_owned(), definition, triggers });
        }
    }
}
