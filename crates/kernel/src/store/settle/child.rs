//! Children: started if they can be, cancelled by their policy.

use meantime_core::{Answer, EffectKey, Event, InstanceId, ParentClose};

use super::unit::Settling;
use crate::store::{ChildRef, InstanceRow, Write};

impl Settling<'_> {
    pub(super) fn start_child(
        &mut self,
        key: EffectKey,
        definition: String,
        version: Option<u32>,
        mut row: Box<InstanceRow>,
        seq: u64,
        writes: &mut Vec<Write>,
    ) {
        let taken = row
            .key
            .clone()
            .is_some_and(|key| self.found.keys.contains_key(&(definition.clone(), key)));
        let conflict = match self.found.latest(&definition, version) {
            // A child too deep has no name; see where the ask is made.
            None if definition.is_empty() => "child_depth",
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

    pub(super) fn cancel_children(
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
}
