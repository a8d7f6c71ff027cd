//! Our worker: connections that complete their tasks and claim the next ones in one request.
//!
//! It is what an independent program in Rust would be, over HTTP and with no code of the engine.
//! Its tasks do nothing: the comparison is about the engines.

use std::fmt::Write as _;
use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::connection::{Connection, Target, post};

/// How many tasks a claim takes at most.
const BATCH_SIZE: usize = 200;

/// How long a claim waits for the first task.
const CLAIM_WAIT_MS: u32 = 30_000;

#[derive(Deserialize)]
struct Claimed<'a> {
    #[serde(borrow)]
    tasks: Vec<Task<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    lease_token: &'a RawValue,
}

/// Works on this many connections until one of them fails.
pub async fn run(address: SocketAddr, connections: usize) -> Result<()> {
    let mut workers = JoinSet::new();
    for number in 0..connections {
        workers.spawn(work(address, number));
    }
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}

async fn work(address: SocketAddr, number: usize) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    let claim = format!("\"worker\":\"w{number}\",\"types\":[\"noop\"],\"max\":{BATCH_SIZE}");
    let waiting = format!("{{{claim},\"waitMs\":{CLAIM_WAIT_MS}}}");
    let waiting = post(&target(address, "/tasks/claim"), &waiting);
    let complete = target(address, "/tasks/complete");
    let mut results: Option<Results> = None;
    loop {
        results = match results {
            None => Results::of(connection.expect(&waiting, 200).await?)?,
            Some(results) => {
                let body = format!("{{\"results\":[{}],\"claim\":{{{claim}}}}}", results.json);
                let answer = connection.expect(&post(&complete, &body), 200).await?;
                results.check(answer)?;
                Results::of(answer)?
            }
        };
    }
}

fn target(address: SocketAddr, path: &str) -> Target {
    Target { address, path: format!("/api/v1{path}") }
}

/// The results of some tasks.
#[derive(Debug, PartialEq, Eq)]
struct Results {
    count: usize,
    json: String,
}

impl Results {
    /// The results of the tasks that an answer contains, if it contains any.
    fn of(answer: &[u8]) -> Result<Option<Self>> {
        let claimed: Claimed<'_> = serde_json::from_slice(answer)?;
        let mut json = String::new();
        for (index, task) in claimed.tasks.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let (id, token) = (task.id.get(), task.lease_token.get());
            write!(json, "{comma}{{\"id\":{id},\"leaseToken\":{token},\"output\":1}}")?;
        }
        let count = claimed.tasks.len();
        Ok((count > 0).then_some(Self { count, json }))
    }

    /// Every result was accepted.
    fn check(&self, answer: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(answer);
        let accepted = text.matches("\"status\":200").count();
        ensure!(accepted == self.count, "not all were accepted: {text}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claimed_tasks_become_results() {
        assert_eq!(Results::of(b"{\"tasks\":[]}").unwrap(), None);
        let answer = br#"{"tasks":[{"id":"tk_1","leaseToken":"a","input":{}},
            {"id":"tk_2","type":"noop","leaseToken":"b"}]}"#;
        let results = Results::of(answer).unwrap().unwrap();
        assert_eq!(results.count, 2);
        let json = r#"{"id":"tk_1","leaseToken":"a","output":1},{"id":"tk_2","leaseToken":"b","output":1}"#;
        assert_eq!(results.json, json);
        results.check(br#"{"results":[{"status":200},{"status":200}]}"#).unwrap();
        results.check(br#"{"results":[{"status":200},{"status":409}]}"#).unwrap_err();
    }
}
