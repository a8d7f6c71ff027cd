//! The graph of a definition, for drawing.

/// Nodes and edges. Empty if a notation has no graph.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// The elements of the definition.
    pub nodes: Vec<Node>,
    /// The edges between the nodes.
    pub edges: Vec<Edge>,
}

/// An element of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The id of the element, as in effects and history.
    pub id: String,
    /// The kind of the element: `start`, `task`, `timer`, `signal`, `choice`, `end` and so on.
    pub kind: String,
    /// The label to display.
    pub label: String,
    /// The line in the source where it begins, from 1.
    pub line: Option<u32>,
}

/// An edge between two nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The id of its source node.
    pub from: String,
    /// The id of its target node.
    pub to: String,
    /// Its condition.
    pub label: Option<String>,
}
