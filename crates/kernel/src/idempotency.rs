//! The idempotency key of a task for other systems.

use meantime_core::{Json, TaskId};
use sha2::{Digest, Sha256};

/// It is the same for every attempt of the same work. Type and input are part of it: a store that
/// was restored to an earlier state may assign the same task id to different work, and other
/// systems must not mistake that for work they have already done.
pub(crate) fn idempotency_key(task: TaskId, name: &str, input: &Json) -> String {
    let mut hasher = Sha256::new();
    // The length separates type and input unambiguously.
    hasher.update((name.len() as u64).to_be_bytes());
    hasher.update(name.as_bytes());
    hasher.update(input.as_str().as_bytes());
    let hash = hasher.finalize();
    let head = hash.iter().take(8).fold(0_u64, |head, byte| head << 8 | u64::from(*byte));
    format!("{}-{head:016x}", task.0)
}

#[cfg(test)]
mod tests {
    use meantime_core::InstanceId;

    use super::*;

    #[test]
    fn other_work_has_another_key() {
        let task = TaskId(InstanceId::new(1, 2).effect(3, 4));
        let key = |name: &str, input: &str| {
            idempotency_key(task, name, &Json::parse(input).unwrap_or_default())
        };
        assert_eq!(key("pay", "{}"), key("pay", "{}"));
        assert_ne!(key("pay", "1"), key("pay", "2"));
        assert_ne!(key("pay", "1"), key("refund", "1"));
    }
}
