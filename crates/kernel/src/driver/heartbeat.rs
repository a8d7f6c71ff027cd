//! Heartbeats of a node that shares its store, and its clock put right by the store's.

use std::sync::Arc;
use std::time::Duration;

use meantime_core::Timestamp;
use tokio::sync::{Notify, mpsc};

use crate::clock::{AdjustedClock, Clock};
use crate::machine::Input;
use crate::store::{Error, Membership, Store};

/// How often. A process that was killed is noticed with the second one after its end at the latest.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);

/// How long to wait after one that failed.
const HEARTBEAT_RETRY: Duration = Duration::from_secs(1);

/// How unsure a node may be of the store's time (I7).
const UNSURE: Duration = Duration::from_millis(500);

/// Who shares the store, and until when the node may rely on its lease.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) membership: Membership,
    pub(super) until: Option<Timestamp>,
}

/// Sends one heartbeat: acquires a lease, or renews it.
pub(super) async fn send_heartbeat(
    store: &dyn Store,
    clock: &AdjustedClock,
) -> Result<Joined, Error> {
    // Nobody's setting of clocks is to count as time that the answer took.
    let asked = clock.steady();
    let membership = store.renew_lease(clock.now().real).await?;
    let answered = clock.steady();
    let passed = answered.saturating_sub(asked);
    if let Some(time) = membership.time {
        let unsure = passed / 2;
        if unsure > UNSURE {
            let text = format!("the store's time is known to {} ms only", unsure.as_millis());
            return Err(Error::Unavailable(text));
        }
        clock.put_right(time, asked + unsure);
    }
    // Counted from the question: the lease may have been renewed right then.
    let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
    let until = membership.lasts_ms.map(|ms| clock.now().real.saturating_add_millis(ms - passed));
    Ok(Joined { membership, until })
}

/// Sends heartbeats until the loop is over, and at once when it is woken. A failed one needs no
/// report: the lease runs out.
pub(super) async fn send_heartbeats(
    store: Arc<dyn Store>,
    clock: Arc<AdjustedClock>,
    inputs: mpsc::UnboundedSender<Input>,
    wake: Arc<Notify>,
) {
    let mut wait = HEARTBEAT_INTERVAL;
    loop {
        // Either way it is time.
        let _ = tokio::time::timeout(wait, wake.notified()).await;
        wait = HEARTBEAT_RETRY;
        if let Ok(Joined { membership, until }) = send_heartbeat(&*store, &clock).await {
            let soon = membership.recheck_ms.map(|ms| u64::try_from(ms).unwrap_or_default());
            wait = soon
                .map_or(HEARTBEAT_INTERVAL, |ms| HEARTBEAT_INTERVAL.min(Duration::from_millis(ms)));
            if inputs.send(Input::Membership(membership, until)).is_err() {
                return;
            }
        }
    }
}
