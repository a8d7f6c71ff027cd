//! Rate limits per caller and for failed authentication.
//!
//! Token buckets: a bucket fills at a steady rate and each request takes a token. Without a token
//! the request is rejected, with the time until the next one as `Retry-After`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use meantime_kernel::clock::Stopwatch;

use crate::auth::Caller;
use crate::problem::{Problem, ProblemCode};
use crate::settings::{RateSettings, Settings};

/// Maximum number of buckets; beyond that, the least recently used are evicted.
const MAX_BUCKETS: usize = 100_000;

/// The peer address of a request, set when the connection is accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// All rate limits.
pub(crate) struct RateLimiter {
    watch: Stopwatch,
    failures: TokenBuckets<(Option<Arc<str>>, IpAddr)>,
    requests: Option<TokenBuckets<(Arc<str>, IpAddr)>>,
}

impl RateLimiter {
    pub(crate) fn new(settings: &Settings) -> Self {
        let RateSettings { requests_per_second, burst, failures_per_minute } = settings.rate;
        let is_limited = requests_per_second > 0;
        Self {
            watch: Stopwatch::start(),
            failures: TokenBuckets::new(
                f64::from(failures_per_minute) / 60_000.0,
                f64::from(failures_per_minute),
            ),
            requests: is_limited.then(|| {
                let most = f64::from(burst.max(1));
                TokenBuckets::new(f64::from(requests_per_second) / 1_000.0, most)
            }),
        }
    }

    /// Counts a failed authentication per key id, if that key exists, and network. Callers with a
    /// valid key never get here, so others cannot lock them out.
    pub(crate) fn record_auth_failure(
        &self,
        key: Option<Arc<str>>,
        request: &Request,
        detail: &str,
    ) -> Problem {
        match self.failures.try_take((key, client_network(request)), self.watch.elapsed()) {
            Ok(()) => Problem::new(ProblemCode::Unauthenticated, detail),
            Err(wait) => {
                let text = "too many requests with wrong credentials";
                Problem::new(ProblemCode::RateLimited, text).retry_after(retry_after_seconds(wait))
            }
        }
    }

    /// Counts a request of a caller. A key has one bucket for all addresses; anonymous callers have
    /// one per network.
    pub(crate) fn check_rate(&self, caller: &Caller, request: &Request) -> Result<(), Problem> {
        let Some(buckets) = &self.requests else { return Ok(()) };
        let anywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let from = if caller.is_anonymous() { client_network(request) } else { anywhere };
        let taken = buckets.try_take((caller.name.clone(), from), self.watch.elapsed());
        taken.map_err(|wait| {
            let text = "too many requests a second";
            Problem::new(ProblemCode::RateLimited, text).retry_after(retry_after_seconds(wait))
        })
    }
}

/// Rounds up to whole seconds for `Retry-After`.
fn retry_after_seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// The network that a request comes from.
fn client_network(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<PeerAddress>();
    peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| subscriber_network(peer.0.ip()))
}

/// The address; for IPv6 its /64 network, because one subscriber has many addresses.
pub(crate) fn subscriber_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(network))
        }
    }
}

/// Token buckets by caller. A caller without a bucket has a full one.
struct TokenBuckets<K> {
    per_ms: f64,
    most: f64,
    by_caller: Mutex<BTreeMap<K, TokenBucket>>,
}

#[derive(Clone, Copy)]
struct TokenBucket {
    tokens: f64,
    at: Duration,
}

impl<K: Ord> TokenBuckets<K> {
    fn new(per_ms: f64, most: f64) -> Self {
        Self { per_ms, most, by_caller: Mutex::new(BTreeMap::new()) }
    }

    /// Takes a token; the error is the time until the next one.
    fn try_take(&self, caller: K, now: Duration) -> Result<(), Duration> {
        let mut buckets = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS {
            self.evict(&mut buckets, now);
        }
        let full = TokenBucket { tokens: self.most, at: now };
        let bucket = buckets.entry(caller).or_insert(full);
        let tokens = self.tokens_at(*bucket, now);
        if tokens >= 1.0 {
            *bucket = TokenBucket { tokens: tokens - 1.0, at: now };
            return Ok(());
        }
        *bucket = TokenBucket { tokens, at: now };
        let ms = (1.0 - tokens) / self.per_ms;
        Err(Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or(Duration::from_hours(1)))
    }

    /// Removes full buckets, which mean the same as none. If that is not enough, removes the least
    /// recently used half, so that eviction runs rarely.
    fn evict(&self, buckets: &mut BTreeMap<K, TokenBucket>, now: Duration) {
        buckets.retain(|_, bucket| self.tokens_at(*bucket, now) < self.most);
        if buckets.len() > MAX_BUCKETS / 2 {
            let mut times: Vec<Duration> = buckets.values().map(|bucket| bucket.at).collect();
            let middle = times.len() / 2;
            let (_, middle, _) = times.select_nth_unstable(middle);
            let middle = *middle;
            buckets.retain(|_, bucket| bucket.at > middle);
        }
    }

    fn tokens_at(&self, bucket: TokenBucket, now: Duration) -> f64 {
        let passed = now.saturating_sub(bucket.at).as_secs_f64() * 1_000.0;
        (passed.mul_add(self.per_ms, bucket.tokens)).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_bucket_allows_a_burst_and_then_a_rate() {
        let buckets = TokenBuckets::new(0.01, 3.0);
        let taken = (0..5).filter(|_| buckets.try_take("a", at(0)).is_ok()).count();
        assert_eq!(taken, 3);
        assert!(buckets.try_take("b", at(0)).is_ok(), "others have their own");
        assert_eq!(buckets.try_take("a", at(50)), Err(at(50)), "it says when there is a token");
        assert_eq!(buckets.try_take("a", at(100)), Ok(()));
        assert_eq!(buckets.try_take("a", at(100)), Err(at(100)));
        let later = (0..9).filter(|_| buckets.try_take("a", at(1_000_000)).is_ok()).count();
        assert_eq!(later, 3, "never more than a burst");
    }

    #[test]
    fn a_hint_is_never_too_early() {
        assert_eq!([at(0), at(1), at(1_000), at(1_001)].map(retry_after_seconds), [1, 1, 1, 2]);
        let nothing_ever = TokenBuckets::new(0.0, 0.0);
        assert_eq!(nothing_ever.try_take("a", at(0)), Err(Duration::from_hours(1)));
    }

    #[test]
    fn who_called_last_is_remembered() {
        let buckets = TokenBuckets::new(0.001, 2.0);
        for number in 0..=MAX_BUCKETS {
            let now = at(u64::try_from(number).unwrap_or_default() / 1_000);
            let _ = (buckets.try_take(number, now), buckets.try_take(number, now));
        }
        let kept = buckets.by_caller.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert!(kept <= MAX_BUCKETS / 2 + 1, "{kept}");
        assert!(buckets.try_take(MAX_BUCKETS - 1, at(100)).is_err());
        assert!(buckets.try_take(0, at(100)).is_ok());
    }

    #[test]
    fn in_ipv6_a_subscriber_is_a_network() {
        let network = |text: &str| subscriber_network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.1"), "192.0.2.1");
        assert_eq!(network("192.0.2.1"), "192.0.2.1");
    }
}
