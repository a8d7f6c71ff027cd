//! Callers: connections that send the same request again and again, each as soon as it has the
//! answer to the last one.
//!
//! ```text
//!   callers    ├─ warm-up ─┼───── measured ─────┤ the last answers
//!   processes              ▲                    ▲ processor time is read here
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::{Connection, Target, post};
use super::process_tree::{NamedProcess, machine_seconds};
use super::sample::Sample;

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The status by which an engine rejects what is too much for it, and the pause before the caller
/// sends its request again.
const STATUS_REFUSED: u16 = 503;
const REFUSED_PAUSE: Duration = Duration::from_millis(20);

/// The request, and what its answer must be.
#[derive(Debug, Clone)]
pub struct Call {
    /// Where it goes.
    pub target: Target,
    /// JSON, or nothing.
    pub body: String,
    /// Status of every answer, but for refusals.
    pub status: u16,
    /// A part of the body of every answer: proof that the workflow has ended with its result.
    pub answer: String,
}

/// How many callers, for how long.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Callers, each with a connection of its own.
    pub connections: usize,
    /// How long they call before the measurement begins.
    pub warm_up: Duration,
    /// How long the measurement takes.
    pub time: Duration,
}

/// What was measured. Only answers that came within the measured time count.
#[derive(Debug)]
pub struct Load {
    /// How long the measurement took.
    pub seconds: f64,
    /// From the request to the whole answer, in milliseconds. A request that was refused is sent
    /// again, and its latency counts from the first time.
    pub latency: Sample,
    /// How many requests were refused.
    pub refused: u64,
    /// Seconds of processor time of each process, in the order of the arguments.
    pub processor_seconds: Vec<f64>,
    /// The same of everything else on the machine, which should have nothing to do.
    pub others_seconds: f64,
}

/// Runs the callers.
pub async fn run(call: Call, plan: Plan, processes: &[NamedProcess]) -> Result<Load> {
    let (call, stop) = (Arc::new(call), Arc::new(AtomicBool::new(false)));
    let begin = Instant::now() + plan.warm_up;
    let mut callers = JoinSet::new();
    for _ in 0..plan.connections {
        callers.spawn(caller(call.clone(), stop.clone(), begin));
    }
    pause(&mut callers, plan.warm_up).await?;
    let (watch, before) = (Instant::now(), Usage::now(processes));
    pause(&mut callers, plan.time).await?;
    let after = Usage::now(processes);
    let end = Instant::now();
    stop.store(true, Ordering::Relaxed);
    let (mut latency, mut refused) = (Sample::default(), 0);
    while let Some(ended) = callers.join_next().await {
        for answer in ended?? {
            if (watch..=end).contains(&answer.at) {
                latency.add(answer.latency_ms);
                refused += answer.refused;
            }
        }
    }
    let processor_seconds = after.processes.iter().zip(&before.processes);
    let processor_seconds: Vec<f64> =
        processor_seconds.map(|(after, before)| after - before).collect();
    let known: f64 = processor_seconds.iter().sum();
    let others_seconds = (after.machine - before.machine - known).max(0.0);
    let seconds = (end - watch).as_secs_f64();
    Ok(Load { seconds, latency, refused, processor_seconds, others_seconds })
}

/// An answer, and when it was there.
struct Answer {
    at: Instant,
    latency_ms: f64,
    /// How often the request was refused before.
    refused: u64,
}

/// Waits; a caller that ends meanwhile has failed.
async fn pause(callers: &mut JoinSet<Result<Vec<Answer>>>, time: Duration) -> Result<()> {
    tokio::select! {
        () = sleep(time) => Ok(()),
        Some(ended) = callers.join_next() => ended?.map(drop),
    }
}

async fn caller(call: Arc<Call>, stop: Arc<AtomicBool>, begin: Instant) -> Result<Vec<Answer>> {
    let request = post(&call.target, &call.body);
    let mut connection = Connection::open(call.target.address).await?;
    let mut answers = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let (sent, mut refused) = (Instant::now(), 0);
        loop {
            let exchange = connection.exchange(&request);
            let (status, body) = timeout(ANSWER_TIMEOUT, exchange).await??;
            let at = Instant::now();
            if status == STATUS_REFUSED {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                refused += 1;
                sleep(REFUSED_PAUSE).await;
                continue;
            }
            let is_right = status == call.status && contains(body, &call.answer);
            ensure!(is_right, "not the answer that was expected: {status}: {}", text(body));
            if at >= begin {
                let latency_ms = (at - sent).as_secs_f64() * 1_000.0;
                answers.push(Answer { at, latency_ms, refused });
            }
            break;
        }
    }
    Ok(answers)
}

fn contains(body: &[u8], part: &str) -> bool {
    part.is_empty() || body.windows(part.len()).any(|window| window == part.as_bytes())
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}

/// Seconds of processor time that have been used until now.
struct Usage {
    processes: Vec<f64>,
    machine: f64,
}

impl Usage {
    fn now(processes: &[NamedProcess]) -> Self {
        let machine = machine_seconds();
        Self { processes: processes.iter().map(NamedProcess::processor_seconds).collect(), machine }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// What a caller makes of these answers. It is told to stop before it gets the last one.
    async fn call(answers: &'static [(u16, &'static str)]) -> Result<Vec<Answer>> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = stop.clone();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1_024];
            for (index, (status, body)) in answers.iter().enumerate() {
                assert!(stream.read(&mut request).await.unwrap() > 0);
                stopping.store(index + 1 == answers.len(), Ordering::Relaxed);
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}", body.len());
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
            }
        });
        let target = Target { address, path: "/".to_owned() };
        let answer = "completed".to_owned();
        let call = Call { target, body: String::new(), status: 200, answer };
        caller(Arc::new(call), stop, Instant::now()).await
    }

    #[tokio::test]
    async fn every_answer_is_checked() {
        let completed = call(&[(200, "{\"status\":\"completed\"}"), (200, "completed")]).await;
        assert_eq!(completed.unwrap().len(), 2);
        assert!(call(&[(200, "completed"), (200, "failed")]).await.is_err());
        assert!(call(&[(201, "completed")]).await.is_err());
    }

    #[tokio::test]
    async fn a_refused_request_is_sent_again_and_counted() {
        let answers = call(&[(503, "busy"), (503, "busy"), (200, "completed")]).await.unwrap();
        assert_eq!(answers.iter().map(|answer| answer.refused).collect::<Vec<_>>(), [2]);
        // The last one is given up when the time is over.
        assert_eq!(call(&[(200, "completed"), (503, "busy")]).await.unwrap().len(), 1);
    }
}
