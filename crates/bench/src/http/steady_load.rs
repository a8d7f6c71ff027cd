//! Callers that send at a steady rate, independent of the answers, with a time limit.
//!
//! ```text
//!   request k is due at k / rate ─► the next free connection ─► answered, refused or lost
//! ```
//!
//! Unlike [`super::caller`] it continues when a server rejects requests, closes connections or does
//! not answer: this is what it measures. A request that finds no free connection counts from when
//! it was due.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;
use tokio::task::JoinSet;

use super::super::report::{count, float};
use super::super::sample::Sample;
use super::super::starters::pause;
use super::connection::Connection;

/// How long a run waits for answers after its end; requests without an answer by then are lost.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The request, and how often it is sent.
#[derive(Clone)]
pub(super) struct SteadyLoad {
    pub(super) address: SocketAddr,
    pub(super) request: Arc<[u8]>,
    pub(super) connections: usize,
    pub(super) per_second: f64,
    /// How long a request takes without any delay, such as the sleep of its flow.
    pub(super) lasts: Duration,
    /// The status that is expected.
    pub(super) status: u16,
}

/// The answers that callers got.
#[derive(Default)]
pub(super) struct Observations {
    seconds: f64,
    in_time: usize,
    pub(super) refused: usize,
    pub(super) lost: usize,
    /// How late answers were, in milliseconds; lost requests count with the time they have waited.
    pub(super) late: Sample,
}

impl Observations {
    /// Good answers per second that came before the end.
    pub(super) fn per_second(&self) -> f64 {
        count(self.in_time) / self.seconds
    }

    /// Adds the observations of another caller of the same run.
    fn add(&mut self, other: &Self) {
        self.in_time += other.in_time;
        self.refused += other.refused;
        self.lost += other.lost;
        self.late.extend(&other.late);
    }
}

impl SteadyLoad {
    /// Sends requests for a given time.
    pub(super) async fn call_for(&self, time: Duration) -> Observations {
        let watch = Arc::new(Stopwatch::start());
        let next = Arc::new(AtomicU64::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..self.connections {
            let (steady, watch, next) = (self.clone(), watch.clone(), next.clone());
            callers.spawn(async move { steady.calls(time, &watch, &next).await });
        }
        let mut all = Observations { seconds: time.as_secs_f64(), ..Observations::default() };
        for observations in callers.join_all().await {
            all.add(&observations);
        }
        all
    }

    /// One caller.
    async fn calls(&self, time: Duration, watch: &Stopwatch, next: &AtomicU64) -> Observations {
        let (mut connection, mut observations) = (None, Observations::default());
        let end = time + self.lasts;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let due = Duration::from_secs_f64(float(number) / self.per_second);
            if due >= time {
                return observations;
            }
            let early = due.saturating_sub(watch.elapsed());
            if !early.is_zero() {
                pause(early).await;
            }
            let patience = (end + CALL_TIMEOUT).saturating_sub(watch.elapsed());
            let asked = self.ask(&mut connection);
            let answer = tokio::time::timeout(patience, asked).await;
            let now = watch.elapsed();
            let late = now.saturating_sub(due + self.lasts).as_secs_f64() * 1_000.0;
            match answer {
                Ok(Ok(status)) if status == self.status => {
                    observations.late.add(late);
                    observations.in_time += usize::from(now <= end);
                }
                Ok(Ok(_)) => observations.refused += 1,
                Ok(Err(_)) => {
                    connection = None;
                    observations.refused += 1;
                }
                Err(_) => {
                    connection = None;
                    observations.late.add(late);
                    observations.lost += 1;
                }
            }
        }
    }

    async fn ask(&self, connection: &mut Option<Connection>) -> Result<u16> {
        ask(connection, self.address, &self.request).await
    }
}

/// Sends a request on a connection, which is opened if there is none; returns the status.
pub(super) async fn ask(
    connection: &mut Option<Connection>,
    address: SocketAddr,
    request: &[u8],
) -> Result<u16> {
    let open = match connection.take() {
        Some(open) => open,
        None => Connection::open(address).await?,
    };
    connection.insert(open).send(request).await
}
