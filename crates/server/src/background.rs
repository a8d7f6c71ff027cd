//! Long requests of operators, behind the work of the engine.
//!
//! A list of a thousand instances, a long source that is compiled, a forecast over months: each
//! takes the processor for tens of milliseconds. They run on threads of their own with a low
//! priority, so that starts, tasks and timers do not wait for them, however many there are.

use std::sync::Arc;

use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use meantime_kernel::thread_priority;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tracing::instrument::{Instrument as _, WithSubscriber as _};

use crate::problem::{Problem, ProblemCode};

/// Threads that answer. Two: a long answer does not hold up all others.
const POOL_THREADS: usize = 2;

/// The threads. Without them (the system refused) requests are answered like all others.
pub(crate) struct BackgroundPool(Option<Runtime>);

impl BackgroundPool {
    pub(crate) fn start() -> Arc<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(POOL_THREADS)
            .thread_name("meantime-long")
            // Threads for blocking work come from here too.
            .on_thread_start(|| thread_priority::lower(thread_priority::current()))
            .enable_all()
            .build();
        Arc::new(Self(runtime.ok()))
    }
}

impl Drop for BackgroundPool {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Nobody waits for the answers any more.
            runtime.shutdown_background();
        }
    }
}

/// Answers a request in the background. It ends when its caller has gone.
pub(crate) async fn run_in_background(
    Extension(background): Extension<Arc<BackgroundPool>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(runtime) = &background.0 else { return next.run(request).await };
    let mut answers = JoinSet::new();
    // What it logs belongs to the request, and goes where the caller's thread would send it.
    let answering = next.run(request).in_current_span().with_current_subscriber();
    answers.spawn_on(answering, runtime.handle());
    match answers.join_next().await {
        Some(Ok(response)) => response,
        _ => {
            Problem::new(ProblemCode::Internal, "the request could not be answered").into_response()
        }
    }
}
