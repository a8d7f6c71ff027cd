//! Logs what the engine reports: outages of the store, damaged instances, jumps of the wall clock,
//! and deadlines that have passed.

use std::collections::BTreeMap;

use meantime_core::InstanceId;
use meantime_kernel::driver::{ClockStep, StoreHealth};
use meantime_kernel::machine::TimedOut;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::request::Metrics;

/// Logs every change until the engine stops.
pub(crate) async fn log_store(mut standing: watch::Receiver<StoreHealth>) {
    loop {
        match &*standing.borrow_and_update() {
            StoreHealth::Healthy => {}
            StoreHealth::Unreachable(why) => tracing::error!(%why, "the store is unreachable"),
            StoreHealth::Failed(error) => {
                tracing::error!(code = error.code(), %error, "the engine has stopped because of a store error");
            }
        }
        if standing.changed().await.is_err() {
            return;
        }
        if *standing.borrow() == StoreHealth::Healthy {
            tracing::info!("the store is reachable again");
        }
    }
}

/// Logs every damaged instance, until the engine stops.
pub(crate) async fn log_damage(mut damaged: watch::Receiver<BTreeMap<InstanceId, String>>) {
    let mut logged = BTreeMap::new();
    loop {
        let seen = damaged.borrow_and_update().clone();
        for (instance, damage) in seen.iter().filter(|(id, _)| !logged.contains_key(*id)) {
            tracing::error!(%instance, %damage, "the instance is damaged and was set aside");
        }
        logged = seen;
        if damaged.changed().await.is_err() {
            return;
        }
    }
}

/// Logs jumps of the wall clock. After a jump forward, overdue timers fire at once; after a jump
/// back, timers wait until the clock has caught up (T13).
pub(crate) async fn log_clock(mut steps: watch::Receiver<ClockStep>) {
    while steps.changed().await.is_ok() {
        let ClockStep { by_ms, .. } = *steps.borrow_and_update();
        if by_ms > 0 {
            tracing::warn!(by_ms, "the wall clock jumped forward: overdue timers fire now");
        } else {
            tracing::warn!(by_ms, "the wall clock jumped back: timers wait until it has caught up");
        }
    }
}

/// Logs and counts instances that ended because their deadline passed, until the engine stops.
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
