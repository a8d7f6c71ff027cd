//! `/apis`: calls of APIs (`kind: Api`), which run in memory and store nothing.

use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use meantime_core::{Definition, Failure, Json, Outcome, Termination};
use meantime_journey::surface::{self, ApiAnswer};
use meantime_kernel::command::{Error, StartCommand};
use utoipa_axum::routes;

use super::journey::json;
use super::router::BASE;
use super::table::Routes;
use crate::app::App;
use crate::auth::Permission;
use crate::concurrency::RequestPermit;
use crate::extract::{PathParams, RawJson};
use crate::journey::{InboundRequest, SurfaceDefinition, api, visible_request};
use crate::problem::{PROBLEM_JSON, Problem, ProblemCode};

pub(super) fn routes() -> Routes {
    Routes::new().add_public(Permission::Operate, routes!(call))
}

/// Calls an API. APIs with a `route` answer there as well.
#[utoipa::path(
    post, path = "/apis/{name}", operation_id = "callApi", tag = "journeys",
    params(("name" = String, Path, description = "The API")),
    request_body(content = Option<serde_json::Value>, description = "The input of the API"),
    responses((status = 200, description = "The output of the API", body = serde_json::Value))
)]
async fn call(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
    RawQuery(query): RawQuery,
    permit: RequestPermit,
    headers: HeaderMap,
    RawJson(input): RawJson,
) -> Result<Response, Problem> {
    let named = api(&app, &name).await?;
    run_api(&app, &permit, &named, query.as_deref(), &headers, input).await
}

/// Calls the API whose `route` is the path of the request.
pub(super) async fn call_routed_api(
    State(app): State<App>,
    method: Method,
    uri: Uri,
    permit: RequestPermit,
    headers: HeaderMap,
    payload: Result<RawJson, Problem>,
) -> Result<Response, Problem> {
    let path = uri.path().strip_prefix(BASE).unwrap_or_default();
    let named = match method {
        Method::POST => app.surface_index().api(&app, path).await?,
        _ => None,
    };
    let nothing =
        || Problem::new(ProblemCode::NotFound, format!("there is nothing at {}", uri.path()));
    let named = named.ok_or_else(nothing)?;
    let RawJson(input) = payload?;
    run_api(&app, &permit, &named, uri.query(), &headers, input).await
}

async fn run_api(
    app: &App,
    permit: &RequestPermit,
    named: &SurfaceDefinition,
    query: Option<&str>,
    headers: &HeaderMap,
    input: Json,
) -> Result<Response, Problem> {
    let name = named.name();
    let unreadable = || Error::UnknownDefinition { name: name.to_owned(), version: None };
    let definition = named.definition().ok_or_else(unreadable)?;
    let request = visible_request(app, headers, query);
    let from_request = surface::start_request_bindings(definition, &request);
    let _guard =
        app.requests().register(InboundRequest { request, passthrough: from_request.passthrough });
    let command = StartCommand {
        input: input.clone(),
        request_bindings: from_request.request_bindings,
        ..StartCommand::default()
    };
    let patience = app.timeout_or_drain(app.settings().http.max_wait.into());
    let run = app.ephemeral().run(app.store(), named.id, command, patience);
    let outcome = match permit.release_while(run).await? {
        Ok(Some(outcome)) => outcome,
        Ok(None) => timeout_outcome(definition, input),
        Err(Error::Refused { code, problem }) => {
            let refused = surface::RefusedStart { code: &code, problem: &problem, input: &input };
            let settings = app.journey_settings();
            let now = app.kernel().now().engine;
            return Ok(match surface::api_refusal(settings, definition, &refused, now) {
                Some(answer) => response(&answer),
                None => return Err(Error::Refused { code, problem }.into()),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let now = app.kernel().now().engine;
    Ok(response(&surface::api_answer(app.journey_settings(), definition, &outcome, now)))
}

/// The outcome of an API that exceeds the longest wait of a request: its declared deadline outcome.
fn timeout_outcome(definition: &Definition, context: Json) -> Outcome {
    let failure = match &definition.execution {
        Some(declared) => Failure::new(declared.code.clone(), declared.reason.clone()),
        None => Failure::new("JOURNEY_TIMEOUT", "the API took longer than a request may"),
    };
    Outcome::Failed { failure, termination: Termination::Timeout, context }
}

fn response(answer: &ApiAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, &answer.body);
    if answer.is_problem {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    }
    response
}
