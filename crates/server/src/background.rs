//! Runs long requests on a low-priority thread pool.
//!
//! Listing a thousand instances, compiling a long source or a forecast over months takes tens of
//! milliseconds of CPU time. Such requests run on separate threads of low priority, so that starts,
//! tasks and timers do not wait for them.

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

/// Middleware that runs a request on the pool. Dropping the `JoinSet` cancels the request when its
/// client disconnects.
pub(crate) async fn run_in_background(
    Extension(background): Extension<Arc<BackgroundPool>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(runtime) = &background.0 else { return next.run(request).await };
    let mut answers = JoinSet::new();
    // Keep span and subscriber of the request on the other runtime.
    let answering = next.run(request).in_current_span().with_current_subscriber();
    answers.spawn_on(answering, runtime.handle());
    match answers.join_next().await {
        Some(Ok(response)) => response,
        _ => {
            Problem::new(ProblemCode::Internal, "the request could not be answered").into_response()
        }
    }
}
