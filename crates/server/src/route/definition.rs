//! `/definitions`: deploys, lists, shows, pauses and undeploys definitions.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use meantime_core::{
    DefinitionId, Diagnostic as CoreDiagnostic, SCHEDULE_DEFINITION, Severity, Source,
};
use meantime_kernel::command::{Command, Error};
use meantime_kernel::driver::DeployError;
use meantime_kernel::machine::definition_hash;
use meantime_kernel::store::{DefinitionFilter, DefinitionRow};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::reply::{JsonResponse, Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::extract::{JsonBody, PathParams, Query, SourceBody};
use crate::pagination;
use crate::problem::{Problem, ProblemCode};
use crate::wire::{
    Definition, DefinitionGraph, DeployedDefinition, DeploymentResult, Diagnostic, OperationResult,
    OperatorReason, Page,
};

pub(super) fn routes() -> Routes {
    Routes::new()
        .add_long(Permission::Deploy, routes!(deploy))
        .add_long(Permission::Read, routes!(list))
        .add(Permission::Read, routes!(latest))
        .add_long(Permission::Read, routes!(versions))
        .add_long(Permission::Read, routes!(source))
        .add_long(Permission::Read, routes!(graph))
        .add_long(Permission::Read, routes!(latest_graph))
        .add(Permission::Deploy, routes!(undeploy))
        .add(Permission::Operate, routes!(pause))
        .add(Permission::Operate, routes!(resume))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct DeployQuery {
    /// Names a definition that has no name of its own.
    #[serde(default)]
    name: Option<String>,
    /// Only validate the source; deploy nothing.
    #[serde(default)]
    dry_run: bool,
}

/// Deploys the definitions of a source, all or nothing. Identical content is the same version.
/// Send files that the source refers to as `multipart/form-data`: the part `source`, and one part
/// for each file.
#[utoipa::path(
    post, path = "/definitions", operation_id = "deployDefinitions", tag = "definitions", params(DeployQuery),
    request_body(content(
        (String = "text/javascript"), (String = "application/yaml"), (String = "application/xml"),
    )),
    responses(
        (status = 201, description = "A new version", body = DeploymentResult),
        (status = 200, description = "Identical content was deployed before", body = DeploymentResult),
    )
)]
async fn deploy(
    State(app): State<App>,
    Query(query): Query<DeployQuery>,
    SourceBody { media_type, text, files }: SourceBody,
) -> Result<DeploymentResult> {
    let notation = media_type.as_deref().and_then(|kind| app.formats().notation(kind));
    let Some(notation) = notation.filter(|it| app.kernel().notations().get(it).is_some()) else {
        let known = app.formats().media_types().join(", ");
        let text = format!("name the type of the source with `Content-Type`: one of {known}");
        return Err(Problem::new(ProblemCode::UnsupportedMediaType, text));
    };
    let name = query.name.unwrap_or_default();
    let kept = app.formats().source_name(media_type.as_deref().unwrap_or_default(), name);
    let Some(name) = kept else {
        let text = "the name says that the source is of another type than its `Content-Type`: \
                    `.flow.ts` is `text/typescript`, `.flow.js` is `text/javascript`";
        return Err(Problem::new(ProblemCode::UnsupportedMediaType, text));
    };
    let source = Source { name, text: text.into(), files };
    if query.dry_run {
        return validate(&app, notation, source).await;
    }
    let hash = definition_hash(&source);
    let (deployed, diagnostics) = app.deploy(notation, source).await.map_err(deploy_problem)?;
    let is_new = deployed.iter().any(|it| it.new);
    let mut definitions = Vec::new();
    for it in deployed {
        let rows = versions_of(&app, &it.name).await?;
        let label = rows.iter().find(|row| row.version == it.version);
        let label = label.and_then(|row| row.label.clone());
        let mut warnings = warnings(&diagnostics);
        warnings.extend(reused_label(&rows, it.version, label.as_deref()));
        definitions.push(DeployedDefinition {
            name: it.name,
            notation: notation.to_owned(),
            version: Some(it.version),
            label,
            hash: hash.clone(),
            warnings,
        });
    }
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(JsonResponse(status, DeploymentResult { definitions }))
}

/// Validates a source without deploying it.
async fn validate(app: &App, notation: &str, source: Source) -> Result<DeploymentResult> {
    let hash = definition_hash(&source);
    let (definitions, diagnostics) =
        app.validate(notation, source).await.map_err(deploy_problem)?;
    let definitions = definitions.into_iter().map(|it| DeployedDefinition {
        name: it.name,
        notation: notation.to_owned(),
        version: None,
        label: it.label,
        hash: hash.clone(),
        warnings: warnings(&diagnostics),
    });
    ok(DeploymentResult { definitions: definitions.collect() })
}

fn warnings(diagnostics: &[CoreDiagnostic]) -> Vec<Diagnostic> {
    diagnostics.iter().map(Diagnostic::from).collect()
}

fn deploy_problem(error: DeployError) -> Problem {
    match error {
        DeployError::Diagnostics(found) => invalid_definition(&found),
        DeployError::Kernel(error) => error.into(),
    }
}

fn invalid_definition(diagnostics: &[CoreDiagnostic]) -> Problem {
    let errors = diagnostics.iter().filter(|it| it.severity == Severity::Error).count();
    let text = format!("the source has {errors} {}", if errors == 1 { "error" } else { "errors" });
    Problem::new(ProblemCode::InvalidDefinition, text).with_diagnostics(warnings(diagnostics))
}

/// Warns when an earlier version with other content has the same label.
fn reused_label(rows: &[DefinitionRow], version: u32, label: Option<&str>) -> Option<Diagnostic> {
    let label = label?;
    let is_other =
        |row: &&DefinitionRow| row.version < version && row.label.as_deref() == Some(label);
    let other = rows.iter().find(is_other)?;
    let message =
        format!("version {} has the same label {label:?} and other content", other.version);
    let start = meantime_core::Position { line: 1, column: 1 };
    let mut warning = CoreDiagnostic::error("label_reused", message, start);
    warning.severity = Severity::Warning;
    let warning = warning.with_help("give every content a label of its own");
    Some(Diagnostic::from(&warning))
}

async fn versions_of(app: &App, name: &str) -> std::result::Result<Vec<DefinitionRow>, Problem> {
    let filter = DefinitionFilter { name: Some(name.to_owned()), ..DefinitionFilter::default() };
    Ok(app.store().definitions(filter).await?)
}

fn unknown_definition(name: &str, version: Option<u32>) -> Problem {
    Error::UnknownDefinition { name: name.to_owned(), version }.into()
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists the latest version of every definition, by name.
#[utoipa::path(
    get, path = "/definitions", operation_id = "listDefinitions", tag = "definitions", params(ListQuery),
    responses((status = 200, description = "Definitions", body = Page<Definition>))
)]
async fn list(State(app): State<App>, Query(query): Query<ListQuery>) -> Result<Page<Definition>> {
    let limit = pagination::limit(query.limit)?;
    let filter = DefinitionFilter { latest: true, ..DefinitionFilter::default() };
    let mut rows = app.store().definitions(filter).await?;
    rows.retain(|row| is_visible(row) && query.cursor.as_ref().is_none_or(|it| row.name > *it));
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows.truncate(limit + 1);
    ok(pagination::to_page(rows, limit, |row| row.name.clone()))
}

/// Definitions that the engine uses internally are hidden.
fn is_visible(row: &DefinitionRow) -> bool {
    row.name != meantime_core::SCHEDULE_DEFINITION
}

/// Returns the latest version of a definition.
#[utoipa::path(
    get, path = "/definitions/{name}", operation_id = "getDefinition", tag = "definitions",
    params(("name" = String, Path, description = "Name of the definition")),
    responses((status = 200, description = "The latest version", body = Definition))
)]
async fn latest(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
) -> Result<Definition> {
    let rows = versions_of(&app, &name).await?;
    let newest = rows.iter().find(|row| !row.retired).or(rows.first());
    ok(Definition::from(newest.ok_or_else(|| unknown_definition(&name, None))?))
}

/// Lists all versions of a definition, latest first.
#[utoipa::path(
    get, path = "/definitions/{name}/versions", operation_id = "listDefinitionVersions", tag = "definitions",
    params(("name" = String, Path, description = "Name of the definition"), ListQuery),
    responses((status = 200, description = "Versions", body = Page<Definition>))
)]
async fn versions(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
    Query(query): Query<ListQuery>,
) -> Result<Page<Definition>> {
    let limit = pagination::limit(query.limit)?;
    let after: Option<u32> = pagination::parse_cursor(query.cursor.as_deref())?;
    let mut rows = versions_of(&app, &name).await?;
    if rows.is_empty() {
        return Err(unknown_definition(&name, None));
    }
    rows.retain(|row| after.is_none_or(|after| row.version < after));
    rows.truncate(limit + 1);
    ok(pagination::to_page(rows, limit, |row| row.version.to_string()))
}

async fn version(
    app: &App,
    name: &str,
    version: u32,
) -> std::result::Result<DefinitionRow, Problem> {
    let rows = versions_of(app, name).await?;
    let row = rows.into_iter().find(|row| row.version == version);
    row.ok_or_else(|| unknown_definition(name, Some(version)))
}

/// Returns the source of a version, byte for byte.
#[utoipa::path(
    get, path = "/definitions/{name}/versions/{version}/source", operation_id = "getDefinitionVersionSource", tag = "definitions",
    params(
        ("name" = String, Path, description = "Name of the definition"),
        ("version" = u32, Path, description = "Version number"),
    ),
    responses((status = 200, description = "The text", content_type = "text/plain", body = String))
)]
async fn source(
    State(app): State<App>,
    PathParams((name, number)): PathParams<(String, u32)>,
) -> std::result::Result<Response, Problem> {
    let row = version(&app, &name, number).await?;
    let kind = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    Ok((kind, row.source.to_string()).into_response())
}

/// Returns nodes and edges of the latest version, for drawing.
#[utoipa::path(
    get, path = "/definitions/{name}/graph", operation_id = "getDefinitionGraph", tag = "definitions",
    params(("name" = String, Path, description = "Name of the definition")),
    responses((status = 200, description = "The graph", body = DefinitionGraph))
)]
async fn latest_graph(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
) -> Result<DefinitionGraph> {
    let rows = versions_of(&app, &name).await?;
    let newest = rows.iter().find(|row| !row.retired).or(rows.first());
    let newest = newest.ok_or_else(|| unknown_definition(&name, None))?;
    ok(load_graph(&app, newest.id).await?)
}

async fn load_graph(app: &App, id: DefinitionId) -> std::result::Result<DefinitionGraph, Problem> {
    let entry = app.definitions().get(id).await?;
    let (name, notation) = (&entry.name, &entry.notation);
    let Some((runs, definition)) = entry.compiled() else {
        let text = format!("{name:?} cannot be read by this release, so it cannot be drawn");
        return Err(Problem::new(ProblemCode::NoGraph, text));
    };
    let graph = runs.graph(definition);
    if graph.nodes.is_empty() {
        let text =
            format!("{name:?} is a {notation}, which has no drawing; read its source instead");
        return Err(Problem::new(ProblemCode::NoGraph, text));
    }
    Ok(DefinitionGraph::from(graph))
}

/// Returns nodes and edges of a version, for drawing.
#[utoipa::path(
    get, path = "/definitions/{name}/versions/{version}/graph", operation_id = "getDefinitionVersionGraph", tag = "definitions",
    params(
        ("name" = String, Path, description = "Name of the definition"),
        ("version" = u32, Path, description = "Version number"),
    ),
    responses((status = 200, description = "The graph", body = DefinitionGraph))
)]
async fn graph(
    State(app): State<App>,
    PathParams((name, number)): PathParams<(String, u32)>,
) -> Result<DefinitionGraph> {
    let row = version(&app, &name, number).await?;
    ok(load_graph(&app, row.id).await?)
}

/// Undeploys a version. Running instances continue.
#[utoipa::path(
    delete, path = "/definitions/{name}/versions/{version}", operation_id = "undeployDefinitionVersion", tag = "definitions",
    params(
        ("name" = String, Path, description = "Name of the definition"),
        ("version" = u32, Path, description = "Version number"),
    ),
    responses((status = 200, description = "Undeployed", body = OperationResult))
)]
async fn undeploy(
    State(app): State<App>,
    PathParams((name, version)): PathParams<(String, u32)>,
) -> Result<OperationResult> {
    app.kernel().call(Command::Undeploy { name, version }).await?;
    app.surface_index().invalidate();
    ok(OperationResult {})
}

/// Pauses a definition: no version of it starts instances until it is resumed. Running instances
/// go on. Idempotent.
#[utoipa::path(
    post, path = "/definitions/{name}/pause", operation_id = "pauseDefinition", tag = "definitions",
    params(("name" = String, Path, description = "Name of the definition")),
    request_body = Option<OperatorReason>,
    responses((status = 200, description = "The paused definition", body = Definition))
)]
async fn pause(
    State(app): State<App>,
    caller: Caller,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<OperatorReason>,
) -> Result<Definition> {
    set_paused(&app, &caller, &name, true, body.reason).await
}

/// Resumes a paused definition. Idempotent.
#[utoipa::path(
    post, path = "/definitions/{name}/resume", operation_id = "resumeDefinition", tag = "definitions",
    params(("name" = String, Path, description = "Name of the definition")),
    request_body = Option<OperatorReason>,
    responses((status = 200, description = "The resumed definition", body = Definition))
)]
async fn resume(
    State(app): State<App>,
    caller: Caller,
    PathParams(name): PathParams<String>,
    JsonBody(body): JsonBody<OperatorReason>,
) -> Result<Definition> {
    set_paused(&app, &caller, &name, false, body.reason).await
}

async fn set_paused(
    app: &App,
    caller: &Caller,
    name: &str,
    pauses: bool,
    reason: Option<String>,
) -> Result<Definition> {
    let audit = caller.audit_info(reason);
    let newest = |rows: Vec<DefinitionRow>| rows.into_iter().find(|row| !row.retired);
    let is_built_in = name == SCHEDULE_DEFINITION;
    let row = newest(versions_of(app, name).await?).filter(|_| !is_built_in);
    let row = row.ok_or_else(|| unknown_definition(name, None))?;
    if row.paused.is_some() == pauses {
        return ok(Definition::from(&row));
    }
    // A definition has no history: the log tells who has paused and resumed it.
    audit::log_definition_pause(name, pauses, &audit);
    let command = Command::PauseDefinition { name: name.to_owned(), pauses, audit };
    app.kernel().call(command).await?;
    let row = newest(versions_of(app, name).await?);
    ok(Definition::from(&row.ok_or_else(|| unknown_definition(name, None))?))
}
