//! A definition as a drawing: its places, and the ways between them.

/// Nodes and edges. Empty when a notation draws nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// Places.
    pub nodes: Vec<Node>,
    /// Ways from place to place.
    pub edges: Vec<Edge>,
}

/// A place of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The place, as effects and history name it.
    pub id: String,
    /// What kind of place: `start`, `task`, `timer`, `signal`, `choice`, `end` and so on.
    pub kind: String,
    /// A name for people.
    pub label: String,
    /// The line in the source where it begins, from 1.
    pub line: Option<u32>,
}

/// A way from place to place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// When it is taken.
    pub label: Option<String>,
}
