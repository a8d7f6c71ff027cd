//! The lookups of a plan, and the rows that the store found for them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use meantime_core::{DefinitionId, InstanceId, SCHEDULE_DEFINITION, Timestamp, Trigger};

use super::schedule::timer_start_tag;
use crate::store::{
    AnswerRow, ChannelKey, ChannelKind, ChildRef, ConditionalWrite, DefinitionPause, Lookups,
    MessageRow, NewChild, Plan, Precondition, SubscriptionRow, Write,
};

/// What the store holds of everything that a plan depends on.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Live instances by (definition name, key).
    pub keys: BTreeMap<(String, String), InstanceId>,
    /// Remembered answers by idempotency key.
    pub requests: BTreeMap<String, AnswerRow>,
    /// Message ids that were seen before.
    pub messages: BTreeSet<String>,
    /// Channels, oldest first on both sides.
    pub channels: BTreeMap<ChannelKey, Channel>,
    /// All versions by name, latest first.
    pub definitions: BTreeMap<String, Vec<DefinitionHead>>,
    /// Definitions that messages and signals start.
    pub starts: BTreeMap<(ChannelKind, String), Vec<(DefinitionHead, Trigger)>>,
    /// Live children by parent.
    pub children: BTreeMap<InstanceId, Vec<ChildRef>>,
    /// Which of the requested instances are live.
    pub live: BTreeSet<InstanceId>,
    /// Which of the requested occurrences have a run.
    pub occurrences: BTreeSet<(InstanceId, Timestamp)>,
    /// Live instances by tag, oldest first.
    pub tagged: BTreeMap<String, Vec<InstanceId>>,
    /// Trees below the requested roots; a missing root has no entry.
    pub trees: BTreeMap<InstanceId, Tree>,
    /// The number of the next definition.
    pub next_definition: u64,
}

/// The tree below a root.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tree {
    /// Live instances.
    pub live: u64,
    /// The root has failed or was cancelled, so everything below it will end.
    pub is_ending: bool,
}

/// Both sides of a channel.
#[derive(Debug, Clone, Default)]
pub struct Channel {
    /// Stored messages that have not expired.
    pub messages: VecDeque<MessageRow>,
    /// Waiting subscriptions.
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
    /// The author's label of the version.
    pub label: Option<String>,
    /// The content's hash.
    pub hash: String,
    /// Whether it is undeployed and starts no new instances.
    pub retired: bool,
    /// The pause of its name.
    pub paused: Option<DefinitionPause>,
    /// Its triggers.
    pub triggers: Vec<Trigger>,
}

impl Plan {
    /// What resolving this plan needs to know.
    pub fn lookups(&self) -> Lookups {
        let mut lookups = Lookups::default();
        for unit in &self.units {
            unit.preconditions
                .iter()
                .for_each(|precondition| lookups.add_precondition(precondition));
            unit.conditional_writes
                .iter()
                .for_each(|conditional| lookups.add_conditional_write(conditional));
        }
        // The read also returns rows that the plan itself deletes, and these cannot be matched, so
        // the limit grows by one for each of them.
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
}

impl Lookups {
    fn add_precondition(&mut self, precondition: &Precondition) {
        match precondition {
            Precondition::KeyFree { definition, key } => {
                self.keys.insert((definition.clone(), key.clone()));
            }
            Precondition::NewRequest(answer) => {
                self.requests.insert(answer.key.clone());
            }
        }
    }

    fn add_conditional_write(&mut self, conditional: &ConditionalWrite) {
        match conditional {
            ConditionalWrite::Publish { message, id, .. } => {
                self.messages.extend(id.iter().map(|(id, _)| id.clone()));
                self.add_channel(&message.channel);
                self.add_start(&message.channel);
            }
            ConditionalWrite::Return { message, .. } => {
                self.add_channel(&message.channel);
                if message.channel.kind == ChannelKind::Message {
                    self.add_start(&message.channel);
                    self.returned.insert((message.channel.clone(), message.seq));
                }
            }
            ConditionalWrite::Subscribe { subscription, .. } => {
                self.add_channel(&subscription.channel);
                self.add_reader(&subscription.channel, &subscription.definition);
            }
            ConditionalWrite::Offer { channels, definition, .. } => {
                for channel in channels {
                    self.add_channel(channel);
                    self.add_start(channel);
                    self.add_reader(channel, definition);
                }
            }
            ConditionalWrite::Broadcast { channel, .. } => {
                self.channels.insert(channel.clone(), usize::MAX);
                self.add_start(channel);
            }
            ConditionalWrite::PutSchedule { row, tag, target, .. } => {
                self.definitions.insert(target.0.clone());
                self.add_keyed(SCHEDULE_DEFINITION, row.key.as_ref());
                self.tags.extend(row.key.is_some().then(|| tag.clone()));
            }
            ConditionalWrite::StartChild(NewChild {
                key, definition, row, scheduled_at, ..
            }) => {
                self.occurrences
                    .extend(scheduled_at.map(|scheduled_at| (key.instance, scheduled_at)));
                self.trees.extend(row.root_above());
                self.add_keyed(definition, row.key.as_ref());
            }
            ConditionalWrite::CancelChildren { instance, .. }
            | ConditionalWrite::NotifyChildren { instance, .. } => {
                self.children.insert(*instance);
            }
            ConditionalWrite::Notify { parent, .. } => {
                self.live.insert(*parent);
            }
            ConditionalWrite::Deploy(new) => {
                self.add_definition(&new.row.name);
                for trigger in &new.row.triggers {
                    match trigger {
                        Trigger::Signal { name, .. } => {
                            self.add_start(&ChannelKey::broadcast(name));
                        }
                        Trigger::Message { name, .. } => {
                            self.add_start(&ChannelKey::message(name, ""));
                        }
                        Trigger::Timer { .. } => {}
                    }
                }
            }
            ConditionalWrite::Undeploy { name, .. }
            | ConditionalWrite::PauseDefinition { name, .. } => self.add_definition(name),
        }
    }

    /// The versions of a definition, and its live instance with a business key.
    fn add_keyed(&mut self, definition: &str, key: Option<&String>) {
        self.definitions.insert(definition.to_owned());
        self.keys.extend(key.map(|key| (definition.to_owned(), key.clone())));
    }

    /// The versions of a definition and the schedules of its timer starts.
    fn add_definition(&mut self, name: &str) {
        self.definitions.insert(SCHEDULE_DEFINITION.to_owned());
        self.tags.insert(timer_start_tag(name));
        self.definitions.insert(name.to_owned());
    }

    fn add_channel(&mut self, channel: &ChannelKey) {
        let wanted = self.channels.entry(channel.clone()).or_default();
        *wanted = wanted.saturating_add(1);
    }

    fn add_reader(&mut self, channel: &ChannelKey, definition: &str) {
        self.readers.entry(channel.clone()).or_default().insert(definition.to_owned());
    }

    fn add_start(&mut self, channel: &ChannelKey) {
        self.starts.insert((channel.kind, channel.name.clone()));
    }

    /// The business keys that message starts depend on, known once the definitions that they start
    /// are.
    pub fn start_keys(&self, found: &Snapshot) -> BTreeSet<(String, String)> {
        let mut keys = BTreeSet::new();
        for channel in self.channels.keys() {
            for (head, _) in found.starts_of(channel) {
                keys.insert((head.name.clone(), channel.key.clone()));
            }
        }
        keys
    }
}

impl Snapshot {
    /// Adds a message that was read by its number, in order.
    pub fn add_message(&mut self, message: MessageRow) {
        let messages = &mut self.channels.entry(message.channel.clone()).or_default().messages;
        let index = messages.partition_point(|other| other.seq < message.seq);
        if messages.get(index).is_none_or(|other| other.seq != message.seq) {
            messages.insert(index, message);
        }
    }

    pub(super) fn starts_of(&self, channel: &ChannelKey) -> &[(DefinitionHead, Trigger)] {
        self.starts.get(&(channel.kind, channel.name.clone())).map_or(&[], Vec::as_slice)
    }

    /// The definitions that a channel starts now: paused ones start nothing.
    pub(super) fn open_starts_of(&self, channel: &ChannelKey) -> Vec<(DefinitionHead, Trigger)> {
        let starts = self.starts_of(channel).iter();
        starts.filter(|(head, _)| head.paused.is_none()).cloned().collect()
    }

    /// A version by its number, even if it is undeployed: schedules and running parents keep their
    /// version.
    pub(super) fn version(&self, name: &str, version: u32) -> Option<&DefinitionHead> {
        self.definitions.get(name)?.iter().find(|head| head.version == version)
    }

    /// The latest version with a label.
    pub(super) fn labelled(&self, name: &str, label: &str) -> Option<&DefinitionHead> {
        let is_it = |head: &&DefinitionHead| !head.retired && head.label.as_deref() == Some(label);
        self.definitions.get(name)?.iter().find(is_it)
    }

    pub(super) fn latest(&self, name: &str, version: Option<u32>) -> Option<&DefinitionHead> {
        let wanted = |head: &&DefinitionHead| {
            !head.retired && version.is_none_or(|version| head.version == version)
        };
        self.definitions.get(name)?.iter().find(wanted)
    }
}
