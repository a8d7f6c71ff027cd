//! The protocol between client and node: one line of JSON per message.

use serde::{Deserialize, Serialize};

/// A request, with a number that its answer repeats.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ClientRequest {
    pub(super) number: u64,
    pub(super) action: ClientAction,
}

/// What a client requests. Ids are in their text form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ClientAction {
    /// Starts an instance; the key makes a repetition harmless.
    Start { definition: String, key: String },
    /// Sends a signal to an instance.
    Signal { instance: String },
    /// Claims tasks.
    Claim { max: usize },
    /// Completes a task.
    Complete { task: String, epoch: u32, claims: u32 },
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NodeResponse {
    /// The number of the request; 0 if the message answers none.
    pub(super) number: u64,
    pub(super) body: ResponseBody,
}

/// The content of an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum ResponseBody {
    /// The node accepts requests.
    Ready,
    Started {
        instance: String,
        repeated: bool,
    },
    Done,
    Tasks(Vec<LeasedTask>),
    Refused {
        code: String,
    },
}

/// A task that the client has claimed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LeasedTask {
    pub(super) task: String,
    pub(super) epoch: u32,
    pub(super) claims: u32,
}
