//! Removes a definition as an operator would: undeploys it, ends its schedules and cancels its
//! instances until none is running.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::super::starters::pause;
use super::connection::{Connection, delete_request, get_request, json_request};
use super::steady_load::ask;

/// How many cancel at a time.
const CONNECTIONS: usize = 64;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two checks.
const POLL_PAUSE: Duration = Duration::from_millis(100);

/// The result of a cleanup.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cleanup {
    /// The largest number of running instances that a check found.
    pub(super) found: usize,
    /// Instances that were still running when the time was up.
    pub(super) left: usize,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Item>,
}

#[derive(Clone, Deserialize)]
struct Item {
    id: String,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    status: Option<String>,
}

/// Ends everything of a definition within a given time.
pub(super) async fn cancel_instances(
    address: SocketAddr,
    name: &str,
    patience: Duration,
) -> Cleanup {
    let mut clearance = Cleanup { found: 0, left: 1 };
    let clearing = async {
        // Cancelling alone does not stop a definition that keeps starting itself, so it is
        // undeployed first. Each variant has been deployed once, hence version 1.
        let undeploy = delete_request(&format!("/definitions/{name}/versions/1"));
        send_all(address, vec![undeploy]).await;
        let mut empty = 0;
        // One empty check is not enough: an instance that ended just then may have started another
        // one.
        while empty < 2 {
            // If the server does not answer, instances may be left.
            if let Ok(left) = cancel_page(address, name).await {
                clearance.found = clearance.found.max(left);
                clearance.left = left.max(1);
                empty = if left == 0 { empty + 1 } else { 0 };
            }
            pause(POLL_PAUSE).await;
        }
    };
    let is_clear = tokio::time::timeout(patience, clearing).await.is_ok();
    Cleanup { left: if is_clear { 0 } else { clearance.left }, ..clearance }
}

/// Cancels the running instances of one page; returns how many there were.
async fn cancel_page(address: SocketAddr, name: &str) -> Result<usize> {
    let path = format!("/schedules?definition={name}&state=active&limit=1000");
    let schedules: Page = get(address, &path).await?;
    let request = |item: &Item| delete_request(&format!("/schedules/{}", item.id));
    send_all(address, schedules.items.iter().map(request).collect()).await;
    let path = format!("/instances?definition={name}&status=running&limit=1000");
    let instances: Page = get(address, &path).await?;
    // The roots of trees are cancelled first: they may have more descendants than fit on a page.
    let mut tops = Vec::new();
    for item in [instances.items.first(), instances.items.last()].into_iter().flatten() {
        tops.push(top(address, item.clone()).await?);
    }
    let request = |item: &Item| json_request(&format!("/instances/{}/cancel", item.id), "{}");
    send_all(address, tops.iter().map(request).collect()).await;
    send_all(address, instances.items.iter().map(request).collect()).await;
    Ok(schedules.items.len() + instances.items.len())
}

/// The topmost ancestor of an instance that is still running.
async fn top(address: SocketAddr, mut item: Item) -> Result<Item> {
    while let Some(parent) = &item.parent {
        let above: Item = get(address, &format!("/instances/{parent}")).await?;
        if above.status.as_deref() != Some("running") {
            break;
        }
        item = above;
    }
    Ok(item)
}

async fn get<T: DeserializeOwned>(address: SocketAddr, path: &str) -> Result<T> {
    let asking = async {
        let mut connection = Connection::open(address).await?;
        let body = connection.expect(&get_request(path), 200).await?;
        Ok(serde_json::from_slice(body)?)
    };
    tokio::time::timeout(REQUEST_TIMEOUT, asking).await.context("no answer")?
}

/// Sends every request once and ignores the answers: the next check finds what is left.
async fn send_all(address: SocketAddr, requests: Vec<Vec<u8>>) {
    let (requests, next) = (Arc::new(requests), Arc::new(AtomicUsize::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..CONNECTIONS.min(requests.len()) {
        let (requests, next) = (requests.clone(), next.clone());
        callers.spawn(async move {
            let mut connection = None;
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let asked = ask(&mut connection, address, request);
                if !matches!(tokio::time::timeout(REQUEST_TIMEOUT, asked).await, Ok(Ok(_))) {
                    connection = None;
                }
            }
        });
    }
    callers.join_all().await;
}
