//! Reads everything that resolving a plan needs, in one round trip.

use std::collections::VecDeque;

use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::{ChannelKey, ChannelKind, ChannelSnapshot, Error, Lookups, Snapshot};

use super::connection::{Call, QueryAnswer};
use super::{
    answer, definition, instance, instance_tag, message, message_id, occurrence, subscription,
    tree, trigger_start,
};
use crate::row::Columns;

/// The lookups of a plan. A plan without lookups costs no statement.
pub(super) struct Find<'a> {
    lookups: &'a Lookups,
    now: Timestamp,
    keys: Vec<&'a str>,
    channels: Vec<(&'a ChannelKey, usize)>,
    readers: Vec<message::MessageReader<'a>>,
    returned: Vec<(&'a ChannelKey, u64)>,
    children: Vec<InstanceId>,
    live: Vec<InstanceId>,
}

impl<'a> Find<'a> {
    pub(super) fn new(lookups: &'a Lookups, now: Timestamp) -> Self {
        // Whether a message starts an instance depends on who has its correlation key as a business
        // key. Which definition it would start is not known yet, so all holders of the key are
        // read.
        let starts = |channel: &&ChannelKey| {
            channel.kind == ChannelKind::Message
                && !channel.key.is_empty()
                && lookups.starts.iter().any(|(_, name)| *name == channel.name)
        };
        let correlated = lookups.channels.keys().filter(starts).map(|it| it.key.as_str());
        let mut keys: Vec<&str> =
            lookups.keys.iter().map(|(_, key)| key.as_str()).chain(correlated).collect();
        keys.sort_unstable();
        keys.dedup();
        let readers = lookups.readers.iter().flat_map(|(channel, definitions)| {
            let limit = lookups.channels.get(channel).copied().unwrap_or_default();
            definitions.iter().map(move |name| message::MessageReader::new(channel, limit, name))
        });
        Self {
            lookups,
            now,
            keys,
            channels: lookups.channels.iter().map(|(channel, limit)| (channel, *limit)).collect(),
            readers: readers.collect(),
            returned: lookups.returned.iter().map(|(channel, seq)| (channel, *seq)).collect(),
            children: lookups.children.iter().copied().collect(),
            live: lookups.live.iter().copied().collect(),
        }
    }

    /// The statements, in an order that [`Self::read`] knows.
    pub(super) fn calls(&self) -> Vec<Call<'_>> {
        let lookups = self.lookups;
        let mut calls = Vec::new();
        if !lookups.starts.is_empty() {
            calls.push(trigger_start::starts(&lookups.starts));
        }
        if !self.keys.is_empty() {
            calls.push(instance::key_holders(&self.keys));
        }
        if !lookups.requests.is_empty() {
            calls.push(answer::get(&lookups.requests));
        }
        if !lookups.messages.is_empty() {
            calls.push(message_id::known(&lookups.messages, self.now));
        }
        if !self.channels.is_empty() {
            calls.push(subscription::waiting(&self.channels));
        }
        if !self.readers.is_empty() {
            calls.push(message::fresh(&self.readers, self.now));
        }
        if !self.returned.is_empty() {
            calls.push(message::kept(&self.returned));
        }
        if !lookups.definitions.is_empty() {
            calls.push(definition::heads(&lookups.definitions));
            calls.push(definition::next_id());
        }
        if !self.children.is_empty() {
            calls.push(instance::children(&self.children));
        }
        if !lookups.occurrences.is_empty() {
            calls.push(occurrence::taken(&lookups.occurrences));
        }
        if !lookups.trees.is_empty() {
            calls.push(tree::find(&lookups.trees));
        }
        if !lookups.tags.is_empty() {
            calls.push(instance_tag::live(&lookups.tags));
        }
        if !self.live.is_empty() {
            calls.push(instance::live(&self.live));
        }
        calls
    }

    /// Reads the answers to [`Self::calls`].
    pub(super) fn read(
        &self,
        answers: impl Iterator<Item = QueryAnswer>,
    ) -> Result<Snapshot, Error> {
        let lookups = self.lookups;
        let mut answers = answers;
        let mut next = |is_asked: bool| if is_asked { answers.next() } else { None };
        let mut found = Snapshot::default();
        if let Some(answer) = next(!lookups.starts.is_empty()) {
            found.starts = trigger_start::read_starts(&answer, &lookups.starts)?;
        }
        if let Some(answer) = next(!self.keys.is_empty()) {
            found.keys = instance::read_holders(&answer)?;
        }
        if let Some(answer) = next(!lookups.requests.is_empty()) {
            found.requests = answer::read_rows(&answer)?;
        }
        if let Some(answer) = next(!lookups.messages.is_empty()) {
            found.messages = message_id::read_known(&answer)?;
        }
        if let Some(answer) = next(!self.channels.is_empty()) {
            let mut waiting = subscription::read_waiting(&answer, &self.channels)?;
            for (channel, _) in &self.channels {
                let (messages, channel) = (VecDeque::new(), (*channel).clone());
                let subscriptions = waiting.remove(&channel).unwrap_or_default();
                found.channels.insert(channel, ChannelSnapshot { messages, subscriptions });
            }
        }
        let mut messages = Vec::new();
        if let Some(answer) = next(!self.readers.is_empty()) {
            let asked: Vec<&ChannelKey> =
                self.readers.iter().map(message::MessageReader::channel).collect();
            messages.extend(message::read_messages(&answer, &asked)?);
        }
        if let Some(answer) = next(!self.returned.is_empty()) {
            let asked: Vec<&ChannelKey> = self.returned.iter().map(|it| it.0).collect();
            messages.extend(message::read_messages(&answer, &asked)?);
        }
        for message in messages {
            found.add_message(message);
        }
        if let Some(answer) = next(!lookups.definitions.is_empty()) {
            found.definitions = definition::read_heads(&answer, &lookups.definitions)?;
            let number = next(true).map(|it| definition::read_next_id(&it)).transpose()?;
            found.next_definition = number.unwrap_or(1);
        }
        if let Some(answer) = next(!self.children.is_empty()) {
            for parent in &self.children {
                found.children.insert(*parent, instance::read_children(&answer, *parent)?);
            }
        }
        if let Some(answer) = next(!lookups.occurrences.is_empty()) {
            found.occurrences = occurrence::read_taken(&answer, &lookups.occurrences)?;
        }
        if let Some(answer) = next(!lookups.trees.is_empty()) {
            found.trees = tree::read(&answer)?;
        }
        if let Some(answer) = next(!lookups.tags.is_empty()) {
            found.tagged = instance_tag::read_live(&answer, &lookups.tags)?;
        }
        if let Some(answer) = next(!self.live.is_empty()) {
            let there = answer.read(|row| row.instance(0, 1))?;
            found.live = there.into_iter().filter(|id| lookups.live.contains(id)).collect();
        }
        Ok(found)
    }
}
