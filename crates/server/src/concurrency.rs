//! Limits the number of requests in flight and of waiting requests.
//!
//! ```text
//!   request ─► in-flight permit ──── waits ────► in-flight permit again ─► response
//!                 │ none: 503          │
//!                 │          wait permit instead;
//!                 │          none: 503, before anything was done
//!   /healthz, /readyz, /metrics: a separate limit
//! ```
//!
//! A request that waits (for a slow body, for an instance to become idle, for tasks, for events)
//! uses no CPU, so it gives its in-flight permit to others.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::problem::{Problem, ProblemCode};
use crate::settings::HttpSettings;

/// Maximum number of concurrent health and metrics requests; they are cheap.
const MAX_HEALTH_REQUESTS: usize = 16;

/// The limits on concurrent requests.
pub(crate) struct ConcurrencyLimit {
    in_flight: Arc<Semaphore>,
    health: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The permit of one request. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RequestPermit(Arc<PermitState>);

struct PermitState {
    pool: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

/// The permit of a waiting request, returned when it is dropped.
pub(crate) struct WaitPermit(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

impl ConcurrencyLimit {
    pub(crate) fn new(http: &HttpSettings) -> Self {
        let limit = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            in_flight: limit(http.max_requests),
            health: limit(MAX_HEALTH_REQUESTS),
            waiting: limit(http.max_waiting),
        }
    }

    /// Admits a request to a route, unless too many are in flight.
    pub(crate) fn acquire(&self, route: &str) -> Result<RequestPermit, Problem> {
        let pool = if is_about_health(route) { &self.health } else { &self.in_flight };
        let Ok(held) = pool.clone().try_acquire_owned() else {
            return Err(Problem::new(ProblemCode::TooManyRequests, "too many requests in flight"));
        };
        let (pool, waiting) = (pool.clone(), self.waiting.clone());
        Ok(RequestPermit(Arc::new(PermitState { pool, waiting, held: Mutex::new(Some(held)) })))
    }
}

/// Whether a route is for monitoring: these answer under overload, too.
pub(crate) fn is_about_health(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

impl RequestPermit {
    /// Returns the in-flight permit while a future runs, then acquires it again.
    pub(crate) async fn release_while<T>(
        &self,
        wait: impl Future<Output = T>,
    ) -> Result<T, Problem> {
        let waiting = self.acquire_wait()?;
        drop(self.held().take());
        let found = wait.await;
        // The semaphore is never closed.
        let again = self.0.pool.clone().acquire_owned().await.ok();
        *self.held() = again;
        drop(waiting);
        Ok(found)
    }

    /// Admits a waiting request, unless too many wait.
    pub(crate) fn acquire_wait(&self) -> Result<WaitPermit, Problem> {
        let waiting = self.0.waiting.clone().try_acquire_owned();
        let full = |_| Problem::new(ProblemCode::TooManyRequests, "too many waiting requests");
        waiting.map(WaitPermit).map_err(full)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromRequestParts<App> for RequestPermit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let permit = parts.extensions.get().cloned();
        permit.ok_or_else(|| Problem::new(ProblemCode::Internal, "a request without a permit"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn limit(requests: usize, waiting: usize) -> ConcurrencyLimit {
        ConcurrencyLimit::new(&HttpSettings {
            max_requests: requests,
            max_waiting: waiting,
            ..HttpSettings::default()
        })
    }

    #[tokio::test]
    async fn a_waiting_request_gives_its_permit_to_others() {
        let limit = limit(1, 1);
        let first = limit.acquire("/a").expect("a permit");
        assert!(limit.acquire("/b").is_err());
        let (woken, wakes) = tokio::sync::oneshot::channel::<()>();
        let mut waits = Box::pin({
            let first = first.clone();
            async move { first.release_while(wakes).await }
        });
        assert!(waits.as_mut().now_or_never().is_none());
        let second = limit.acquire("/b").expect("the first waits");
        assert!(second.release_while(async {}).await.is_err(), "only one may wait");
        woken.send(()).expect("it waits");
        assert!(waits.as_mut().now_or_never().is_none(), "its permit is taken");
        drop(second);
        assert!(waits.await.is_ok());
        assert!(limit.acquire("/c").is_err(), "it has its permit again");
        drop(first);
        assert!(limit.acquire("/c").is_ok());
    }

    #[test]
    fn health_and_metrics_have_permits_of_their_own() {
        let limit = limit(0, 0);
        assert!(limit.acquire("/api/v1/instances").is_err());
        for route in ["/healthz", "/readyz", "/metrics"] {
            assert!(limit.acquire(route).is_ok(), "{route}");
        }
        let taken: Vec<_> =
            (0..MAX_HEALTH_REQUESTS).filter_map(|_| limit.acquire("/metrics").ok()).collect();
        assert_eq!((taken.len(), limit.acquire("/metrics").is_err()), (MAX_HEALTH_REQUESTS, true));
    }
}
