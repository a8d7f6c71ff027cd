//! `/apis`: calls of APIs (`kind: Api`), which run in memory and store nothing.

use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::Response;
use meantime_core::{Definition, Failure, Json, Outcome, Termination, Timestamp};
use meantime_journey::surface::{self, ApiAnswer, Effort, TooCostly};
use meantime_kernel::command::{Error, StartCommand};
use utoipa_axum::routes;

use super::journey::json;
use super::router::BASE;
use super::table::Routes;
use crate::app::App;
use crate::auth::Permission;
use crate::concurrency::RequestPermit;
use crate::extract::{PathParams, RawJson};
use crate::journey::{EphemeralEnd, InboundRequest, SurfaceDefinition, api, visible_request};
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
    if app.kernel().is_definition_paused(name).await? {
        return Err(Error::DefinitionPaused(name.to_owned()).into());
    }
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
        Ok(EphemeralEnd::Ended(outcome)) => outcome,
        Ok(EphemeralEnd::Incident(failure)) => return Err(Problem::incident(failure.code)),
        Ok(EphemeralEnd::OutOfTime) => timeout_outcome(definition, input),
        Err(Error::Refused { code, problem }) => {
            let refusal = (code.clone(), problem.clone());
            let answer = compute_answer(app, permit, named, move |scope, effort| {
                let (code, problem) = (&refusal.0, &refusal.1);
                let refused = surface::RefusedStart { code, problem, input: &input };
                let AnswerInputs { settings, definition, now } = scope;
                surface::api_refusal(settings, definition, &refused, now, effort)
            });
            return match answer.await? {
                Some(answer) => Ok(response(&answer)),
                None => Err(Error::Refused { code, problem }.into()),
            };
        }
        Err(error) => return Err(error.into()),
    };
    let answer = compute_answer(app, permit, named, move |scope, effort| {
        let AnswerInputs { settings, definition, now } = scope;
        surface::api_answer(settings, definition, &outcome, now, effort)
    });
    Ok(response(&answer.await?))
}

/// What every answer is computed from.
struct AnswerInputs<'a> {
    settings: &'a meantime_journey::Settings,
    definition: &'a Definition,
    now: Timestamp,
}

/// Computes an answer: on this thread if that takes little, on the background pool otherwise.
async fn compute_answer<T: Send + 'static>(
    app: &App,
    permit: &RequestPermit,
    named: &SurfaceDefinition,
    compute: impl Fn(AnswerInputs<'_>, Effort) -> Result<T, TooCostly> + Send + 'static,
) -> Result<T, Problem> {
    let (settings, named) = (app.journey_settings().clone(), named.clone());
    let now = app.kernel().now().engine;
    let answer = move |effort| {
        let definition = named.definition().ok_or(TooCostly)?;
        compute(AnswerInputs { settings: &settings, definition, now }, effort)
    };
    if let Ok(quick) = answer(Effort::Quick) {
        return Ok(quick);
    }
    // The pool has two threads of low priority; a request that waits for them hinders no other.
    let computed = app.background().compute(move || answer(Effort::Full));
    let without = |_| Problem::new(ProblemCode::Internal, "the answer could not be computed");
    permit.release_while(computed).await??.map_err(without)
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use axum::Router;
    use axum::body::Body;
    use axum::extract::Request;
    use meantime_core::Source;
    use meantime_kernel::store::MemoryStore;
    use tower::ServiceExt as _;

    use super::*;
    use crate::engine::{Engine, SourceFormats};
    use crate::settings::Settings;

    async fn call(router: Router, name: &'static str) -> u16 {
        let request = Request::post(format!("/api/v1/apis/{name}")).header("host", "localhost");
        let request = request.body(Body::empty()).expect("a request");
        router.oneshot(request).await.expect("an answer").status().as_u16()
    }

    fn api_with(name: &str, expr: &str) -> Source {
        let text = format!(
            "apiVersion: v1
kind: Api
metadata: {{name: {name}, version: 1.0.0}}
spec:
  bindings: {{http: {{apiResponses: {{rules: [
    {{when: {{phase: SUCCEEDED}}, statusExpr: {{lang: dataweave, expr: '{expr}'}}}}]}}}}}}
  start: done
  states: {{done: {{type: succeed}}}}
"
        );
        Source { name: format!("{name}.journey.yaml"), text: text.into(), files: Vec::new() }
    }

    /// While the pool is busy, costly answers wait for it and others do not.
    #[tokio::test]
    async fn a_costly_answer_is_computed_on_the_background_pool() {
        let (store, settings) = (Arc::new(MemoryStore::new()), Settings::default());
        let (notations, formats) = (crate::notations(), SourceFormats::default());
        let engine = Engine::start_on(store, settings, notations, formats).await;
        let engine = engine.expect("the engine starts");
        let costly = "202 + sum((1 to 10000) map ((i) -> 0))";
        for source in [api_with("costly", costly), api_with("quick", "201")] {
            engine.kernel().deploy("journey", source).await.expect("a good definition");
        }
        let app = App::new(&engine);
        let router = app.router();
        let mut gates = Vec::new();
        for _ in 0..2 {
            let (gate, closed) = mpsc::channel::<()>();
            let (entered, is_busy) = tokio::sync::oneshot::channel();
            let pool = app.background().clone();
            tokio::spawn(async move {
                let wait = move || {
                    let _ = entered.send(());
                    // It ends when the test opens the gate.
                    let _ = closed.recv();
                };
                pool.compute(wait).await
            });
            is_busy.await.expect("the pool has a thread for it");
            gates.push(gate);
        }
        let waits = tokio::spawn(call(router.clone(), "costly"));
        for _ in 0..20 {
            assert_eq!(call(router.clone(), "quick").await, 201);
        }
        assert!(!waits.is_finished(), "both threads of the pool are busy");
        drop(gates);
        assert_eq!(waits.await.expect("it ends"), 202);
        engine.stop().await;
    }
}
