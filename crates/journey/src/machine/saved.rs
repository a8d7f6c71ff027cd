//! The saved state of a run. Format 1.
//!
//! Positions are ids of states in their scopes, never positions in compiled code. Field numbers are
//! a storage format: never reuse one.

use std::collections::BTreeMap;

use meantime_core::{EffectKey, Failure, Fault, Json, Outcome, State, Termination, Timestamp};
use minicbor::{Decode, Encode};

use super::overlay::Overlay;

/// The format of the bytes.
pub(crate) const STATE_FORMAT: u16 = 1;

/// A frame's number; the root is 0.
pub(super) type FrameId = u32;

pub(super) const ROOT_FRAME: FrameId = 0;

/// The whole run.
#[derive(Debug, Clone, Encode, Decode)]
pub(crate) struct SavedRun {
    /// How the run was started.
    #[n(0)]
    pub(super) role: RunRole,
    /// One per active scope: the root, branches, calls.
    #[n(1)]
    pub(super) frames: BTreeMap<FrameId, Frame>,
    /// The next frame's number.
    #[n(2)]
    pub(super) next_frame: FrameId,
    /// The number of states entered so far; identifies every visit (JT1).
    #[n(3)]
    pub(super) activations: u64,
    /// Attributes, each written once.
    #[n(4)]
    pub(super) attributes: BTreeMap<String, String>,
    /// Tags, those of the definition included.
    #[n(5)]
    pub(super) tags: Vec<String>,
    /// The outcome and the compensation it waits for.
    #[n(6)]
    pub(super) pending_outcome: Option<PendingOutcome>,
    /// The time of the last turn.
    #[n(7)]
    pub(super) updated_at: Timestamp,
    /// The trace context of the request that started it.
    #[n(8)]
    pub(super) traceparent: Option<String>,
    /// The timer that limits a compensation.
    #[n(9)]
    pub(super) cap: Option<EffectKey>,
    /// The incident of a compensation that takes too long.
    #[n(10)]
    pub(super) overdue: Option<EffectKey>,
    // 11 was the request of the whole run; now each frame has its own.
}

/// How a run was started.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) enum RunRole {
    /// Started by a caller.
    #[n(0)]
    Main,
    /// Started by a schedule, so no client can submit to it (S9).
    #[n(1)]
    Scheduled,
    /// It compensates another run, whose outcome it contains.
    #[n(2)]
    Compensation(#[n(0)] Json),
    /// A guard: decides whether a caller may read another run.
    #[n(3)]
    Guard(#[n(0)] String),
}

/// The outcome is decided and waits for the compensation.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct PendingOutcome {
    #[n(0)]
    pub(super) outcome: Outcome,
    #[n(1)]
    pub(super) compensation: EffectKey,
}

/// One active scope.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Frame {
    /// The frame whose state contains or calls it.
    #[n(0)]
    pub(super) parent: Option<FrameId>,
    /// Its scope.
    #[n(1)]
    pub(super) scope: ScopeName,
    /// The state it is at.
    #[n(2)]
    pub(super) state: String,
    /// The number of this visit.
    #[n(3)]
    pub(super) activation: u64,
    /// The time at which it was entered.
    #[n(4)]
    pub(super) since: Timestamp,
    /// What it waits for there.
    #[n(5)]
    pub(super) wait_state: WaitState,
    /// Where its context is.
    #[n(6)]
    pub(super) data: FrameData,
    /// The id of the inbound request that moved this frame. The server keeps the request in memory
    /// while it lasts; this is only its id, never a credential. Each branch has its own, so that a
    /// submission is never processed with the credentials of another caller.
    #[n(7)]
    pub(super) request: Option<String>,
}

/// The scope of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) enum ScopeName {
    /// The root scope: of the journey, of its compensation, or of a guard.
    #[n(0)]
    Root,
    /// A branch of the parallel that the parent is at.
    #[n(1)]
    Branch(#[n(0)] String),
    /// A subjourney.
    #[n(2)]
    Call(#[n(0)] String),
}

/// What a frame waits for.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) enum WaitState {
    /// Nothing: its state is to be entered next.
    #[n(0)]
    Ready,
    /// The end of a task.
    #[n(1)]
    Task(#[n(0)] EffectKey),
    /// The answer to a schedule.
    #[n(2)]
    Schedule(#[n(0)] EffectKey),
    /// A submission, or its timeout.
    #[n(3)]
    Step {
        #[n(0)]
        timeout: Option<(EffectKey, Timestamp)>,
    },
    /// Time.
    #[n(4)]
    Timer {
        #[n(0)]
        key: EffectKey,
        #[n(1)]
        due_at: Timestamp,
    },
    /// Its branches.
    #[n(5)]
    Parallel(#[n(0)] Vec<BranchState>),
    /// The subjourney in a frame.
    #[n(6)]
    Call(#[n(0)] FrameId),
    /// An operator who corrects the deployment and retries the incident.
    #[n(7)]
    Incident(#[n(0)] EffectKey),
}

/// The state of a branch.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) struct BranchState {
    #[n(0)]
    pub(super) name: String,
    #[n(1)]
    pub(super) frame: Option<FrameId>,
    #[n(2)]
    pub(super) end: Option<BranchResult>,
}

/// How a branch ended.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) struct BranchResult {
    /// The error, if it failed.
    #[n(0)]
    pub(super) error: Option<(Failure, Termination)>,
    /// Its final context, if the join uses it.
    #[n(1)]
    pub(super) context: Option<Json>,
}

/// The data of a frame.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) enum FrameData {
    /// Its own context.
    #[n(0)]
    Own(#[n(0)] Json),
    /// The context of the parent frame, with its own writes on top.
    #[n(1)]
    Overlay(#[n(0)] Overlay),
}

impl SavedRun {
    /// Loads a saved state.
    pub(crate) fn read(state: &State) -> Result<Self, Fault> {
        if state.format != STATE_FORMAT {
            let text = format!("state format {} is not known to this release", state.format);
            return Err(Fault::new("corrupt_state", text));
        }
        let saved: Self = minicbor::decode(&state.bytes)
            .map_err(|error| Fault::new("corrupt_state", error.to_string()))?;
        // Every frame has a larger number than its parent. A damaged state that breaks this could
        // contain a cycle, on which a walk to the root would never end.
        let is_out_of_order = |(id, frame): (&FrameId, &Frame)| {
            *id >= saved.next_frame || frame.parent.is_some_and(|parent| parent >= *id)
        };
        if saved.frames.iter().any(is_out_of_order) {
            return Err(Fault::new("corrupt_state", "frames are out of order"));
        }
        Ok(saved)
    }

    /// Encodes the state.
    pub(crate) fn write(&self) -> Result<State, Fault> {
        let bytes = minicbor::to_vec(self)
            .map_err(|error| Fault::new("corrupt_state", error.to_string()))?;
        Ok(State::new(STATE_FORMAT, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(parent: Option<FrameId>, next_frame: FrameId) -> SavedRun {
        let frame = Frame {
            parent,
            scope: ScopeName::Root,
            state: "here".to_owned(),
            activation: 1,
            since: Timestamp::default(),
            wait_state: WaitState::Ready,
            data: FrameData::Own(Json::null()),
            request: None,
        };
        SavedRun {
            role: RunRole::Main,
            frames: BTreeMap::from([(ROOT_FRAME, frame)]),
            next_frame,
            activations: 1,
            attributes: BTreeMap::new(),
            tags: Vec::new(),
            pending_outcome: None,
            updated_at: Timestamp::default(),
            traceparent: None,
            cap: None,
            overdue: None,
        }
    }

    /// I10: found by the fuzzer. A frame that was its own ancestor made the computation of its path
    /// run until the memory was full.
    #[test]
    fn i10_a_state_whose_frames_run_in_a_circle_is_refused() {
        let read = |saved: SavedRun| SavedRun::read(&saved.write().expect("it can be written"));
        assert!(read(saved(None, ROOT_FRAME + 1)).is_ok());
        for (parent, next) in [
            (Some(ROOT_FRAME), ROOT_FRAME + 1),
            (Some(ROOT_FRAME + 1), ROOT_FRAME + 2),
            (None, ROOT_FRAME),
        ] {
            let fault = read(saved(parent, next)).expect_err("it is damaged");
            assert_eq!(fault.code, "corrupt_state");
        }
    }
}
