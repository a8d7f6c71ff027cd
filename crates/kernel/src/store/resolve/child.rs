//! Children: started if nothing prevents it, cancelled by their policy.

use meantime_core::{
    Answer, EffectKey, Event, InstanceId, Occurrence, OccurrenceOutcome, ParentClose, Timestamp,
};

use super::unit::UnitResolver;
use crate::command::DEFINITION_PAUSED;
use crate::fault_injection::{InjectedBug, is_injected};
use crate::store::{ChildRef, InstanceRow, NewChild, OccurrenceRow, Write};

impl UnitResolver<'_> {
    pub(super) fn start_child(&mut self, child: NewChild, writes: &mut Vec<Write>) {
        let NewChild { key, definition, version, label, mut row, scheduled_at, tree_limit, seq } =
            child;
        let taken = row
            .key
            .clone()
            .is_some_and(|key| self.snapshot.keys.contains_key(&(definition.clone(), key)));
        let occurrence_taken = !is_injected(InjectedBug::DoubleOccurrence)
            && scheduled_at.is_some_and(|scheduled_at| {
                self.snapshot.occurrences.contains(&(key.instance, scheduled_at))
            });
        let head = match (version, label) {
            (Some(version), _) => self.snapshot.version(&definition, version),
            (None, Some(label)) => self.snapshot.labelled(&definition, &label),
            (None, None) => self.snapshot.latest(&definition, None),
        };
        let conflict = match head {
            // A child that is too deep has no name; see `start_child` in `machine/effect.rs`.
            None if definition.is_empty() => "child_depth",
            None => "unknown_definition",
            Some(head) if head.paused.is_some() => DEFINITION_PAUSED,
            Some(_) if taken => "key_taken",
            Some(_) if occurrence_taken => "occurrence_taken",
            Some(_) if self.is_tree_ending(&row) => "tree_ending",
            Some(_) if self.is_tree_full(&row, tree_limit) => "tree_limit",
            Some(head) => {
                row.definition = head.id;
                if let Some(key) = row.key.clone() {
                    self.snapshot.keys.insert((definition, key), row.id);
                }
                if let Some(scheduled_at) = scheduled_at {
                    self.snapshot.occurrences.insert((key.instance, scheduled_at));
                    writes.push(started(key.instance, scheduled_at, row.id, self.now));
                }
                // Later units of the same plan that end the parent must find this child.
                let close = row.meta.lineage.as_ref().map_or(ParentClose::Cancel, |it| it.close);
                let child = ChildRef { key, id: row.id, close };
                self.snapshot.children.entry(key.instance).or_default().push(child);
                if let Some(root) = row.root_above() {
                    self.snapshot.trees.entry(root).or_default().live += 1;
                    writes.push(Write::JoinTree { root });
                }
                self.accept(row, writes);
                return;
            }
        };
        self.answer(key, Answer::Conflict { code: conflict.to_owned() }, seq, writes);
    }

    /// Whether the tree has reached its limit of live instances. Counted inside the commit, so that
    /// the limit holds for a definition that starts itself on several nodes at once.
    fn is_tree_full(&self, row: &InstanceRow, limit: u64) -> bool {
        let tree = |root| self.snapshot.trees.get(&root).copied().unwrap_or_default();
        row.root_above().is_some_and(|root| tree(root).live >= limit)
    }

    /// Whether the root has failed or was cancelled: the parent of this child will be cancelled
    /// too, but its cancel has not arrived. Otherwise a definition that starts itself would create
    /// children faster than cancelling removes them.
    fn is_tree_ending(&self, row: &InstanceRow) -> bool {
        let is_ending = |root| self.snapshot.trees.get(&root).is_some_and(|tree| tree.is_ending);
        let is_abandoned = row.meta.lineage.as_ref().is_some_and(|it| it.is_abandoned);
        !is_abandoned && row.root_above().is_some_and(is_ending)
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
        let children = self.snapshot.children.get(&instance).cloned().unwrap_or_default();
        for child in children.into_iter().filter(ends) {
            let event = Event::Cancel { reason: reason.to_owned() };
            self.done.cancelled.push(child.id);
            self.deliver(child.id, event, None, seq, writes);
        }
    }
}

/// The ledger row of a run, committed together with its start (S2).
fn started(
    schedule: InstanceId,
    scheduled_at: Timestamp,
    run: InstanceId,
    now: Timestamp,
) -> Write {
    let occurrence = Occurrence {
        scheduled_at,
        last_at: scheduled_at,
        count: 1,
        outcome: OccurrenceOutcome::Started,
        reason: String::new(),
    };
    let (instance, decided_at) = (Some(run), now);
    Write::PutOccurrence(OccurrenceRow { schedule, occurrence, instance, decided_at })
}
