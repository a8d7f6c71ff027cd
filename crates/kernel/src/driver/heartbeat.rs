//! Heartbeats of a node on a shared store, which also adjust its clock to that of the store.

use std::sync::Arc;
use std::time::Duration;

use meantime_core::Timestamp;
use tokio::sync::{Notify, mpsc};

use crate::clock::{AdjustedClock, Clock};
use crate::machine::Input;
use crate::store::{Error, Membership, Store};

/// The heartbeat interval. A killed process is noticed at the latest by the second heartbeat after
/// its end.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(3);

/// The pause after a failed heartbeat.
const HEARTBEAT_RETRY: Duration = Duration::from_secs(1);

/// The largest allowed uncertainty about the time of the store (I7).
const MAX_CLOCK_UNCERTAINTY: Duration = Duration::from_millis(500);

/// The membership, and until when the node may rely on its lease.
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
    // Measured with monotonic time: setting the wall clock must not count as time that the answer
    // took.
    let asked = clock.steady();
    let membership = store.renew_lease(clock.now().real).await?;
    let answered = clock.steady();
    let passed = answered.saturating_sub(asked);
    if let Some(time) = membership.time {
        let unsure = passed / 2;
        if unsure > MAX_CLOCK_UNCERTAINTY {
            let text = format!("the store's time is known to {} ms only", unsure.as_millis());
            return Err(Error::Unavailable(text));
        }
        clock.put_right(time, asked + unsure);
    }
    // Counted from the request: the store may have renewed the lease at that moment.
    let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
    let until = membership.lasts_ms.map(|ms| clock.now().real.saturating_add_millis(ms - passed));
    Ok(Joined { membership, until })
}

/// Sends heartbeats until the loop has ended, and at once when woken. A failed heartbeat needs no
/// report: the lease then expires.
pub(super) async fn send_heartbeats(
    store: Arc<dyn Store>,
    clock: Arc<AdjustedClock>,
    inputs: mpsc::UnboundedSender<Input>,
    wake: Arc<Notify>,
) {
    let mut wait = HEARTBEAT_INTERVAL;
    loop {
        // Either the interval has passed, or the store was restored.
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
