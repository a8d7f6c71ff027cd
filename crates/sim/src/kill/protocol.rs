//! What client and node say to each other: a line of JSON each.

use serde::{Deserialize, Serialize};

/// A request, with a number that its answer repeats.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ClientRequest {
    pub(super) number: u64,
    pub(super) action: ClientAction,
}

/// What a client wants. Ids are as people see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ClientAction {
    /// An instance; the key makes a repetition harmless.
    Start { definition: String, key: String },
    /// A signal for an instance.
    Signal { instance: String },
    /// Tasks, when there are some.
    Claim { max: usize },
    /// A task is done.
    Complete { task: String, epoch: u32, claims: u32 },
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NodeResponse {
    /// Of which request; 0 is none.
    pub(super) number: u64,
    pub(super) body: ResponseBody,
}

/// What a node says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum ResponseBody {
    /// It takes requests.
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

/// A task in the client's hands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LeasedTask {
    pub(super) task: String,
    pub(super) epoch: u32,
    pub(super) claims: u32,
}
