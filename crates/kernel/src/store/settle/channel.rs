//! Channels: the oldest message meets who has waited longest; kept messages start instances.

use std::collections::BTreeSet;

use meantime_core::{EffectKey, Event, Json, Start, StartCause, Timestamp, Trigger};

use super::unit::Settling;
use crate::planted::{Bug, planted};
use crate::store::{
    Accept, ChannelKey, ChannelKind, MessageRow, StartedBy, SubscriptionRow, Write,
};

impl Settling<'_> {
    /// Remembers a message's id, unless it was seen before.
    pub(super) fn is_new(
        &mut self,
        id: Option<(String, Timestamp)>,
        writes: &mut Vec<Write>,
    ) -> bool {
        let Some((id, expires_at)) = id else { return true };
        if !self.found.messages.insert(id.clone()) {
            self.done.duplicate = true;
            return false;
        }
        writes.push(Write::PutMessageId { id, expires_at });
        true
    }

    pub(super) fn publish(
        &mut self,
        message: MessageRow,
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
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
    pub(super) fn give(&mut self, message: &MessageRow, seq: u64, writes: &mut Vec<Write>) -> bool {
        let channel = self.found.channels.entry(message.channel.clone()).or_default();
        let Some(waiter) = channel.subscriptions.pop_front() else { return false };
        writes.push(Write::DeleteSubscription { channel: waiter.channel, seq: waiter.seq });
        self.hand_over(waiter.key, message.clone(), seq, writes);
        true
    }

    pub(super) fn keep(&mut self, message: MessageRow, writes: &mut Vec<Write>) {
        let messages =
            &mut self.found.channels.entry(message.channel.clone()).or_default().messages;
        let place = messages.partition_point(|other| other.seq < message.seq);
        messages.insert(place, message.clone());
        self.done.kept = true;
        writes.push(Write::PutMessage(message));
    }

    pub(super) fn subscribe(&mut self, waiter: SubscriptionRow, seq: u64, writes: &mut Vec<Write>) {
        let channel = self.found.channels.entry(waiter.channel.clone()).or_default();
        let message = channel.messages.pop_front().filter(|_| !planted(Bug::MissMatch));
        if let Some(message) = message {
            let channel = message.channel.clone();
            writes.push(Write::DeleteMessage { channel, seq: message.seq });
            self.hand_over(waiter.key, message, seq, writes);
        } else if waiter.channel.kind != ChannelKind::Signal {
            // Signals need no row: only their own instance can wait for them, in its open list.
            channel.subscriptions.push_back(waiter.clone());
            writes.push(Write::PutSubscription(waiter));
        }
    }

    pub(super) fn put_back(
        &mut self,
        message: MessageRow,
        waiter: Option<EffectKey>,
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        if message.expires_at.is_some_and(|expiry| expiry <= self.now) {
            return;
        }
        if let Some(key) = waiter {
            self.hand_over(key, message, accept.seq, writes);
        } else if !self.give(&message, accept.seq, writes)
            && !self.start_by_message(&message, accept, writes)
        {
            self.keep(message, writes);
        }
    }

    pub(super) fn broadcast(
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
            let seq = if is_first { accept.seq } else { spare.next().unwrap_or(waiter.seq) };
            let event =
                Event::Signal { key: waiter.key, name: name.clone(), payload: payload.clone() };
            writes.push(Write::DeleteSubscription { channel: waiter.channel, seq: waiter.seq });
            self.deliver(waiter.key.instance, event, None, seq, writes);
        }
        for ((head, trigger), id) in starts.into_iter().zip(accept.ids) {
            let place = place_of(trigger);
            let cause = StartCause::Signal { name: name.clone() };
            let input = payload.clone();
            let start = Start { at: Some(place), ..Start::new(cause, input) };
            self.accept(self.new_instance(id, head.id, &start), writes);
        }
    }

    /// Starts an instance by a message, unless one with this key is still alive.
    pub(super) fn start_by_message(
        &mut self,
        message: &MessageRow,
        accept: &Accept,
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
        let place = place_of(trigger);
        let cause = StartCause::Message { name: name.clone() };
        let input = message.payload.clone();
        let start = Start { at: Some(place), ..Start::new(cause, input) };
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

    pub(super) fn offer(&mut self, channel: &ChannelKey, accept: &Accept, writes: &mut Vec<Write>) {
        let kept = self.found.channels.entry(channel.clone()).or_default();
        let Some(message) = kept.messages.pop_front() else { return };
        if self.start_by_message(&message, accept, writes) {
            writes.push(Write::DeleteMessage { channel: message.channel, seq: message.seq });
        } else if let Some(kept) = self.found.channels.get_mut(channel) {
            kept.messages.push_front(message);
        }
    }

    /// Turns a message into the event of the subscription it was matched with.
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

/// Where an instance begins that a trigger starts.
fn place_of(trigger: Trigger) -> String {
    match trigger {
        Trigger::Message { place, .. }
        | Trigger::Signal { place, .. }
        | Trigger::Timer { place, .. } => place,
    }
}
