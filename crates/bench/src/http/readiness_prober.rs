//! Probes `/readyz` of a server repeatedly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::super::starters::pause;
use super::steady_load::ask;

const READYZ_REQUEST: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The interval between probes, and the time limit of an answer.
const PROBE_INTERVAL: Duration = Duration::from_millis(100);
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// A prober that runs until it is stopped.
pub(super) struct ReadinessProber {
    stop: Arc<AtomicBool>,
    asking: JoinHandle<Readiness>,
}

/// What the probes found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Readiness {
    pub(super) asked: usize,
    /// Answers other than 200.
    pub(super) not_ready: usize,
    /// No answer at all.
    pub(super) silent: usize,
}

impl ReadinessProber {
    pub(super) fn begin(address: SocketAddr) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let asking = tokio::spawn(async move {
            let (mut connection, mut observations) = (None, Readiness::default());
            while !stopped.load(Ordering::Relaxed) {
                observations.asked += 1;
                let asked = ask(&mut connection, address, READYZ_REQUEST);
                match tokio::time::timeout(PROBE_TIMEOUT, asked).await {
                    Ok(Ok(200)) => {}
                    Ok(Ok(_)) => observations.not_ready += 1,
                    Ok(Err(_)) | Err(_) => {
                        connection = None;
                        observations.silent += 1;
                    }
                }
                pause(PROBE_INTERVAL).await;
            }
            observations
        });
        Self { stop, asking }
    }

    pub(super) async fn end(self) -> Readiness {
        self.stop.store(true, Ordering::Relaxed);
        self.asking.await.unwrap_or_default()
    }
}

impl Readiness {
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            asked: self.asked + other.asked,
            not_ready: self.not_ready + other.not_ready,
            silent: self.silent + other.silent,
        }
    }
}

/// Whether the server becomes ready within the given time.
pub(super) async fn is_ready_within(address: SocketAddr, patience: Duration) -> bool {
    let asking = async {
        let mut connection = None;
        while !matches!(ask(&mut connection, address, READYZ_REQUEST).await, Ok(200)) {
            pause(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(patience, asking).await.is_ok()
}
