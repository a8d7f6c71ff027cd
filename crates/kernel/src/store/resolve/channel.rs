//! Channels: the oldest message is delivered to the subscription that has waited longest, once for
//! each definition; stored messages start instances.

use std::collections::BTreeSet;

use meantime_core::{EffectKey, Event, InstanceId, Json, Start, StartCause, Timestamp, Trigger};

use super::snapshot::DefinitionHead;
use super::unit::UnitResolver;
use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{
    Accept, ChannelKey, ChannelKind, MessageRow, StartedBy, SubscriptionRow, Write,
};

impl UnitResolver<'_> {
    /// Records the id of a message, unless it was seen before.
    pub(super) fn is_new(
        &mut self,
        id: Option<(String, Timestamp)>,
        writes: &mut Vec<Write>,
    ) -> bool {
        let Some((id, expires_at)) = id else { return true };
        if !self.snapshot.messages.insert(id.clone()) {
            self.done.duplicate = true;
            return false;
        }
        writes.push(Write::PutMessageId { id, expires_at });
        true
    }

    /// Delivers a message to one instance of every definition that waits for it or starts with it.
    /// It is kept for its time to live, for definitions that subscribe later.
    pub(super) fn publish(
        &mut self,
        mut message: MessageRow,
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        writes.push(Write::ExpireMessages { channel: message.channel.clone(), now: self.now });
        message.had = self.give(&message, accept.seq, writes);
        let starts = self.snapshot.open_starts_of(&message.channel);
        let mut ids = accept.ids.iter();
        for (head, trigger) in starts {
            if !message.was_had_by(&head.name)
                && self.is_free(&head, &message.channel)
                && let Some(id) = ids.next()
            {
                message.had.push(head.name.clone());
                self.start_by_message(&message, (head, trigger), *id, writes);
            }
        }
        if message.expires_at.is_none_or(|expiry| expiry > self.now) {
            self.done.kept |= message.had.is_empty();
            self.keep(message, writes);
        }
    }

    /// Delivers the message to the longest waiting subscription of each definition; returns their
    /// names.
    fn give(&mut self, message: &MessageRow, seq: u64, writes: &mut Vec<Write>) -> Vec<String> {
        let channel = self.snapshot.channels.entry(message.channel.clone()).or_default();
        let (mut served, mut chosen) = (Vec::new(), Vec::new());
        channel.subscriptions.retain(|waiter| {
            let is_first = !served.contains(&waiter.definition);
            if is_first {
                served.push(waiter.definition.clone());
                chosen.push(waiter.clone());
            }
            !is_first
        });
        for waiter in chosen {
            self.hand_to(waiter, message.clone(), seq, writes);
        }
        served
    }

    /// Stores a message, or updates a stored one.
    fn keep(&mut self, message: MessageRow, writes: &mut Vec<Write>) {
        let messages =
            &mut self.snapshot.channels.entry(message.channel.clone()).or_default().messages;
        let index = messages.partition_point(|other| other.seq < message.seq);
        match messages.get_mut(index).filter(|kept| kept.seq == message.seq) {
            Some(kept) => kept.clone_from(&message),
            None => messages.insert(index, message.clone()),
        }
        writes.push(Write::PutMessage(message));
    }

    pub(super) fn subscribe(&mut self, waiter: SubscriptionRow, seq: u64, writes: &mut Vec<Write>) {
        let channel = self.snapshot.channels.entry(waiter.channel.clone()).or_default();
        let is_new = |message: &MessageRow| !message.was_had_by(&waiter.definition);
        let index = channel
            .messages
            .iter()
            .position(is_new)
            .filter(|_| !is_injected(InjectedBug::MissMatch));
        let message = index.and_then(|index| match waiter.channel.kind {
            ChannelKind::Message => channel.messages.get(index).cloned(),
            ChannelKind::Signal | ChannelKind::Broadcast => channel.messages.remove(index),
        });
        if let Some(mut message) = message {
            if message.channel.kind == ChannelKind::Message {
                message.had.push(waiter.definition);
                self.keep(message.clone(), writes);
            } else {
                let channel = message.channel.clone();
                writes.push(Write::DeleteMessage { channel, seq: message.seq });
            }
            self.hand_over(waiter.key, message, seq, writes);
        } else if waiter.channel.kind != ChannelKind::Signal {
            // Signals need no row: only their own instance can wait for them, and its open list
            // says so.
            channel.subscriptions.push_back(waiter.clone());
            writes.push(Write::PutSubscription(waiter));
        }
    }

    /// Takes back a message that a definition did not take: another of its instances may get it,
    /// now or later.
    pub(super) fn put_back(
        &mut self,
        mut message: MessageRow,
        definition: &str,
        waiter: Option<EffectKey>,
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        if message.expires_at.is_some_and(|expiry| expiry <= self.now) {
            return;
        }
        if let Some(key) = waiter {
            self.hand_over(key, message, accept.seq, writes);
            return;
        }
        if message.channel.kind != ChannelKind::Message {
            self.keep(message, writes);
            return;
        }
        let channel = self.snapshot.channels.entry(message.channel.clone()).or_default();
        // Other definitions may have received it since it was delivered: the stored list is newer.
        if let Some(kept) = channel.messages.iter().find(|kept| kept.seq == message.seq) {
            message.had.clone_from(&kept.had);
        }
        let index = channel.subscriptions.iter().position(|it| it.definition == definition);
        if let Some(waiter) = index.and_then(|index| channel.subscriptions.remove(index)) {
            self.hand_to(waiter, message, accept.seq, writes);
            return;
        }
        let start = self.start_of(&message.channel, definition);
        if let (Some(start), Some(id)) = (start, accept.ids.first()) {
            self.start_by_message(&message, start, *id, writes);
            return;
        }
        // This definition has not taken it, so a later instance of it may.
        message.had.retain(|name| name != definition);
        self.keep(message, writes);
    }

    fn hand_to(
        &mut self,
        waiter: SubscriptionRow,
        message: MessageRow,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        writes.push(Write::DeleteSubscription { channel: waiter.channel, seq: waiter.seq });
        self.hand_over(waiter.key, message, seq, writes);
    }

    pub(super) fn broadcast(
        &mut self,
        channel: &ChannelKey,
        payload: &Json,
        accept: Accept,
        writes: &mut Vec<Write>,
    ) {
        let name = &channel.name;
        let waiting = self.snapshot.channels.entry(channel.clone()).or_default();
        let waiters = std::mem::take(&mut waiting.subscriptions);
        let starts = self.snapshot.open_starts_of(channel);
        // An instance may wait at several elements, and each delivery needs its own number in the
        // inbox: the numbers of reserved ids that start nothing are used, because they are unique.
        let mut spare = accept.ids.iter().skip(starts.len()).map(|id| id.order());
        let mut served = BTreeSet::new();
        for waiter in waiters {
            let is_first = served.insert(waiter.key.instance);
            let seq = if is_first { accept.seq } else { spare.next().unwrap_or(waiter.seq) };
            let event =
                Event::Signal { key: waiter.key, name: name.clone(), payload: payload.clone() };
            writes.push(Write::DeleteSubscription { channel: waiter.channel, seq: waiter.seq });
            self.deliver(waiter.key.instance, event, None, seq, writes);
        }
        for ((head, trigger), id) in starts.into_iter().zip(accept.ids) {
            let element = element_of(trigger);
            let cause = StartCause::Signal { name: name.clone() };
            let input = payload.clone();
            let start = Start { at: Some(element), ..Start::new(cause, input) };
            self.accept(Box::new(self.new_instance(id, head.id, &start)), writes);
        }
    }

    /// Whether a message may start an instance: no live instance has its business key.
    fn is_free(&self, head: &DefinitionHead, channel: &ChannelKey) -> bool {
        let key = (head.name.clone(), channel.key.clone());
        channel.key.is_empty() || !self.snapshot.keys.contains_key(&key)
    }

    /// The definition and trigger that a message of a channel starts, if it may start now.
    fn start_of(
        &self,
        channel: &ChannelKey,
        definition: &str,
    ) -> Option<(DefinitionHead, Trigger)> {
        let mut starts = self.snapshot.open_starts_of(channel).into_iter();
        let start = starts.find(|(head, _)| head.name == definition)?;
        self.is_free(&start.0, channel).then_some(start)
    }

    fn start_by_message(
        &mut self,
        message: &MessageRow,
        (head, trigger): (DefinitionHead, Trigger),
        id: InstanceId,
        writes: &mut Vec<Write>,
    ) {
        let ChannelKey { name, key, .. } = message.channel.clone();
        let cause = StartCause::Message { name: name.clone() };
        let (at, input) = (Some(element_of(trigger)), message.payload.clone());
        let start = Start { at, ..Start::new(cause, input) };
        let mut row = self.new_instance(id, head.id, &start);
        if !key.is_empty() {
            row.key = Some(key.clone());
            let others = Vec::new();
            row.meta.started_by = Some(StartedBy { name, key: key.clone(), others });
            self.snapshot.keys.insert((head.name, key), id);
        }
        self.accept(Box::new(row), writes);
    }

    /// A business key became free: the oldest message that waits for it starts the next instance,
    /// whichever of the definition's message triggers it belongs to.
    pub(super) fn offer(
        &mut self,
        channels: &[ChannelKey],
        definition: &str,
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        let waiting = channels.iter().filter_map(|channel| {
            let start = self.start_of(channel, definition)?;
            let mut kept = self.snapshot.channels.get(channel)?.messages.iter();
            Some((kept.find(|message| !message.was_had_by(definition))?, start))
        });
        let oldest = waiting.min_by_key(|(message, _)| message.seq);
        let oldest = oldest.map(|(message, start)| (message.clone(), start));
        if let (Some((mut message, start)), Some(id)) = (oldest, accept.ids.first()) {
            message.had.push(definition.to_owned());
            self.start_by_message(&message, start, *id, writes);
            self.keep(message, writes);
        }
    }

    /// Delivers a message as the event of the subscription that it was matched with.
    pub(super) fn hand_over(
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
}

/// The element at which a trigger starts an instance.
fn element_of(trigger: Trigger) -> String {
    match trigger {
        Trigger::Message { element, .. }
        | Trigger::Signal { element, .. }
        | Trigger::Timer { element, .. } => element,
    }
}
