//! All limits of the engine, with their defaults (I8).
//!
//! Budgets count operations, not milliseconds, so that the same input gives the same result on
//! every machine.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// The limits. `Limits::default()` applies to a new installation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of one definition source with its files. Default 16 MiB.
    pub source_bytes: usize,
    /// Operations a notation may use before it must yield. Default 100,000.
    pub ops_per_slice: u64,
    /// Operations without an event from outside before the instance gets an incident. Default
    /// 20,000,000.
    pub ops_runaway: u64,
    /// Bytes of the values that one turn of a script or expression may hold. Default 16 MiB.
    pub value_bytes: usize,
    /// Bytes of one string value. Default 1 MiB.
    pub string_bytes: usize,
    /// Entries of one list or object. Default 100,000.
    pub entries: usize,
    /// Calls within calls. Default 128.
    pub call_depth: usize,
    /// Effects of one turn. Default 10,000.
    pub effects_per_turn: usize,
    /// Effects after which a notation yields, where it can. Default 64.
    pub effects_per_slice: usize,
    /// Bytes of one instance's state. Default 2 MiB.
    pub state_bytes: usize,
    /// Bytes of one payload: input, output, signal, message. Default 1 MiB.
    pub payload_bytes: usize,
    /// Events delivered in one turn; the others wait for the next. Default 1,000.
    pub events_per_turn: usize,
    /// Bytes of a name, key, type, queue or tag. Default 512.
    pub name_bytes: usize,
    /// Tags of one instance. Default 16.
    pub tags: usize,
    /// Levels of children below a root. Default 32.
    pub child_depth: u32,
    /// Live instances below one root. Default 100,000.
    pub tree_instances: u64,
    /// Turns waiting for a commit before starts (at 70 %) and other commands (at 95 %) are
    /// rejected. Default 100,000.
    pub queued_turns: usize,
    /// The same limit in bytes of payload. Default 256 MiB.
    pub queued_bytes: usize,
    /// How long starts from outside may wait for their turn before some are rejected, in
    /// milliseconds. Default 1.
    pub start_delay_ms: u64,
    /// Bytes of cached instances. Default 24 MiB.
    pub cache_bytes: usize,
    /// Turns in one batch. Default 512.
    pub batch_turns: usize,
    /// Lease expiries of one task in a row before it gets an incident. Default 5.
    pub lease_expiries: u32,
    /// The longest lease that a worker may request, in milliseconds. Default one hour.
    pub lease_ms: u64,
    /// Tasks handed out by one claim. Default 1,000.
    pub claim_tasks: usize,
    /// How long a message without a time to live is kept. Default one hour.
    pub message_ttl_ms: u64,
    /// How long a message id is kept for deduplication. Default seven days.
    pub dedup_ms: u64,
    /// How long the answer to an idempotency key is kept. Default one day.
    pub idempotency_ms: u64,
    /// Newest turns of an instance whose history is kept in full. Default 10,000.
    pub history_turns: usize,
    /// Rows that retention deletes in one transaction, and up to eight times as many when it falls
    /// behind. Default 500.
    pub purge_rows: usize,
    /// Shortest interval of a schedule, in milliseconds: schedules created through the API, timer
    /// triggers of definitions, and cron (S11). Default one second.
    pub schedule_interval_ms: i64,
    /// Shortest interval of a schedule that a journey creates (`schedule:v1`), in milliseconds
    /// (S11). Default one minute.
    pub binding_interval_ms: i64,
    /// Runs that one schedule may start while it catches up. Default 1,000.
    pub catch_up_runs: u64,
    /// Occurrences that one backfill may have. Default 100,000.
    pub backfill_runs: u64,
    /// Deadline of instances whose definition and start name none (D7). Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_deadline: Option<Span>,
    /// Upper bound of every deadline; the declared outcome is still used (D7). Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_cap: Option<Span>,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            source_bytes: 16 * MIB,
            ops_per_slice: 100_000,
            ops_runaway: 20_000_000,
            value_bytes: 16 * MIB,
            string_bytes: MIB,
            entries: 100_000,
            call_depth: 128,
            effects_per_turn: 10_000,
            effects_per_slice: 64,
            state_bytes: 2 * MIB,
            payload_bytes: MIB,
            events_per_turn: 1_000,
            name_bytes: 512,
            tags: 16,
            child_depth: 32,
            tree_instances: 100_000,
            queued_turns: 100_000,
            queued_bytes: 256 * MIB,
            start_delay_ms: 1,
            cache_bytes: 24 * MIB,
            batch_turns: 512,
            lease_expiries: 5,
            lease_ms: 3_600_000,
            claim_tasks: 1_000,
            message_ttl_ms: 3_600_000,
            dedup_ms: 7 * 86_400_000,
            idempotency_ms: 86_400_000,
            history_turns: 10_000,
            purge_rows: 500,
            schedule_interval_ms: 1_000,
            binding_interval_ms: 60_000,
            catch_up_runs: 1_000,
            backfill_runs: 100_000,
            default_deadline: None,
            deadline_cap: None,
        }
    }
}

/// A state up to this size fits into a page, so it costs a commit little more than an empty one.
const SMALL_STATE_BYTES: usize = 4 * 1024;

/// Operations for each byte above that. A hundred thousand operations then write about five
/// kilobytes, so that a few scripts that compute without end do not fill the queue of the disk, in
/// which all commits wait.
const OPS_PER_BYTE: u64 = 20;

/// The largest addition to a slice, so that the deadline and cancels of an instance are checked
/// regularly however large its state is.
const LARGEST_SLICE_OPS: u64 = 10_000_000;

impl Limits {
    /// Operations that an instance with a state of this size may use before it must yield. A large
    /// state is saved less often: otherwise a script that computes without end would keep the store
    /// busier than the processor.
    #[must_use]
    pub fn slice_ops(&self, state_bytes: usize) -> u64 {
        let large = state_bytes.saturating_sub(SMALL_STATE_BYTES) as u64;
        let more = large.saturating_mul(OPS_PER_BYTE).min(LARGEST_SLICE_OPS);
        self.ops_per_slice.saturating_add(more)
    }

    /// Effects after which a notation yields.
    #[must_use]
    pub fn slice_effects(&self) -> usize {
        self.effects_per_slice.min(self.effects_per_turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_state_is_saved_less_often() {
        let limits = Limits::default();
        assert_eq!(limits.slice_ops(0), 100_000);
        assert_eq!(limits.slice_ops(4 * 1024), 100_000);
        assert_eq!(limits.slice_ops(64 * 1024), 100_000 + 20 * 60 * 1024);
        assert_eq!(limits.slice_ops(1024 * 1024), 10_100_000);
        assert!(limits.slice_ops(limits.state_bytes) < limits.ops_runaway);
    }

    #[test]
    fn a_slice_has_no_more_effects_than_a_turn_may_have() {
        assert_eq!(Limits::default().slice_effects(), 64);
        assert_eq!(Limits { effects_per_turn: 3, ..Limits::default() }.slice_effects(), 3);
    }
}
