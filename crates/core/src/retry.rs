//! Retry maths: how long to wait before the next attempt of a task.
//!
//! Pure and deterministic: the jitter comes from the task's own key, so the same task waits the
//! same time on every machine and after every restart (I4).

use crate::EffectKey;
use crate::random::instance_seed;

/// The retry policy of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, minicbor::Encode, minicbor::Decode)]
pub struct RetryPolicy {
    /// Total number of attempts, at least 1.
    #[n(0)]
    pub max_attempts: u32,
    /// Wait before the second attempt.
    #[n(1)]
    pub base_ms: u64,
    /// Upper bound of one wait.
    #[n(2)]
    pub max_ms: u64,
    /// Whether each wait doubles the one before.
    #[n(3)]
    pub exponential: bool,
    /// Whether to spread waits over the upper half of their range.
    #[n(4)]
    pub jitter: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 3, base_ms: 1_000, max_ms: 60_000, exponential: true, jitter: true }
    }
}

impl RetryPolicy {
    /// One attempt only.
    pub const fn never() -> Self {
        Self { max_attempts: 1, base_ms: 0, max_ms: 0, exponential: false, jitter: false }
    }

    /// Milliseconds to wait after attempt number `attempt` (counted from 1) failed, or `None` if it
    /// was the last one.
    pub fn delay_ms(&self, key: EffectKey, attempt: u32) -> Option<u64> {
        if attempt >= self.max_attempts {
            return None;
        }
        let doublings = if self.exponential { attempt.saturating_sub(1).min(63) } else { 0 };
        let full = self.base_ms.saturating_mul(1u64 << doublings).min(self.max_ms);
        if !self.jitter || full < 2 {
            return Some(full);
        }
        let half = full / 2;
        let parts = [key.turn_no, u64::from(key.ordinal), u64::from(attempt)];
        Some(full - half + instance_seed(key.instance, &parts) % (half + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InstanceId;

    #[test]
    fn waits_double_up_to_the_cap_and_end_with_the_last_attempt() {
        let policy = RetryPolicy { max_attempts: 5, jitter: false, ..RetryPolicy::default() };
        let key = InstanceId::new(1, 2).effect(3, 4);
        let waits: Vec<_> = (1..=5).map(|attempt| policy.delay_ms(key, attempt)).collect();
        assert_eq!(waits, [Some(1_000), Some(2_000), Some(4_000), Some(8_000), None]);
        let capped = RetryPolicy { max_ms: 3_000, ..policy };
        assert_eq!(capped.delay_ms(key, 4), Some(3_000));
    }

    #[test]
    fn jitter_is_deterministic_and_stays_in_the_upper_half() {
        let policy = RetryPolicy::default();
        for ordinal in 0..1_000 {
            let key = InstanceId::new(9, 9).effect(1, ordinal);
            let wait = policy.delay_ms(key, 2).unwrap();
            assert_eq!(Some(wait), policy.delay_ms(key, 2));
            assert!((1_000..=2_000).contains(&wait), "{wait}");
        }
    }
}
