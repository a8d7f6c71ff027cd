//! How often somebody may call, and how much may be under way.
//!
//! A bucket fills at a steady rate and each request takes a token out; an empty one refuses. What
//! is refused costs nothing further, and says when to come back.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use meantime_core::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::auth::Caller;
use crate::problem::{Problem, Reason};
use crate::settings::{RateSettings, Settings};

/// How many callers are remembered; beyond that, those who have not called for longest go.
const REMEMBERED: usize = 100_000;

/// Where a request comes from; put there by the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// All limits on callers.
pub(crate) struct Limiter {
    failures: Buckets<IpAddr>,
    requests: Option<Buckets<(Arc<str>, IpAddr)>>,
    under_way: Arc<Semaphore>,
}

impl Limiter {
    pub(crate) fn new(settings: &Settings) -> Self {
        let RateSettings { requests_per_second, burst, failures_per_minute } = settings.rate;
        let is_limited = requests_per_second > 0;
        Self {
            failures: Buckets::new(
                f64::from(failures_per_minute) / 60_000.0,
                f64::from(failures_per_minute),
            ),
            requests: is_limited.then(|| {
                let most = f64::from(burst.max(1));
                Buckets::new(f64::from(requests_per_second) / 1_000.0, most)
            }),
            under_way: Arc::new(Semaphore::new(settings.http.requests)),
        }
    }

    /// Whoever tried too many wrong credentials has to wait, whatever they try next.
    pub(crate) fn check_failures(&self, request: &Request, now: Timestamp) -> Result<(), Problem> {
        if self.failures.has(&address(request), now) {
            return Ok(());
        }
        let text = "too many requests with wrong credentials";
        Err(Problem::new(Reason::RateLimited, text).retry_after(60))
    }

    /// Somebody presented wrong credentials.
    pub(crate) fn failed(&self, request: &Request, now: Timestamp) {
        self.failures.take(address(request), now);
    }

    /// One more request of a caller. A key has one bucket wherever it is used; without keys each
    /// address has its own.
    pub(crate) fn check_rate(
        &self,
        caller: &Caller,
        request: &Request,
        now: Timestamp,
    ) -> Result<(), Problem> {
        let Some(buckets) = &self.requests else { return Ok(()) };
        let anywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let from = if caller.is_local() { address(request) } else { anywhere };
        if buckets.take((caller.name.clone(), from), now) {
            return Ok(());
        }
        Err(Problem::new(Reason::RateLimited, "too many requests a second"))
    }

    /// A place among the requests that are under way; none is free when too many are.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.under_way
            .clone()
            .try_acquire_owned()
            .map_err(|_| Problem::new(Reason::TooManyRequests, "too many requests are under way"))
    }
}

fn address(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<Peer>();
    peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.ip())
}

/// Token buckets by caller. A caller without one has a full one.
struct Buckets<K> {
    per_ms: f64,
    most: f64,
    by_caller: Mutex<BTreeMap<K, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

impl<K: Ord> Buckets<K> {
    fn new(per_ms: f64, most: f64) -> Self {
        Self { per_ms, most, by_caller: Mutex::new(BTreeMap::new()) }
    }

    /// Whether there is a token; none is taken.
    fn has(&self, caller: &K, now: Timestamp) -> bool {
        let buckets = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.get(caller).is_none_or(|bucket| self.filled(*bucket, now) >= 1.0)
    }

    /// Takes a token out, if there is one.
    fn take(&self, caller: K, now: Timestamp) -> bool {
        let mut buckets = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= REMEMBERED {
            buckets.retain(|_, bucket| self.filled(*bucket, now) < self.most);
        }
        let full = Bucket { tokens: self.most, at: now };
        let bucket = buckets.entry(caller).or_insert(full);
        let tokens = self.filled(*bucket, now);
        let taken = tokens >= 1.0;
        *bucket = Bucket { tokens: if taken { tokens - 1.0 } else { tokens }, at: now };
        taken
    }

    #[expect(clippy::cast_precision_loss, reason = "a part of a token does not matter")]
    fn filled(&self, bucket: Bucket, now: Timestamp) -> f64 {
        let passed = now.saturating_since(bucket.at).max(0) as f64;
        (passed.mul_add(self.per_ms, bucket.tokens)).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_allows_a_burst_and_then_a_rate() {
        let at = Timestamp::from_millis;
        let buckets = Buckets::new(0.01, 3.0);
        let taken = (0..5).filter(|_| buckets.take("a", at(0))).count();
        assert_eq!(taken, 3);
        assert!(buckets.take("b", at(0)), "others have their own");
        assert!(!buckets.has(&"a", at(99)) && !buckets.take("a", at(99)));
        assert!(buckets.has(&"a", at(100)) && buckets.take("a", at(100)));
        assert!(!buckets.take("a", at(100)));
        let later = (0..9).filter(|_| buckets.take("a", at(1_000_000))).count();
        assert_eq!(later, 3, "never more than a burst");
    }
}
