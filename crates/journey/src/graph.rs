//! A journey as a graph: every state with its kind, every transition with its condition.

use meantime_core::graph::{Edge, Graph, Node};

use crate::definition::{Journey, Scope, State, StateBody, Task};

/// The most states in a graph: a subjourney is repeated at every call, and calls may be nested.
const MAX_NODES: usize = 5_000;

/// Builds the graph, with nesting. Node ids are element paths, as in waits and history.
pub(crate) fn graph(journey: &Journey) -> Graph {
    let mut drawing = GraphBuilder { journey, graph: Graph::default(), calls: Vec::new() };
    drawing.scope(&journey.main, "");
    if let Some(compensation) = &journey.compensation {
        drawing.scope(&compensation.scope, "compensation/");
    }
    drawing.graph
}

struct GraphBuilder<'j> {
    journey: &'j Journey,
    graph: Graph,
    /// Subjourneys around the current node.
    calls: Vec<&'j str>,
}

impl<'j> GraphBuilder<'j> {
    fn scope(&mut self, scope: &'j Scope, prefix: &str) {
        for state in scope.states.values() {
            if self.graph.nodes.len() >= MAX_NODES {
                return;
            }
            self.state(state, prefix);
        }
    }

    fn state(&mut self, state: &'j State, prefix: &str) {
        let id = format!("{prefix}{}", state.id);
        self.graph.nodes.push(Node {
            id: id.clone(),
            kind: kind(state).to_owned(),
            label: state.id.clone(),
            line: Some(state.span.start.line),
        });
        let ways = self.ways(state).into_iter().map(|(to, label)| Edge {
            from: id.clone(),
            to: format!("{prefix}{to}"),
            label,
        });
        self.graph.edges.extend(ways.collect::<Vec<_>>());
        match &state.body {
            StateBody::Parallel(parallel) => {
                for branch in &parallel.branches {
                    self.scope(&branch.scope, &format!("{id}/{}/", branch.name));
                }
            }
            StateBody::Call(call) => {
                if let Some((name, scope)) = self.called(&call.subjourney.id) {
                    self.calls.push(name);
                    self.scope(scope, &format!("{id}/"));
                    self.calls.pop();
                }
            }
            _ => {}
        }
    }

    /// A subjourney that is not around the current node already.
    fn called(&self, name: &str) -> Option<(&'j str, &'j Scope)> {
        let (name, called) = self.journey.subjourneys.get_key_value(name)?;
        (!self.calls.contains(&name.as_str())).then_some((name, &called.scope))
    }

    /// The next states of a state, with their conditions.
    fn ways(&self, state: &State) -> Vec<(String, Option<String>)> {
        let mut ways: Vec<(String, Option<String>)> =
            state.next.iter().map(|next| (next.id.clone(), None)).collect();
        match &state.body {
            StateBody::Choice(choice) => {
                let numbered = choice.ways.iter().enumerate();
                ways.extend(
                    numbered.map(|(n, way)| (way.next.id.clone(), Some(format!("when {}", n + 1)))),
                );
                let default = choice.default.iter();
                ways.extend(default.map(|it| (it.id.clone(), Some("default".to_owned()))));
            }
            StateBody::Step(step) => {
                let timeout = step.timeout.iter();
                ways.extend(timeout.map(|it| (it.next.id.clone(), Some("timeout".to_owned()))));
            }
            StateBody::Parallel(parallel) => ways.extend(parallel.branches.iter().map(|branch| {
                let element = format!("{}/{}/{}", state.id, branch.name, branch.scope.start.id);
                (element, Some(branch.name.clone()))
            })),
            StateBody::Call(call) => {
                ways.extend(self.called(&call.subjourney.id).map(|(_, scope)| {
                    (format!("{}/{}", state.id, scope.start.id), Some("inside".to_owned()))
                }));
            }
            _ => {}
        }
        ways
    }
}

fn kind(state: &State) -> &'static str {
    match &state.body {
        StateBody::Task(task) => match &**task {
            Task::Schedule(_) => "schedule",
            _ => "task",
        },
        StateBody::Choice(_) => "choice",
        StateBody::Transform(_) => "transform",
        StateBody::Step(_) => "step",
        StateBody::Timer(_) => "timer",
        StateBody::Parallel(_) => "parallel",
        StateBody::Call(_) => "child",
        StateBody::Succeed(_) => "end",
        StateBody::Fail(_) => "error",
    }
}
