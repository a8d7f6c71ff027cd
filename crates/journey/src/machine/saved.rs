//! The saved state of a run. Format 1.
//!
//! Positions are ids of states in their scopes, never places in compiled code. Field numbers are a
//! storage format: never reuse one.

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
    /// What this run is.
    #[n(0)]
    pub(super) role: RunRole,
    /// One per scope that is being run: the root, branches, calls.
    #[n(1)]
    pub(super) frames: BTreeMap<FrameId, Frame>,
    /// The next frame's number.
    #[n(2)]
    pub(super) next_frame: FrameId,
    /// States entered so far: names every visit (JT1).
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
    /// The instant of the last turn.
    #[n(7)]
    pub(super) updated_at: Timestamp,
    /// The trace context of the request that started it.
    #[n(8)]
    pub(super) traceparent: Option<String>,
    /// The timer that bounds a compensation.
    #[n(9)]
    pub(super) cap: Option<EffectKey>,
    /// The incident that told of a compensation that takes too long.
    #[n(10)]
    pub(super) overdue: Option<EffectKey>,
    // 11 was the request of the whole run; each frame has its own now.
}

/// What a run is.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) enum RunRole {
    /// Started by a caller.
    #[n(0)]
    Main,
    /// Started by a schedule, so no client can submit to it (S9).
    #[n(1)]
    Scheduled,
    /// It compensates another run, whose outcome it sees.
    #[n(2)]
    Compensation(#[n(0)] Json),
    /// A guard: decides whether a caller may read another run.
    #[n(3)]
    Guard(#[n(0)] String),
}

/// The outcome is fixed and waits for a child.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct PendingOutcome {
    #[n(0)]
    pub(super) outcome: Outcome,
    #[n(1)]
    pub(super) compensation: EffectKey,
}

/// One scope that is being run.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) struct Frame {
    /// The frame whose state holds or calls it.
    #[n(0)]
    pub(super) parent: Option<FrameId>,
    /// Which scope.
    #[n(1)]
    pub(super) scope: ScopeName,
    /// The state it is at.
    #[n(2)]
    pub(super) state: String,
    /// The number of this visit.
    #[n(3)]
    pub(super) activation: u64,
    /// Since when.
    #[n(4)]
    pub(super) since: Timestamp,
    /// What it waits for there.
    #[n(5)]
    pub(super) wait_state: WaitState,
    /// What it reads and writes.
    #[n(6)]
    pub(super) data: FrameData,
    /// The id of the inbound request that moved this frame: a handle on what the server keeps in
    /// memory while the request lasts, never a credential. Branches have one each, so that what one
    /// caller submits is never done with the credentials of another.
    #[n(7)]
    pub(super) request: Option<String>,
}

/// Which scope a frame runs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) enum ScopeName {
    /// The run's own: the journey, its compensation, or a guard.
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
    /// Nothing: its state is to be entered.
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

/// How a branch stands.
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
    /// The error of one that failed.
    #[n(0)]
    pub(super) error: Option<(Failure, Termination)>,
    /// Its final context, if the join wants to see it.
    #[n(1)]
    pub(super) context: Option<Json>,
}

/// Where the data of a frame is.
#[derive(Debug, Clone, Encode, Decode)]
pub(super) enum FrameData {
    /// A context of its own.
    #[n(0)]
    Own(#[n(0)] Json),
    /// The context of the frame above, with what it wrote itself.
    #[n(1)]
    Overlay(#[n(0)] Overlay),
}

impl SavedRun {
    /// Reads what an earlier turn saved.
    pub(crate) fn read(state: &State) -> Result<Self, Fault> {
        if state.format != STATE_FORMAT {
            let text = format!("state format {} is not known to this release", state.format);
            return Err(Fault::new("corrupt_state", text));
        }
        let saved: Self = minicbor::decode(&state.bytes)
            .map_err(|error| Fault::new("corrupt_state", error.to_string()))?;
        // Frames are numbered in the order in which they are made, each below one that is there.
        // A damaged state that says otherwise could send whoever walks up into a circle.
        let is_out_of_order = |(id, frame): (&FrameId, &Frame)| {
            *id >= saved.next_frame || frame.parent.is_some_and(|parent| parent >= *id)
        };
        if saved.frames.iter().any(is_out_of_order) {
            return Err(Fault::new("corrupt_state", "frames are out of order"));
        }
        Ok(saved)
    }

    /// The bytes to keep.
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

    /// I10: found by the fuzzer. A frame below itself made whoever asked where it stands collect
    /// names until the memory was full.
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
