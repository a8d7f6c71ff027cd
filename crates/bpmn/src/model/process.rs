//! Processes, nodes and flows.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::Position;

use super::{
    BoundaryEvent, Call, EventTrigger, LoopCharacteristics, Mapping, StartEvent, Task, ThrownEvent,
};
use crate::expression::Expression;

/// A compiled process: the body of a definition.
#[derive(Debug)]
pub(crate) struct Process {
    /// `process/@id`.
    pub(crate) id: Arc<str>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<SequenceFlow>,
    pub(crate) body: ScopeBody,
    pub(crate) node_ids: BTreeMap<Arc<str>, NodeRef>,
    pub(crate) flow_ids: BTreeMap<Arc<str>, FlowRef>,
}

/// A node of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeRef(pub(crate) usize);

/// A sequence flow of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowRef(pub(crate) usize);

/// The content of a process or sub-process.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScopeBody {
    /// Start events of the body itself, in document order.
    pub(crate) starts: Vec<NodeRef>,
    /// Its event sub-processes.
    pub(crate) event_sub_processes: Vec<NodeRef>,
    /// Activities and gateways without an incoming flow: they start with the body when it has no
    /// start event.
    pub(crate) implicit_starts: Vec<NodeRef>,
}

/// A flow node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: Arc<str>,
    pub(crate) name: Option<String>,
    pub(crate) kind: NodeKind,
    /// The enclosing sub-process; none in the process itself.
    pub(crate) parent: Option<NodeRef>,
    pub(crate) incoming: Vec<FlowRef>,
    pub(crate) outgoing: Vec<FlowRef>,
    pub(crate) default: Option<FlowRef>,
    /// Events attached to it.
    pub(crate) boundaries: Vec<NodeRef>,
    pub(crate) repeat: Option<LoopCharacteristics>,
    pub(crate) mapping: Mapping,
    /// Its compensation handler.
    pub(crate) handler: Option<NodeRef>,
    /// Whether it runs only as a compensation handler.
    pub(crate) for_compensation: bool,
    pub(crate) position: Position,
}

/// What a node does.
#[derive(Debug)]
pub(crate) enum NodeKind {
    Start(StartEvent),
    End(ThrownEvent),
    Throw(ThrownEvent),
    Catch(EventTrigger),
    Boundary(BoundaryEvent),
    Task(Task),
    Gateway(Gateway),
    SubProcess(SubProcess),
    Call(Call),
}

/// Gateways.
#[derive(Debug)]
pub(crate) enum Gateway {
    Exclusive,
    Parallel,
    Inclusive,
    EventBased,
    /// Continues when its condition is true, and drops tokens that arrive later.
    Complex {
        activation: Option<Expression>,
    },
}

/// A sub-process of any kind.
#[derive(Debug)]
pub(crate) struct SubProcess {
    pub(crate) kind: SubProcessKind,
    pub(crate) body: ScopeBody,
}

/// The kinds of sub-processes.
#[derive(Debug)]
pub(crate) enum SubProcessKind {
    Embedded,
    Event,
    Transaction,
    AdHoc(super::AdHoc),
}

/// A sequence flow.
#[derive(Debug)]
pub(crate) struct SequenceFlow {
    pub(crate) id: Arc<str>,
    pub(crate) source: NodeRef,
    pub(crate) target: NodeRef,
    pub(crate) condition: Option<Expression>,
}

impl Process {
    pub(crate) fn node(&self, at: NodeRef) -> &Node {
        &self.nodes[at.0]
    }

    pub(crate) fn flow(&self, at: FlowRef) -> &SequenceFlow {
        &self.flows[at.0]
    }

    /// The body of a scope: of a sub-process, or of the process itself.
    pub(crate) fn body_of(&self, at: Option<NodeRef>) -> &ScopeBody {
        match at.map(|at| &self.node(at).kind) {
            Some(NodeKind::SubProcess(sub)) => &sub.body,
            _ => &self.body,
        }
    }

    /// The link catch event of that name in the same scope as `from`.
    pub(crate) fn link_target(&self, from: NodeRef, name: &str) -> Option<NodeRef> {
        let scope = self.node(from).parent;
        let is_target = |node: &Node| {
            node.parent == scope
                && matches!(&node.kind, NodeKind::Catch(EventTrigger::Link(link)) if link == name)
        };
        self.nodes.iter().position(is_target).map(NodeRef)
    }
}

impl Node {
    /// Whether it is an activity, which may take time and has inputs and outputs.
    pub(crate) fn is_activity(&self) -> bool {
        matches!(self.kind, NodeKind::Task(_) | NodeKind::SubProcess(_) | NodeKind::Call(_))
    }

    /// Whether it is a start event without a trigger.
    pub(crate) fn is_plain_start(&self) -> bool {
        matches!(&self.kind, NodeKind::Start(start) if start.trigger.is_none())
    }

    /// The trigger of a catching event; none for a plain start and for other nodes.
    pub(crate) fn trigger(&self) -> Option<&EventTrigger> {
        match &self.kind {
            NodeKind::Boundary(boundary) => Some(&boundary.trigger),
            NodeKind::Start(start) => start.trigger.as_ref(),
            NodeKind::Catch(trigger) => Some(trigger),
            _ => None,
        }
    }

    pub(crate) fn is_event_sub_process(&self) -> bool {
        matches!(&self.kind, NodeKind::SubProcess(SubProcess { kind: SubProcessKind::Event, .. }))
    }
}
