//! What is logged of the store and the clock: that the store was lost, found again, or given up,
//! what is damaged, and that the clock was set.

use std::collections::BTreeMap;

use meantime_core::InstanceId;
use meantime_kernel::driver::{ClockStep, StoreHealth};
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

/// Says that the wall clock was set. What is due by it now fires now; where it was set back, timers
/// stand still until it has caught up (T13).
pub(crate) async fn log_clock(mut steps: watch::Receiver<ClockStep>) {
    while steps.changed().await.is_ok() {
        let ClockStep { by_ms, .. } = *steps.borrow_and_update();
        if by_ms > 0 {
            tracing::warn!(by_ms, "the wall clock went forward: what is due by it fires now");
        } else {
            tracing::warn!(by_ms, "the wall clock went back: timers wait until it catches up");
        }
    }
}
