//! A process as a graph: every node with its kind, every flow with its condition.

use meantime_core::graph::{Edge, Graph, Node as Drawn};

use crate::model::{
    EventTrigger, Gateway, Node, NodeKind, Process, SubProcess, SubProcessKind, Task, ThrownEvent,
};

/// Builds the graph of a process, with attached events and nested nodes.
pub(crate) fn graph(process: &Process) -> Graph {
    let nodes = process.nodes.iter().map(|node| Drawn {
        id: node.id.to_string(),
        kind: kind(node).to_owned(),
        label: node.name.clone().unwrap_or_else(|| node.id.to_string()),
        line: Some(node.position.line),
    });
    let flows = process.flows.iter().map(|flow| Edge {
        from: process.node(flow.source).id.to_string(),
        to: process.node(flow.target).id.to_string(),
        label: flow.condition.as_ref().map(ToString::to_string),
    });
    let hosts = process.nodes.iter().flat_map(|host| {
        host.boundaries.iter().map(|at| Edge {
            from: host.id.to_string(),
            to: process.node(*at).id.to_string(),
            label: Some("boundary".to_owned()),
        })
    });
    let insides = process.nodes.iter().filter_map(|node| {
        let around = process.node(node.parent?);
        matches!(node.kind, NodeKind::Start(_)).then(|| Edge {
            from: around.id.to_string(),
            to: node.id.to_string(),
            label: Some("inside".to_owned()),
        })
    });
    Graph { nodes: nodes.collect(), edges: flows.chain(hosts).chain(insides).collect() }
}

fn kind(node: &Node) -> &'static str {
    match &node.kind {
        NodeKind::Start(start) => start.trigger.as_ref().map_or("start", EventTrigger::name),
        NodeKind::End(ThrownEvent::None) => "end",
        NodeKind::End(throw) | NodeKind::Throw(throw) => thrown(throw),
        NodeKind::Catch(trigger) => trigger.name(),
        NodeKind::Boundary(boundary) => boundary.trigger.name(),
        NodeKind::Task(task) => match task {
            Task::Pass => "pass",
            Task::Worker(_) => "task",
            Task::User(_) => "userTask",
            Task::Receive(_) => "message",
            Task::Script { .. } => "script",
        },
        NodeKind::Gateway(gateway) => match gateway {
            Gateway::Exclusive => "choice",
            Gateway::Parallel => "parallel",
            Gateway::Inclusive => "inclusive",
            Gateway::EventBased => "eventGateway",
            Gateway::Complex { .. } => "complex",
        },
        NodeKind::SubProcess(SubProcess { kind, .. }) => match kind {
            SubProcessKind::Embedded => "subProcess",
            SubProcessKind::Event => "eventSubProcess",
            SubProcessKind::Transaction => "transaction",
            SubProcessKind::AdHoc(_) => "adHoc",
        },
        NodeKind::Call(_) => "child",
    }
}

fn thrown(throw: &ThrownEvent) -> &'static str {
    match throw {
        ThrownEvent::None => "pass",
        ThrownEvent::Terminate => "terminate",
        ThrownEvent::Message(_) => "task",
        ThrownEvent::Signal(_) => "signal",
        ThrownEvent::Error(_) => "error",
        ThrownEvent::Escalation(_) => "escalation",
        ThrownEvent::Link(_) => "link",
        ThrownEvent::Compensation(_) => "compensation",
        ThrownEvent::Cancel => "cancel",
    }
}
