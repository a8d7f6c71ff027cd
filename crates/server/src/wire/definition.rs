//! Wire types of definitions and diagnostics.

use meantime_core::{Severity, Timestamp};
use meantime_kernel::store::DefinitionRow;
use serde::Serialize;
use utoipa::ToSchema;

use super::Actor;

/// A problem in a source, with its position.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Diagnostic {
    /// Stable code; `/docs` explains it.
    code: String,
    /// `error`, `warning` or `note`.
    #[schema(example = "error")]
    severity: &'static str,
    /// What is wrong, naming the key or element as the source spells it.
    message: String,
    /// The line where it starts, from 1.
    line: u32,
    /// The column where it starts, from 1.
    column: u32,
    /// The line where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    /// The column after its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u32>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl From<&meantime_core::Diagnostic> for Diagnostic {
    fn from(it: &meantime_core::Diagnostic) -> Self {
        Self {
            code: it.code.clone(),
            severity: match it.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            },
            message: it.message.clone(),
            line: it.start.line,
            column: it.start.column,
            end_line: it.end.map(|end| end.line),
            end_column: it.end.map(|end| end.column),
            help: it.help.clone(),
        }
    }
}

/// The result of a deployment or a dry run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeploymentResult {
    /// One entry for each definition of the source.
    pub(crate) definitions: Vec<DeployedDefinition>,
}

/// A definition that was deployed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeployedDefinition {
    /// The name by which instances are started.
    pub(crate) name: String,
    /// `flow`, `journey` or `bpmn`.
    pub(crate) notation: String,
    /// Version number, from 1 for each name; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    /// The author's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// SHA-256 of the source.
    pub(crate) hash: String,
    /// Diagnostics that do not prevent the deployment.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A deployed version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    /// The name by which instances are started.
    name: String,
    /// `flow`, `journey` or `bpmn`.
    notation: String,
    /// Version number, from 1 for each name.
    version: u32,
    /// The author's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// SHA-256 of the source.
    hash: String,
    /// The name of the source file.
    source_name: String,
    /// When it was deployed.
    #[schema(value_type = String, format = DateTime)]
    deployed_at: Timestamp,
    /// Whether it was undeployed: it starts no new instances, running ones continue.
    retired: bool,
    /// Its pause, while no version of it starts instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<PauseState>,
}

/// The pause of a definition.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PauseState {
    /// Since when it is paused.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// Who paused it, and why.
    by: Actor,
}

impl From<&DefinitionRow> for Definition {
    fn from(row: &DefinitionRow) -> Self {
        Self {
            name: row.name.clone(),
            notation: row.notation.clone(),
            version: row.version,
            label: row.label.clone(),
            hash: row.hash.clone(),
            source_name: row.source_name.clone(),
            deployed_at: row.deployed_at,
            retired: row.retired,
            paused: row
                .paused
                .as_ref()
                .map(|pause| PauseState { since: pause.since, by: Actor::from(&pause.audit) }),
        }
    }
}

/// The graph of a definition, for drawing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DefinitionGraph {
    /// The elements of the definition.
    pub(crate) nodes: Vec<GraphNode>,
    /// The edges between the nodes.
    pub(crate) edges: Vec<GraphEdge>,
}

/// An element of a definition.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GraphNode {
    /// The id of the element, as in history and waits.
    pub(crate) id: String,
    /// The kind of the element.
    pub(crate) kind: String,
    /// The label to display.
    pub(crate) label: String,
    /// The line in the source where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// An edge between two nodes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GraphEdge {
    /// The id of the source node.
    pub(crate) from: String,
    /// The id of the target node.
    pub(crate) to: String,
    /// The condition of the edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
}

impl From<meantime_core::Graph> for DefinitionGraph {
    fn from(graph: meantime_core::Graph) -> Self {
        let nodes = graph.nodes.into_iter().map(|node| GraphNode {
            id: node.id,
            kind: node.kind,
            label: node.label,
            line: node.line,
        });
        let edges = graph.edges.into_iter().map(|edge| GraphEdge {
            from: edge.from,
            to: edge.to,
            label: edge.label,
        });
        Self { nodes: nodes.collect(), edges: edges.collect() }
    }
}
