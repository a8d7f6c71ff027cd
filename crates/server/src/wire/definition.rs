//! Definitions and what is wrong with them.

use meantime_core::{Severity, Timestamp};
use meantime_kernel::store::DefinitionRow;
use serde::Serialize;
use utoipa::ToSchema;

/// One thing to say about a source.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Diagnostic {
    /// Stable code; each has a page.
    code: String,
    /// `error`, `warning` or `note`.
    #[schema(example = "error")]
    severity: &'static str,
    /// What is wrong, with the offending element in its own spelling.
    message: String,
    /// The line where it starts, from 1.
    line: u32,
    /// The column where it starts, from 1.
    column: u32,
    /// The line where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    /// The column behind its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u32>,
    /// What to do instead.
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

/// What a deployment made, or would make.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeploymentResult {
    /// One entry for each definition of the source.
    pub(crate) definitions: Vec<DeployedDefinition>,
}

/// A definition that was deployed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeployedDefinition {
    /// The name that starts use.
    pub(crate) name: String,
    /// `flow`, `journey` or `bpmn`.
    pub(crate) notation: String,
    /// Counted from 1 for each name; of a dry run, not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u32>,
    /// The author's own version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// SHA-256 of the source.
    pub(crate) hash: String,
    /// What deploys but is probably not what was meant.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A deployed version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    /// The name that starts use.
    name: String,
    /// `flow`, `journey` or `bpmn`.
    notation: String,
    /// Counted from 1 for each name.
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
    /// Whether it was undeployed: then it starts nothing, and instances that run it go on.
    retired: bool,
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
        }
    }
}

/// A definition as a drawing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DefinitionGraph {
    /// Its places.
    pub(crate) nodes: Vec<GraphNode>,
    /// Ways from place to place.
    pub(crate) edges: Vec<GraphEdge>,
}

/// A place of a definition.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GraphNode {
    /// The place, as history and waits name it.
    pub(crate) id: String,
    /// What kind of place.
    pub(crate) kind: String,
    /// A name for people.
    pub(crate) label: String,
    /// The line in the source where it begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// A way from place to place.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GraphEdge {
    /// Where it begins.
    pub(crate) from: String,
    /// Where it ends.
    pub(crate) to: String,
    /// When it is taken.
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
