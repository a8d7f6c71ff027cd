//! Logs and counts instances that ended because their deadline passed.

use meantime_kernel::machine::TimedOut;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::request::Metrics;

/// Runs until the engine stops.
pub(crate) async fn log_deadlines(mut timed_out: broadcast::Receiver<TimedOut>, metrics: Metrics) {
    loop {
        match timed_out.recv().await {
            Ok(it) => {
                metrics.count_deadline(&it.code);
                let (instance, definition) = (it.instance, it.definition.0);
                tracing::warn!(%instance, definition, code = it.code, "instance ended because its deadline passed");
            }
            Err(RecvError::Lagged(more)) => {
                tracing::warn!(more, "more instances ended because their deadline passed");
            }
            Err(RecvError::Closed) => return,
        }
    }
}
