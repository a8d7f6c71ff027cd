//! Callers: connections that send the same request repeatedly.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use meantime_kernel::clock::Stopwatch;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::super::sample::Sample;
use super::super::starters::LoadResult;
use super::connection::Connection;

/// What callers send, and on how many connections.
#[derive(Clone)]
pub(super) struct RepeatedCalls {
    pub(super) address: SocketAddr,
    pub(super) request: Arc<[u8]>,
    pub(super) connections: usize,
    /// The status that is expected.
    pub(super) status: u16,
    /// Each call takes a permit; the worker that completes the task gives it back.
    pub(super) permits: Option<Arc<Semaphore>>,
}

impl RepeatedCalls {
    /// Calls for a given time; each connection sends again as soon as it is answered.
    pub(super) async fn run_for(&self, time: Duration) -> Result<LoadResult> {
        let watch = Arc::new(Stopwatch::start());
        let mut callers = JoinSet::new();
        for _ in 0..self.connections {
            let (calls, watch) = (self.clone(), watch.clone());
            callers.spawn(async move {
                let mut connection = Connection::open(calls.address).await?;
                let mut latency = Sample::default();
                while watch.elapsed() < time {
                    calls.acquire_permit(time.saturating_sub(watch.elapsed())).await;
                    latency.add(calls.call(&mut connection).await?);
                }
                Ok(latency)
            });
        }
        collect(callers, &watch).await
    }

    /// Sends `count` calls, each on the next free connection.
    pub(super) async fn times(&self, count: usize) -> Result<LoadResult> {
        let requests = vec![self.request.to_vec(); count];
        let (load, _) = send_each(self.address, self.connections, requests, self.status).await?;
        Ok(load)
    }

    /// Calls at a steady rate for a given time. The latency of a call that waited for a free
    /// connection counts from when it was due.
    pub(super) async fn run_at_rate(&self, per_second: f64, time: Duration) -> Result<LoadResult> {
        let watch = Arc::new(Stopwatch::start());
        let share = per_second / super::super::report::count(self.connections);
        let period = Duration::from_secs_f64(1.0 / share);
        let mut callers = JoinSet::new();
        for number in 0..self.connections {
            let (calls, watch) = (self.clone(), watch.clone());
            let first =
                period.mul_f64(super::super::report::count(number)) / to_u32(calls.connections);
            callers.spawn(async move {
                let mut connection = Connection::open(calls.address).await?;
                let mut latency = Sample::default();
                let mut due = first;
                let mut ticks = ticks(period);
                super::super::starters::pause(first).await;
                while watch.elapsed() < time {
                    ticks.tick().await;
                    calls.call(&mut connection).await?;
                    latency.add(watch.elapsed().saturating_sub(due).as_secs_f64() * 1_000.0);
                    due += period;
                }
                Ok(latency)
            });
        }
        collect(callers, &watch).await
    }

    /// One call; returns its latency in milliseconds.
    async fn call(&self, connection: &mut Connection) -> Result<f64> {
        let watch = Stopwatch::start();
        connection.expect(&self.request, self.status).await?;
        Ok(watch.elapsed().as_secs_f64() * 1_000.0)
    }

    async fn acquire_permit(&self, patience: Duration) {
        if let Some(permits) = &self.permits
            && let Ok(Ok(permit)) = tokio::time::timeout(patience, permits.acquire()).await
        {
            permit.forget();
        }
    }
}

/// Sends each request once, on the next free connection, and keeps the answers.
pub(super) async fn send_each(
    address: SocketAddr,
    connections: usize,
    requests: Vec<Vec<u8>>,
    status: u16,
) -> Result<(LoadResult, Vec<Vec<u8>>)> {
    let watch = Stopwatch::start();
    let (requests, next) = (Arc::new(requests), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..connections {
        let (requests, next) = (requests.clone(), next.clone());
        callers.spawn(async move {
            let mut connection = Connection::open(address).await?;
            let (mut latency, mut answers) = (Sample::default(), Vec::new());
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let watch = Stopwatch::start();
                answers.push(connection.expect(request, status).await?.to_vec());
                latency.add(watch.elapsed().as_secs_f64() * 1_000.0);
            }
            anyhow::Ok((latency, answers))
        });
    }
    let (mut load, mut answers) = (LoadResult::default(), Vec::new());
    for done in callers.join_all().await {
        let (latency, more) = done?;
        load.latency.extend(&latency);
        answers.extend(more);
    }
    load.seconds = watch.elapsed().as_secs_f64();
    Ok((load, answers))
}

fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    ticks
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

async fn collect(callers: JoinSet<Result<Sample>>, watch: &Stopwatch) -> Result<LoadResult> {
    let mut load = LoadResult::default();
    for latency in callers.join_all().await {
        load.latency.extend(&latency?);
    }
    load.seconds = watch.elapsed().as_secs_f64();
    Ok(load)
}
