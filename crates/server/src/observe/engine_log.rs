//! Logs what the engine reports: outages of the store, damaged instances, jumps of the wall clock,
//! and deadlines that have passed.

use std::collections::BTreeMap;

use meantime_core::InstanceId;
use meantime_kernel::driver::{ClockStep, StoreHealth};
use meantime_kernel::machine::TimedOut;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::request::Metrics;

#[cfg(test)]
#[path = "../../tests/support/log.rs"]
mod log;

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

#[cfg(test)]
mod tests {
    use meantime_kernel::command::Error;
    use tracing_subscriber::filter::LevelFilter;

    use super::*;
    use crate::observe::log_filter;

    #[tokio::test]
    async fn the_log_says_when_the_store_is_lost_and_when_it_is_back() {
        let (log, _scope) = log::collect(log_filter(LevelFilter::INFO));
        let (standing, seen) = watch::channel(StoreHealth::Healthy);
        let logging = tokio::spawn(log_store(seen));
        let lost = || StoreHealth::Unreachable("no route".to_owned());
        let cases = [
            (StoreHealth::Healthy, None),
            (lost(), Some("the store is unreachable why=no route")),
            (StoreHealth::Healthy, Some("the store is reachable again")),
            (lost(), Some("the store is unreachable why=no route")),
            (
                StoreHealth::Failed(Error::Overloaded),
                Some("the engine has stopped because of a store error code=\"overloaded\""),
            ),
        ];
        tokio::task::yield_now().await;
        for (health, expected) in cases {
            if *standing.borrow() != health {
                standing.send_replace(health);
            }
            // One thread: the other task runs now.
            tokio::task::yield_now().await;
            let lines = log.take();
            match (lines.as_slice(), expected) {
                ([line], Some(expected)) => assert!(line.contains(expected), "{line}"),
                (lines, expected) => assert_eq!((lines.len(), expected), (0, None), "{lines:?}"),
            }
        }
        drop(standing);
        logging.await.expect("it ends with the engine");
    }
}
