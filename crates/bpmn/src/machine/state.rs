//! The saved state of an instance.
//!
//! A tree of *elements*: the process and everything active in it, at every level. A token on a
//! sequence flow is a pending [`QueuedStep`]; a turn does all of them unless it yields first.
//! Elements are numbered by activation: a loop that returns to a node creates a new element, so an
//! event for a wait of the old element cannot reach it (T5).
//!
//! Encoded field numbers are a storage format: never reuse one.

use std::collections::{BTreeMap, VecDeque};

use meantime_core::time::Rule;
use meantime_core::{EffectKey, InstanceId, Json, Timestamp};
use minicbor::{Decode, Encode};

use super::codec::ProcessIds;
use crate::model::{FlowRef, NodeRef};

/// The saved form, format 1.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(map, context_bound = "ProcessIds")]
pub(crate) struct ProcessState {
    /// The instance of all effect keys in this state.
    #[n(3)]
    pub(super) instance: InstanceId,
    /// The number of the next element.
    #[n(0)]
    pub(super) next: u32,
    #[n(1)]
    pub(super) elements: BTreeMap<ElementInstanceId, ElementInstance>,
    /// Steps that a turn did not reach before it yielded.
    #[n(2)]
    #[cbor(default, skip_if = "VecDeque::is_empty")]
    pub(super) steps: VecDeque<QueuedStep>,
}

/// The number of an activation: unique within the instance, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub(super) struct ElementInstanceId(#[n(0)] pub(super) u32);

/// The process itself.
pub(super) const ROOT: ElementInstanceId = ElementInstanceId(0);

/// One active element. Zeebe calls this an element instance.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(map, context_bound = "ProcessIds")]
pub(super) struct ElementInstance {
    /// None for the process itself.
    #[n(0)]
    pub(super) node: Option<NodeRef>,
    /// None for the process itself.
    #[n(1)]
    pub(super) parent: Option<ElementInstanceId>,
    #[n(2)]
    pub(super) role: ElementRole,
    #[n(3)]
    pub(super) phase: ElementPhase,
    #[n(4)]
    pub(super) since: Timestamp,
    /// Local variables.
    #[n(5)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub(super) variables: BTreeMap<String, Json>,
    /// Its armed waits: its own, those of its boundary events, and those of the event sub-processes
    /// in it.
    #[n(6)]
    #[cbor(default, skip_if = "Vec::is_empty")]
    pub(super) waits: Vec<ArmedWait>,
    /// Set while it has an incident.
    #[n(7)]
    pub(super) incident: Option<LocalEffectKey>,
    /// Tokens that wait at joining gateways in it, by incoming flow.
    #[n(8)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub(super) joins: BTreeMap<NodeRef, JoinState>,
    /// Completed activities in it that can be compensated, oldest first.
    #[n(9)]
    #[cbor(default, skip_if = "Vec::is_empty")]
    pub(super) done: Vec<CompletedActivity>,
    /// An interrupting event sub-process has replaced its content.
    #[n(10)]
    #[cbor(default, skip_if = "is_false")]
    pub(super) interrupted: bool,
    /// What happens when everything inside has ended.
    #[n(11)]
    pub(super) then: Option<Continuation>,
    /// Its result, while output mappings are applied.
    #[n(12)]
    pub(super) result: Option<Json>,
    /// Whether its boundary events and event sub-processes are armed.
    #[n(13)]
    #[cbor(default, skip_if = "is_false")]
    pub(super) armed: bool,
    /// The number of elements and tokens inside. Not stored: counted after loading.
    #[cbor(skip)]
    pub(super) busy: u32,
}

/// How an element takes part in execution, besides the kind of its node.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(context_bound = "ProcessIds")]
pub(super) enum ElementRole {
    /// The process or a sub-process: it contains variables and tokens.
    #[n(0)]
    Scope,
    /// An event, a gateway, a task, a call.
    #[n(1)]
    Leaf,
    /// A multi-instance activity as a whole.
    #[n(2)]
    MultiInstance(#[n(0)] MultiInstanceProgress),
    /// One iteration, with its own scope.
    #[n(3)]
    Iteration(#[n(0)] u32),
    /// A standard loop, with the number of repetitions started.
    #[n(4)]
    Loop(#[n(0)] u32),
    /// Runs compensation handlers, last completed first.
    #[n(5)]
    Compensating(#[n(0)] CompensationProgress),
    /// The variables of a completed sub-process while its activities are compensated.
    #[n(6)]
    CompensationScope(#[n(0)] CompensationProgress),
    /// An ad-hoc sub-process, with the activities that are not started yet.
    #[n(7)]
    AdHoc(#[n(0)] Vec<NodeRef>),
}

/// The phase of an element's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum ElementPhase {
    /// It is being set up.
    #[n(0)]
    Entering,
    /// It waits for an event, or for the elements inside it.
    #[n(1)]
    Active,
    /// Output mappings are applied to its result.
    #[n(2)]
    Completing,
    /// Its outgoing flows are being chosen.
    #[n(3)]
    Leaving,
    /// It is being ended from outside; events for its waits are stale.
    #[n(4)]
    Ending,
    /// It raised an error that an ancestor instance catches, and waits to be ended. Also the phase
    /// of a join with an incident.
    #[n(5)]
    WaitingForCatcher,
}

/// A step of the machine: a token to move, or an element to continue.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(context_bound = "ProcessIds")]
pub(super) enum QueuedStep {
    /// A token enters a node.
    #[n(0)]
    Enter {
        #[n(0)]
        node: NodeRef,
        #[n(1)]
        scope: ElementInstanceId,
        /// The flow it came on.
        #[n(2)]
        flow: Option<FlowRef>,
        /// The payload, if the event of the node has already happened.
        #[n(3)]
        payload: Option<Json>,
    },
    /// Continues an element from its phase.
    #[n(1)]
    Run(#[n(0)] ElementInstanceId),
    /// A multi-instance activity begins its next iteration.
    #[n(2)]
    Spawn(#[n(0)] ElementInstanceId),
    /// An element ends from outside.
    #[n(3)]
    Stop(#[n(0)] ElementInstanceId),
}

/// An armed wait of an element, with the effect key it waits for.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(map, context_bound = "ProcessIds")]
pub(super) struct ArmedWait {
    #[n(0)]
    pub(super) key: LocalEffectKey,
    /// The event, or the activity itself.
    #[n(1)]
    pub(super) on: NodeRef,
    #[n(2)]
    pub(super) kind: WaitKind,
    /// Task type, message or signal name, called definition.
    #[n(3)]
    pub(super) name: String,
}

/// What an armed wait waits for.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) enum WaitKind {
    #[n(0)]
    Task,
    #[n(1)]
    UserTask,
    /// A timer, with the remaining occurrences of its cycle.
    #[n(2)]
    Timer {
        /// The planned occurrence; an operator may have moved the timer itself.
        #[n(0)]
        planned: Timestamp,
        #[n(1)]
        series: Option<TimerCycle>,
    },
    #[n(3)]
    Message {
        #[n(0)]
        correlation: String,
    },
    #[n(4)]
    Signal,
    #[n(5)]
    Child,
    /// A condition, with its value at the last evaluation.
    #[n(6)]
    Condition {
        #[n(0)]
        held: bool,
    },
    /// A condition that could not be evaluated; a retry evaluates it again.
    #[n(7)]
    BrokenCondition,
}

/// The remaining occurrences of a timer cycle.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(super) struct TimerCycle {
    /// Its recurrence rule without a count: fires are counted, not occurrences (B2).
    #[n(0)]
    pub(super) rule: Rule,
    /// Fires left after the armed one; none means unlimited.
    #[n(1)]
    pub(super) left: Option<u64>,
}

/// An effect key without its instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(array)]
pub(crate) struct LocalEffectKey(#[n(0)] pub(super) u64, #[n(1)] pub(super) u32);

/// Tokens at one joining gateway.
#[derive(Debug, Clone, Default, Encode, Decode)]
#[cbor(map, context_bound = "ProcessIds")]
pub(super) struct JoinState {
    /// Their incoming flows, in order of arrival.
    #[n(0)]
    pub(super) tokens: Vec<FlowRef>,
    /// Flows that the current activation of a complex gateway has used; a token on another flow is
    /// dropped.
    #[n(1)]
    #[cbor(default, skip_if = "Vec::is_empty")]
    pub(super) used: Vec<FlowRef>,
}

/// A completed activity that can be compensated.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(map, context_bound = "ProcessIds")]
pub(super) struct CompletedActivity {
    #[n(0)]
    pub(super) node: NodeRef,
    /// Variables that only it could see: the item of an iteration, the locals of a sub-process.
    #[n(1)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub(super) variables: BTreeMap<String, Json>,
    /// Completed activities inside it, if it has no handler itself.
    #[n(2)]
    #[cbor(default, skip_if = "Vec::is_empty")]
    pub(super) inner: Vec<CompletedActivity>,
}

/// Handlers still to run; the next one is the last in the list.
#[derive(Debug, Clone, Default, Encode, Decode)]
#[cbor(map, context_bound = "ProcessIds")]
pub(super) struct CompensationProgress {
    #[n(0)]
    pub(super) rest: Vec<CompletedActivity>,
    /// A transaction is being cancelled: this boundary event follows.
    #[n(1)]
    #[cbor(default, skip_if = "is_false")]
    pub(super) cancels: bool,
}

/// The progress of a multi-instance activity.
#[derive(Debug, Clone, Default, Encode, Decode)]
#[cbor(map)]
pub(super) struct MultiInstanceProgress {
    #[n(0)]
    pub(super) total: u32,
    /// Iterations started.
    #[n(1)]
    pub(super) begun: u32,
    #[n(2)]
    pub(super) completed: u32,
    #[n(3)]
    pub(super) terminated: u32,
    /// The items, evaluated when the activity started.
    #[n(4)]
    pub(super) items: Option<Vec<Json>>,
    /// The outputs of iterations, by their number.
    #[n(5)]
    #[cbor(default, skip_if = "BTreeMap::is_empty")]
    pub(super) outputs: BTreeMap<u32, Json>,
    /// The completion condition is true: iterations that still run are ended.
    #[n(6)]
    #[cbor(default, skip_if = "is_false")]
    pub(super) over: bool,
}

/// What happens when everything inside an element has ended.
#[derive(Debug, Clone, Encode, Decode)]
#[cbor(context_bound = "ProcessIds")]
pub(super) enum Continuation {
    /// A token leaves by a boundary event.
    #[n(0)]
    Boundary {
        #[n(0)]
        node: NodeRef,
        #[n(1)]
        payload: Json,
    },
    /// An event sub-process replaces the content of the scope.
    #[n(1)]
    EventSubProcess {
        #[n(0)]
        sub: NodeRef,
        #[n(1)]
        payload: Json,
    },
    /// The element completes.
    #[n(2)]
    Complete,
    /// All completed activities of the transaction are compensated.
    #[n(3)]
    CancelTransaction,
    /// The process starts at a node, or at its usual start.
    #[n(4)]
    Start {
        #[n(0)]
        node: Option<NodeRef>,
    },
}

impl LocalEffectKey {
    pub(super) fn of(self, instance: InstanceId) -> EffectKey {
        instance.effect(self.0, self.1)
    }

    /// The key of conditions, which are evaluated and never armed as effects.
    pub(super) const NONE: Self = Self(0, 0);
}

impl From<EffectKey> for LocalEffectKey {
    fn from(key: EffectKey) -> Self {
        Self(key.turn_no, key.ordinal)
    }
}

impl ElementInstance {
    pub(super) fn new(
        node: Option<NodeRef>,
        parent: Option<ElementInstanceId>,
        since: Timestamp,
    ) -> Self {
        Self {
            node,
            parent,
            role: ElementRole::Leaf,
            phase: ElementPhase::Entering,
            since,
            variables: BTreeMap::new(),
            waits: Vec::new(),
            incident: None,
            joins: BTreeMap::new(),
            done: Vec::new(),
            interrupted: false,
            then: None,
            result: None,
            armed: false,
            busy: 0,
        }
    }

    /// Whether results of elements inside are written to it.
    pub(super) fn is_scope(&self) -> bool {
        matches!(self.role, ElementRole::Scope | ElementRole::Iteration(_) | ElementRole::AdHoc(_))
    }

    /// Whether it is the process or a running sub-process, which may have event sub-processes.
    pub(super) fn runs_body(&self) -> bool {
        matches!(self.role, ElementRole::Scope | ElementRole::AdHoc(_))
    }

    pub(super) fn is_ending(&self) -> bool {
        self.phase == ElementPhase::Ending
    }

    /// Whether it has a child instance, running or being cancelled.
    pub(super) fn has_child(&self) -> bool {
        self.waits.iter().any(|wait| wait.kind == WaitKind::Child)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the codec hands over references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl ProcessState {
    pub(super) fn new(instance: InstanceId) -> Self {
        let (elements, steps) = (BTreeMap::new(), VecDeque::new());
        Self { instance, next: 0, elements, steps }
    }

    /// Counts the content of each element after loading.
    pub(super) fn count(&mut self) {
        let parents: Vec<ElementInstanceId> =
            self.elements.values().filter_map(|it| it.parent).collect();
        let scopes = self.steps.iter().filter_map(|step| match step {
            QueuedStep::Enter { scope, .. } => Some(*scope),
            _ => None,
        });
        for id in parents.into_iter().chain(scopes.collect::<Vec<_>>()) {
            if let Some(element) = self.elements.get_mut(&id) {
                element.busy += 1;
            }
        }
    }
}
