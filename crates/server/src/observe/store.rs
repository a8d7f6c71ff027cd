//! What is logged of the store: that it was lost, found again, or given up.

use meantime_kernel::driver::StoreHealth;
use tokio::sync::watch;

/// Logs every change until the engine is gone.
pub(crate) async fn log_store(mut standing: watch::Receiver<StoreHealth>) {
    loop {
        match &*standing.borrow_and_update() {
            StoreHealth::Healthy => {}
            StoreHealth::Unreachable(why) => tracing::error!(%why, "the store was lost"),
            StoreHealth::Failed(error) => {
                tracing::error!(code = error.code(), %error, "the engine has stopped");
            }
        }
        if standing.changed().await.is_err() {
            return;
        }
        if *standing.borrow() == StoreHealth::Healthy {
            tracing::info!("the store was found again");
        }
    }
}
