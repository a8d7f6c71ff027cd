//! A process as a drawing: every node with its kind, every flow with its condition.

use meantime_core::graph::{Edge, Graph, Node as Drawn};

use crate::model::{Gateway, Kind, Node, Process, Sub, SubKind, Task, Throw, Trigger};

/// Draws a process, with what is attached to what and what is inside of what.
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
        matches!(node.kind, Kind::Start(_)).then(|| Edge {
            from: around.id.to_string(),
            to: node.id.to_string(),
            label: Some("inside".to_owned()),
        })
    });
    Graph { nodes: nodes.collect(), edges: flows.chain(hosts).chain(insides).collect() }
}

fn kind(node: &Node) -> &'static str {
    match &node.kind {
        Kind::Start(start) => start.trigger.as_ref().map_or("start", Trigger::name),
        Kind::End(Throw::None) => "end",
        Kind::End(throw) | Kind::Throw(throw) => thrown(throw),
        Kind::Catch(trigger) => trigger.name(),
        Kind::Boundary(boundary) => boundary.trigger.name(),
        Kind::Task(task) => match task {
            Task::Pass => "pass",
            Task::Worker(_) => "task",
            Task::User(_) => "userTask",
            Task::Receive(_) => "message",
            Task::Script { .. } => "script",
        },
        Kind::Gateway(gateway) => match gateway {
            Gateway::Exclusive => "choice",
            Gateway::Parallel => "parallel",
            Gateway::Inclusive => "inclusive",
            Gateway::EventBased => "eventGateway",
            Gateway::Complex { .. } => "complex",
        },
        Kind::Sub(Sub { kind, .. }) => match kind {
            SubKind::Embedded => "subProcess",
            SubKind::Event => "eventSubProcess",
            SubKind::Transaction => "transaction",
            SubKind::AdHoc(_) => "adHoc",
        },
        Kind::Call(_) => "child",
    }
}

fn thrown(throw: &Throw) -> &'static str {
    match throw {
        Throw::None => "pass",
        Throw::Terminate => "terminate",
        Throw::Message(_) => "task",
        Throw::Signal(_) => "signal",
        Throw::Error(_) => "error",
        Throw::Escalation(_) => "escalation",
        Throw::Link(_) => "link",
        Throw::Compensation(_) => "compensation",
        Throw::Cancel => "cancel",
    }
}
