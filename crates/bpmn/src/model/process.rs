//! Processes, nodes and flows.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_core::Position;

use super::{Boundary, Call, Mapping, Repeat, Start, Task, Throw, Trigger};
use crate::expression::Expression;

/// A compiled process: the body of a definition.
#[derive(Debug)]
pub(crate) struct Process {
    /// `process/@id`.
    pub(crate) id: Arc<str>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) body: Body,
    pub(crate) node_ids: BTreeMap<Arc<str>, NodeRef>,
    pub(crate) flow_ids: BTreeMap<Arc<str>, FlowRef>,
}

/// A node of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeRef(pub(crate) usize);

/// A sequence flow of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FlowRef(pub(crate) usize);

/// What a process or sub-process contains.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    /// Start events of the body itself, in document order.
    pub(crate) starts: Vec<NodeRef>,
    /// Its event sub-processes.
    pub(crate) event_subs: Vec<NodeRef>,
    /// Activities and gateways without an incoming flow: they start with the body when it has no
    /// start event.
    pub(crate) loose: Vec<NodeRef>,
}

/// Anything a token can stand on.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: Arc<str>,
    pub(crate) name: Option<String>,
    pub(crate) kind: Kind,
    /// The sub-process around it; none in the process itself.
    pub(crate) parent: Option<NodeRef>,
    pub(crate) incoming: Vec<FlowRef>,
    pub(crate) outgoing: Vec<FlowRef>,
    pub(crate) default: Option<FlowRef>,
    /// Events attached to it.
    pub(crate) boundaries: Vec<NodeRef>,
    pub(crate) repeat: Option<Repeat>,
    pub(crate) mapping: Mapping,
    /// What compensates it.
    pub(crate) handler: Option<NodeRef>,
    /// It runs only as somebody's compensation.
    pub(crate) for_compensation: bool,
    pub(crate) position: Position,
}

/// What a node does.
#[derive(Debug)]
pub(crate) enum Kind {
    Start(Start),
    End(Throw),
    Throw(Throw),
    Catch(Trigger),
    Boundary(Boundary),
    Task(Task),
    Gateway(Gateway),
    Sub(Sub),
    Call(Call),
}

/// Gateways.
#[derive(Debug)]
pub(crate) enum Gateway {
    Exclusive,
    Parallel,
    Inclusive,
    EventBased,
    /// Goes on when its condition holds, and drops what arrives later.
    Complex {
        activation: Option<Expression>,
    },
}

/// A sub-process of any kind.
#[derive(Debug)]
pub(crate) struct Sub {
    pub(crate) kind: SubKind,
    pub(crate) body: Body,
}

/// Which kind of sub-process.
#[derive(Debug)]
pub(crate) enum SubKind {
    Embedded,
    Event,
    Transaction,
    AdHoc(super::AdHoc),
}

/// A sequence flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) id: Arc<str>,
    pub(crate) source: NodeRef,
    pub(crate) target: NodeRef,
    pub(crate) condition: Option<Expression>,
}

impl Process {
    pub(crate) fn node(&self, at: NodeRef) -> &Node {
        &self.nodes[at.0]
    }

    pub(crate) fn flow(&self, at: FlowRef) -> &Flow {
        &self.flows[at.0]
    }

    /// The body of a scope: of a sub-process, or of the process itself.
    pub(crate) fn body_of(&self, at: Option<NodeRef>) -> &Body {
        match at.map(|at| &self.node(at).kind) {
            Some(Kind::Sub(sub)) => &sub.body,
            _ => &self.body,
        }
    }

    /// The link catch event of that name in the same scope as `from`.
    pub(crate) fn link_target(&self, from: NodeRef, name: &str) -> Option<NodeRef> {
        let scope = self.node(from).parent;
        let is_target = |node: &Node| {
            node.parent == scope
                && matches!(&node.kind, Kind::Catch(Trigger::Link(link)) if link == name)
        };
        self.nodes.iter().position(is_target).map(NodeRef)
    }
}

impl Node {
    /// Whether it is an activity: something with an inside that takes time, inputs and outputs.
    pub(crate) fn is_activity(&self) -> bool {
        matches!(self.kind, Kind::Task(_) | Kind::Sub(_) | Kind::Call(_))
    }

    /// Whether it is a start event without a trigger.
    pub(crate) fn is_plain_start(&self) -> bool {
        matches!(&self.kind, Kind::Start(start) if start.trigger.is_none())
    }

    /// What an event waits for; none for a plain start and for what is no catching event.
    pub(crate) fn trigger(&self) -> Option<&Trigger> {
        match &self.kind {
            Kind::Boundary(boundary) => Some(&boundary.trigger),
            Kind::Start(start) => start.trigger.as_ref(),
            Kind::Catch(trigger) => Some(trigger),
            _ => None,
        }
    }

    pub(crate) fn is_event_sub(&self) -> bool {
        matches!(&self.kind, Kind::Sub(Sub { kind: SubKind::Event, .. }))
    }
}
