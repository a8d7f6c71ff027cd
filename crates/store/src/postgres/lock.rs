//! Advisory locks, for what one transaction at a time may read and change and what has no row of
//! its own to lock.
//!
//! ```text
//!   few names:   ALL shared    ──► each name, in order ──► read, decide, write, COMMIT releases
//!   many names:  ALL exclusive ──────────────────────────► read, decide, write, COMMIT releases
//! ```
//!
//! A plan takes all its advisory locks at once and in order, before it reads anything, and waits
//! for no lock after that: so two plans cannot wait for each other in a circle. The server's lock
//! table is small, so a plan with many names locks everything instead.

use std::collections::BTreeSet;

use meantime_kernel::store::{ChannelKey, ChannelKind, ConditionalWrite, Lookups, Plan, Write};
use sha2::{Digest, Sha256};

use super::connection::{Call, values};

const SHARED: &str = "SELECT pg_advisory_xact_lock_shared($1)";
const ALONE: &str = "SELECT pg_advisory_xact_lock($1)";
const EACH: &str = "SELECT pg_advisory_xact_lock(name) FROM unnest($1::bigint[]) AS name";

/// Takes a lock until the end of the transaction, unless it is held.
pub(super) const TRY_ALONE: &str = "SELECT pg_try_advisory_xact_lock($1)";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[SHARED, ALONE, EACH, TRY_ALONE];

/// "Meantime" in ASCII. This number and the next ones are ours; all others are hashes.
const FIRST_LOCK: i64 = 0x4d65_616e_7469_6d65;

/// Held by the process that migrates.
pub(super) const MIGRATION: i64 = FIRST_LOCK;
/// Held by the process that owns a database which is not shared.
pub(super) const OWNER: i64 = FIRST_LOCK + 1;
/// Held while a process acquires or renews a lease.
pub(super) const NODE_LEASES: i64 = FIRST_LOCK + 2;
/// Held by the node that runs retention.
pub(super) const MAINTENANCE: i64 = FIRST_LOCK + 3;
/// Held by plans: shared together with names, or exclusively.
const ALL: i64 = FIRST_LOCK + 4;

/// The largest number of names that are locked individually.
const MAX_INDIVIDUAL_LOCKS: usize = 128;

/// The statements that lock everything a plan decides about.
pub(super) fn calls(plan: &Plan, lookups: &Lookups) -> Vec<Call<'static>> {
    let names = names(plan, lookups);
    if names.is_empty() {
        Vec::new()
    } else if names.len() > MAX_INDIVIDUAL_LOCKS {
        vec![Call::new(ALONE, values![ALL])]
    } else {
        let names: Vec<i64> = names.into_iter().collect();
        vec![Call::new(SHARED, values![ALL]), Call::new(EACH, values![names])]
    }
}

fn names(plan: &Plan, lookups: &Lookups) -> BTreeSet<i64> {
    let mut names: BTreeSet<i64> = lookups.channels.keys().filter_map(channel).collect();
    names.extend(lookups.keys.iter().map(|(_, key)| hash("key", key)));
    names.extend(lookups.requests.iter().map(|key| hash("request", key)));
    names.extend(lookups.messages.iter().map(|id| hash("message", id)));
    for unit in &plan.units {
        names.extend(unit.writes.iter().filter_map(|write| match write {
            Write::DeleteMessage { channel, .. } | Write::DeleteSubscription { channel, .. } => {
                self::channel(channel)
            }
            _ => None,
        }));
        let deploys = |conditional: &ConditionalWrite| {
            matches!(
                conditional,
                ConditionalWrite::Deploy(_)
                    | ConditionalWrite::Undeploy { .. }
                    | ConditionalWrite::PauseDefinition { .. }
            )
        };
        if unit.conditional_writes.iter().any(deploys) {
            names.insert(hash("deploy", ""));
        }
    }
    names
}

/// A channel with a correlation key uses the lock of that key, which is also that of the business
/// key: what a message starts depends on who has the key. Signals of an instance need no lock: only
/// turns that have locked its row touch them.
fn channel(channel: &ChannelKey) -> Option<i64> {
    match channel.kind {
        ChannelKind::Signal => None,
        kind if channel.key.is_empty() => Some(hash(kind.name(), &channel.name)),
        _ => Some(hash("key", &channel.key)),
    }
}

/// The same on every node and in every release that may run beside this one.
pub(super) fn hash(class: &str, name: &str) -> i64 {
    let digest = Sha256::new().chain_update(class).chain_update([0]).chain_update(name).finalize();
    let mut first = [0; 8];
    first.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    i64::from_be_bytes(first)
}
