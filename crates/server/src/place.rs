//! How many requests are under way at a time, and how many wait.
//!
//! ```text
//!   request ─► a place among those under way ──── waits ────► a place again ─► answer
//!                 │ none: 503                       │
//!                 │                  a place among those that wait instead;
//!                 │                  none: 503, before anything was done
//!   /healthz, /readyz, /metrics: places of their own
//! ```
//!
//! A request that waits (for a body that comes slowly, for an instance to settle, for tasks, for
//! events) does nothing, so it takes no place from those that do something.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::problem::{Problem, Reason};
use crate::settings::HttpSettings;

/// Requests about the server's health at a time. They are cheap, and few ask.
const LANE: usize = 16;

/// All places.
pub(crate) struct Places {
    under_way: Arc<Semaphore>,
    lane: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// The place of one request. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Place(Arc<Taken>);

struct Taken {
    among: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

/// A place among those that wait, for as long as it is held.
pub(crate) struct Waiting(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

impl Places {
    pub(crate) fn new(http: &HttpSettings) -> Self {
        let places = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        Self {
            under_way: places(http.max_requests),
            lane: places(LANE),
            waiting: places(http.max_waiting),
        }
    }

    /// A place for a request to a route; none is free when too many are under way.
    pub(crate) fn enter(&self, route: &str) -> Result<Place, Problem> {
        let among = if is_about_health(route) { &self.lane } else { &self.under_way };
        let Ok(held) = among.clone().try_acquire_owned() else {
            return Err(Problem::new(Reason::TooManyRequests, "too many requests are under way"));
        };
        let (among, waiting) = (among.clone(), self.waiting.clone());
        Ok(Place(Arc::new(Taken { among, waiting, held: Mutex::new(Some(held)) })))
    }
}

/// Whether a route tells how the server stands: it answers also when nothing else does.
pub(crate) fn is_about_health(route: &str) -> bool {
    matches!(route, "/healthz" | "/readyz" | "/metrics")
}

impl Place {
    /// Gives the place back while something is waited for.
    pub(crate) async fn while_waiting<T>(
        &self,
        wait: impl Future<Output = T>,
    ) -> Result<T, Problem> {
        let waiting = self.wait()?;
        drop(self.held().take());
        let found = wait.await;
        // Nobody closes it.
        let again = self.0.among.clone().acquire_owned().await.ok();
        *self.held() = again;
        drop(waiting);
        Ok(found)
    }

    /// A place among those that wait; none is free when too many do.
    pub(crate) fn wait(&self) -> Result<Waiting, Problem> {
        let waiting = self.0.waiting.clone().try_acquire_owned();
        let full = |_| Problem::new(Reason::TooManyRequests, "too many requests wait");
        waiting.map(Waiting).map_err(full)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromRequestParts<App> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        let place = parts.extensions.get().cloned();
        place.ok_or_else(|| Problem::new(Reason::Internal, "a request without a place"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn places(requests: usize, waiting: usize) -> Places {
        Places::new(&HttpSettings {
            max_requests: requests,
            max_waiting: waiting,
            ..HttpSettings::default()
        })
    }

    #[tokio::test]
    async fn who_waits_leaves_its_place_to_others_and_takes_it_again() {
        let places = places(1, 1);
        let first = places.enter("/a").expect("a place");
        assert!(places.enter("/b").is_err());
        let (woken, wakes) = tokio::sync::oneshot::channel::<()>();
        let mut waits = Box::pin({
            let first = first.clone();
            async move { first.while_waiting(wakes).await }
        });
        assert!(waits.as_mut().now_or_never().is_none());
        let second = places.enter("/b").expect("the first waits");
        assert!(second.while_waiting(async {}).await.is_err(), "only one may wait");
        woken.send(()).expect("it waits");
        assert!(waits.as_mut().now_or_never().is_none(), "its place is taken");
        drop(second);
        assert!(waits.await.is_ok());
        assert!(places.enter("/c").is_err(), "it has its place again");
        drop(first);
        assert!(places.enter("/c").is_ok());
    }

    #[test]
    fn health_and_metrics_have_places_of_their_own() {
        let places = places(0, 0);
        assert!(places.enter("/api/v1/instances").is_err());
        for route in ["/healthz", "/readyz", "/metrics"] {
            assert!(places.enter(route).is_ok(), "{route}");
        }
        let taken: Vec<_> = (0..LANE).filter_map(|_| places.enter("/metrics").ok()).collect();
        assert_eq!((taken.len(), places.enter("/metrics").is_err()), (LANE, true));
    }
}
