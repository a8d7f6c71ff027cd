//! Deployments: a new version, unless the content is the same, and its triggers.

use meantime_core::{DefinitionId, Trigger};

use super::snapshot::DefinitionHead;
use super::unit::UnitResolver;
use crate::store::{
    Accept, ChannelKey, ConditionalWrite, DefinitionPause, NewDefinition, Refusal, Write,
};

/// How many definitions one broadcast signal may start.
pub const BROADCAST_STARTS: usize = 64;

/// How many definitions one message may start.
pub const MESSAGE_STARTS: usize = 16;

impl UnitResolver<'_> {
    /// Why a deployment or undeployment is refused, if it is.
    pub(super) fn refused_definition(&self, conditional: &ConditionalWrite) -> Option<Refusal> {
        match conditional {
            ConditionalWrite::PauseDefinition { name, .. } => {
                let known = self.snapshot.latest(name, None).is_some();
                (!known).then_some(Refusal::UnknownDefinition)
            }
            ConditionalWrite::Undeploy { name, version, .. } => {
                let known = self.snapshot.latest(name, Some(*version)).is_some();
                (!known).then_some(Refusal::UnknownDefinition)
            }
            ConditionalWrite::Deploy(new) => {
                let full = |trigger: &Trigger| {
                    let (channel, limit) = match trigger {
                        Trigger::Signal { name, .. } => {
                            (ChannelKey::broadcast(name), BROADCAST_STARTS)
                        }
                        Trigger::Message { name, .. } => {
                            (ChannelKey::message(name, ""), MESSAGE_STARTS)
                        }
                        Trigger::Timer { .. } => return false,
                    };
                    let starts = self.snapshot.starts_of(&channel).iter();
                    starts.filter(|(head, _)| head.name != new.row.name).count() >= limit
                };
                new.row.triggers.iter().any(full).then_some(Refusal::TooManyStarts)
            }
            _ => None,
        }
    }

    pub(super) fn deploy(&mut self, new: NewDefinition, writes: &mut Vec<Write>) {
        let mut row = new.row;
        let versions = self.snapshot.definitions.entry(row.name.clone()).or_default();
        if let Some(latest) = versions.iter().find(|head| !head.retired)
            && latest.hash == row.hash
        {
            self.done.deployed.push((latest.id, latest.version, false));
            return;
        }
        row.id = DefinitionId(self.snapshot.next_definition);
        self.snapshot.next_definition = self.snapshot.next_definition.saturating_add(1);
        row.version = versions.first().map_or(1, |head| head.version.saturating_add(1));
        // A new version of a paused definition is paused, too.
        row.paused = versions.first().and_then(|head| head.paused.clone());
        versions.insert(
            0,
            DefinitionHead {
                id: row.id,
                name: row.name.clone(),
                version: row.version,
                label: row.label.clone(),
                hash: row.hash.clone(),
                retired: false,
                paused: row.paused.clone(),
                triggers: row.triggers.clone(),
            },
        );
        self.done.deployed.push((row.id, row.version, true));
        let (name, definition, triggers) = (row.name.clone(), row.id, row.triggers.clone());
        self.arm_timer_starts(&name, row.version, &triggers, &new.accept, writes);
        writes.push(Write::InsertDefinition(Box::new(row)));
        writes.push(Write::SetTriggers { name, definition, triggers });
    }

    pub(super) fn pause_definition(
        &mut self,
        name: String,
        pause: Option<DefinitionPause>,
        writes: &mut Vec<Write>,
    ) {
        for head in self.snapshot.definitions.get_mut(&name).into_iter().flatten() {
            head.paused.clone_from(&pause);
        }
        for (head, _) in self.snapshot.starts.values_mut().flatten() {
            if head.name == name {
                head.paused.clone_from(&pause);
            }
        }
        writes.push(Write::PauseDefinition { name, pause });
    }

    pub(super) fn undeploy(
        &mut self,
        name: &str,
        version: u32,
        accept: &Accept,
        writes: &mut Vec<Write>,
    ) {
        const DEPLOYED: &str = "`refused_definition` refuses versions that are not deployed";
        let versions = self.snapshot.definitions.get_mut(name).expect(DEPLOYED);
        let was_latest =
            versions.iter().find(|head| !head.retired).is_some_and(|head| head.version == version);
        let head = versions.iter_mut().find(|head| head.version == version).expect(DEPLOYED);
        head.retired = true;
        let retired = head.id;
        writes.push(Write::RetireDefinition(retired));
        if was_latest {
            let heir = versions.iter().find(|head| !head.retired);
            let definition = heir.map_or(retired, |head| head.id);
            let triggers = heir.map_or_else(Vec::new, |head| head.triggers.clone());
            let version = heir.map_or(0, |head| head.version);
            self.arm_timer_starts(name, version, &triggers, accept, writes);
            writes.push(Write::SetTriggers { name: name.to_owned(), definition, triggers });
        }
    }
}
