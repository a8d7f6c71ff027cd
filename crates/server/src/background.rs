//! Runs long requests on a low-priority thread pool.
//!
//! Listing a thousand instances, compiling a long source or a forecast over months takes tens of
//! milliseconds of CPU time. Such requests run on separate threads of low priority, so that starts,
//! tasks and timers do not wait for them.

use std::panic::resume_unwind;
use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use meantime_kernel::{pause, thread_priority};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tracing::instrument::{Instrument as _, WithSubscriber as _};

use crate::problem::{Problem, ProblemCode};

/// Threads of the pool. Two, so that one long request does not block all others.
const POOL_THREADS: usize = 2;

/// The thread pool. If it could not be created, long requests run on the normal threads.
pub(crate) struct BackgroundPool(Option<Runtime>);

impl BackgroundPool {
    pub(crate) fn start() -> Arc<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(POOL_THREADS)
            .thread_name("meantime-long")
            // Also called for the threads of `spawn_blocking`.
            .on_thread_start(|| {
                thread_priority::lower(thread_priority::current());
                pause::install();
            })
            .enable_all()
            .build();
        Arc::new(Self(runtime.ok()))
    }
}

impl Drop for BackgroundPool {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // The callers are gone; do not wait for running requests.
            runtime.shutdown_background();
        }
    }
}

impl BackgroundPool {
    /// Runs a future on the pool; none if the pool has been stopped. A panic goes on in the caller.
    /// Dropping the returned future cancels the other one.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let Some(runtime) = &self.0 else { return Some(work.await) };
        let mut tasks = JoinSet::new();
        // Keep span and subscriber of the request on the other runtime.
        tasks.spawn_on(work.in_current_span().with_current_subscriber(), runtime.handle());
        match tasks.join_next().await? {
            Ok(done) => Some(done),
            // All panics of requests are answered and logged where the request is counted.
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => None,
        }
    }

    /// Computes something on the pool.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.run(async move { work() }).await.ok_or_else(stopped)
    }
}

/// Middleware that runs a request on the pool. It is cancelled when its client disconnects.
pub(crate) async fn run_in_background(
    Extension(background): Extension<Arc<BackgroundPool>>,
    request: Request,
    next: Next,
) -> Response {
    let answered = background.run(next.run(request)).await;
    answered.unwrap_or_else(|| stopped().into_response())
}

fn stopped() -> Problem {
    Problem::new(ProblemCode::Internal, "the request could not be answered")
}
