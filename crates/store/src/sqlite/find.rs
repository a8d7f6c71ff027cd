//! Reads what resolving a plan needs.

use std::collections::BTreeMap;

use meantime_core::Timestamp;
use meantime_kernel::store::{ChannelSnapshot, Error, Lookups, Snapshot};

use super::db::Db;
use super::{
    answer, definition, instance, instance_tag, message, message_id, occurrence, subscription,
    tree, trigger_start,
};

/// The lookups of a plan. A plan without lookups costs no statement.
pub(super) fn find(db: &Db<'_>, lookups: &Lookups, now: Timestamp) -> Result<Snapshot, Error> {
    let mut found = Snapshot::default();
    for (kind, name) in &lookups.starts {
        found.starts.insert((*kind, name.clone()), trigger_start::starts(db, *kind, name)?);
    }
    let start_keys = lookups.start_keys(&found);
    for wanted in lookups.keys.union(&start_keys) {
        if let Some(holder) = instance::key_holder(db, &wanted.0, &wanted.1)? {
            found.keys.insert(wanted.clone(), holder);
        }
    }
    for key in &lookups.requests {
        found.requests.extend(answer::get(db, key)?.map(|row| (key.clone(), row)));
    }
    for id in &lookups.messages {
        if message_id::is_known(db, id, now)? {
            found.messages.insert(id.clone());
        }
    }
    for (channel, limit) in &lookups.channels {
        let mut messages = BTreeMap::new();
        for definition in lookups.readers.get(channel).into_iter().flatten() {
            let rows = message::fresh(db, channel, definition, *limit, now)?;
            messages.extend(rows.into_iter().map(|row| (row.seq, row)));
        }
        let messages = messages.into_values().collect();
        let subscriptions = subscription::waiting(db, channel, *limit)?;
        found.channels.insert(channel.clone(), ChannelSnapshot { messages, subscriptions });
    }
    for (channel, seq) in &lookups.returned {
        if let Some(row) = message::kept(db, channel, *seq)? {
            found.add_message(row);
        }
    }
    for name in &lookups.definitions {
        found.definitions.insert(name.clone(), definition::heads(db, name)?);
    }
    if !lookups.definitions.is_empty() {
        found.next_definition = definition::next_id(db)?;
    }
    for parent in &lookups.children {
        found.children.insert(*parent, instance::children(db, *parent)?);
    }
    for (schedule, scheduled_at) in &lookups.occurrences {
        if occurrence::is_taken(db, *schedule, *scheduled_at)? {
            found.occurrences.insert((*schedule, *scheduled_at));
        }
    }
    for root in &lookups.trees {
        found.trees.extend(tree::find(db, *root)?.map(|tree| (*root, tree)));
    }
    for tag in &lookups.tags {
        found.tagged.insert(tag.clone(), instance_tag::live(db, tag)?);
    }
    for id in &lookups.live {
        if instance::is_live(db, *id)? {
            found.live.insert(*id);
        }
    }
    Ok(found)
}
