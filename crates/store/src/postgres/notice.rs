//! Notices between nodes: packed, sent by notifications of the database, outside of turns.
//!
//! ```text
//!   notify ─► pg_notify('meantime_…_all' or '…_<node>', packed) ──► the connection that listens
//!                                                                    └──► listener of the kernel
//! ```
//!
//! A lost notification delays something, and never makes it wrong. The monitor's connection listens
//! (`monitor.rs`).

use std::sync::{Arc, Mutex, PoisonError};

use meantime_kernel::store::{Error, Listener, NodeIndex, Notice, To};
use tokio::sync::watch;

use super::connection::{Call, arrays};
use super::pool::Pool;
use crate::row::packed;

const NOTIFY: &str = "SELECT pg_notify(channel, payload) \
     FROM unnest($1::text[], $2::text[]) AS n (channel, payload)";

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[NOTIFY];

/// The database accepts less than 8,000 bytes in a notification; payloads are hex digits.
const PAYLOAD_BYTES: usize = 3_900;

/// The channels on which the monitor's connection listens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Channels {
    /// Whether there is a listener.
    is_open: bool,
    node_index: Option<NodeIndex>,
}

/// The listener, and the channels of the node.
pub(super) struct Notifier {
    /// The prefix of channel names, which keeps schemas of one database apart.
    prefix: String,
    listener: Mutex<Option<Listener>>,
    channels: watch::Sender<Channels>,
    /// Identifies this process as the sender, so that it ignores its own notices.
    lease_term: watch::Sender<i64>,
}

impl Notifier {
    pub(super) fn new(schema: &str) -> Self {
        let prefix = format!("meantime_{:016x}", super::lock::hash("schema", schema));
        let (channels, lease_term) = (watch::Sender::default(), watch::Sender::new(0));
        Self { prefix, listener: Mutex::default(), channels, lease_term }
    }

    /// Sets the listener.
    pub(super) fn set_listener(&self, listener: Listener) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
        self.channels.send_if_modified(|it| !std::mem::replace(&mut it.is_open, true));
    }

    /// Sets the index and the lease term of the node.
    pub(super) fn acquire(&self, node_index: Option<NodeIndex>, lease_term: Option<i64>) {
        self.lease_term.send_replace(lease_term.unwrap_or_default());
        self.channels
            .send_if_modified(|it| std::mem::replace(&mut it.node_index, node_index) != node_index);
    }

    /// Sends notices to other nodes.
    pub(super) async fn notify(
        &self,
        pool: &Arc<Pool>,
        notices: &[(To, Notice)],
    ) -> Result<(), Error> {
        let lease_term = *self.lease_term.borrow();
        let mut messages: Vec<(String, String)> = Vec::new();
        let mut targets: Vec<To> = notices.iter().map(|(to, _)| *to).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            let channel = match target {
                To::Others => format!("{}_all", self.prefix),
                To::Node(NodeIndex(number)) => format!("{}_{number}", self.prefix),
            };
            let those = notices.iter().filter(|(to, _)| *to == target).map(|(_, notice)| notice);
            let payloads = payloads(lease_term, those);
            messages.extend(payloads.into_iter().map(|payload| (channel.clone(), payload)));
        }
        let params = arrays!(messages, |it| [it.0.as_str(), it.1.as_str()]);
        let call = Call::new(NOTIFY, params);
        let pooled = pool.acquire().await?;
        Ok(pooled.run(&[call]).await.map(drop)?)
    }

    /// The channels of the node, as a channel to wait on.
    pub(super) fn channels(&self) -> watch::Receiver<Channels> {
        self.channels.subscribe()
    }

    /// The LISTEN statements for the monitor's connection; `None` without a listener.
    pub(super) fn listen_to(&self, channels: Channels) -> Option<String> {
        let prefix = &self.prefix;
        let own =
            channels.node_index.map(|NodeIndex(number)| format!("; LISTEN {prefix}_{number}"));
        let own = own.unwrap_or_default();
        channels.is_open.then(|| format!("UNLISTEN *; LISTEN {prefix}_all{own}"))
    }

    pub(super) fn pass_on(&self, payload: &str) {
        // Damaged, or of another release. Notices may be lost: a heartbeat reads what they
        // announce.
        let Some((from, notices)) = unpacked(payload) else { return };
        if from == *self.lease_term.borrow() {
            return;
        }
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(listener) = listener {
            listener(notices);
        }
    }
}

/// Packs notices into as few payloads as their size allows.
fn payloads<'a>(from: i64, notices: impl Iterator<Item = &'a Notice>) -> Vec<String> {
    let mut payloads = Vec::new();
    let mut gathered: Vec<Notice> = Vec::new();
    let mut size = 0;
    for notice in notices {
        let more = packed(notice).len();
        if size + more > PAYLOAD_BYTES && !gathered.is_empty() {
            payloads.push(hex(&packed(&(from, std::mem::take(&mut gathered)))));
            size = 0;
        }
        size += more;
        gathered.push(notice.clone());
    }
    payloads.push(hex(&packed(&(from, gathered))));
    payloads
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The sender and the notices of a payload; `None` if it cannot be decoded.
fn unpacked(payload: &str) -> Option<(i64, Vec<Notice>)> {
    let digits = |at: usize| u8::from_str_radix(payload.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..payload.len()).step_by(2).map(digits).collect();
    minicbor::decode(&bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_notices_are_read_back_from_several_payloads() {
        let name = Some("n".repeat(400));
        let notice =
            |number: usize| Notice::TaskReady { queue: number.to_string(), name: name.clone() };
        let sent: Vec<Notice> = (0..50).map(notice).collect();
        let payloads = payloads(7, sent.iter());
        assert!(payloads.len() > 1 && payloads.iter().all(|it| it.len() < 8_000));
        let heard: Vec<_> = payloads.iter().filter_map(|it| unpacked(it)).collect();
        assert!(heard.iter().all(|(from, _)| *from == 7));
        assert_eq!(heard.into_iter().flat_map(|(_, it)| it).collect::<Vec<_>>(), sent);
    }

    #[test]
    fn what_is_not_ours_is_ignored() {
        assert_eq!(unpacked("hello"), None);
        assert_eq!(unpacked("ff"), None);
        assert_eq!(unpacked("é"), None);
    }
}
