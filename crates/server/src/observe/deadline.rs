//! What is logged and counted of instances that end with their deadline.

use meantime_kernel::machine::TimedOut;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::request::Metrics;

/// Logs and counts them until the engine is gone.
pub(crate) async fn log_deadlines(mut timed_out: broadcast::Receiver<TimedOut>, metrics: Metrics) {
    loop {
        match timed_out.recv().await {
            Ok(it) => {
                metrics.count_deadline(&it.code);
                let (instance, definition) = (it.instance, it.definition.0);
                tracing::warn!(%instance, definition, code = it.code, "ended with its deadline");
            }
            Err(RecvError::Lagged(more)) => {
                tracing::warn!(more, "instances ended with their deadline");
            }
            Err(RecvError::Closed) => return,
        }
    }
}
