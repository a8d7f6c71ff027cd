//! What is logged of the store: that it was lost, found again, or given up, and what is damaged.

use std::collections::BTreeMap;

use meantime_core::InstanceId;
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

/// Logs every instance that is set aside, until the engine is gone.
pub(crate) async fn log_damage(mut damaged: watch::Receiver<BTreeMap<InstanceId, String>>) {
    let mut logged = BTreeMap::new();
    loop {
        let seen = damaged.borrow_and_update().clone();
        for (instance, damage) in seen.iter().filter(|(id, _)| !logged.contains_key(*id)) {
            tracing::error!(%instance, %damage, "an instance is damaged and was set aside");
        }
        logged = seen;
        if damaged.changed().await.is_err() {
            return;
        }
    }
}
