//! `/journeys`: the surface that journeys have of their own, a view on the same instances.

use axum::body::Body as HttpBody;
use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use meantime_core::{InstanceId, Json};
use meantime_journey::surface::{self, Kind, StartMode};
use meantime_kernel::command::{Command, Error, Reply, StartCommand, Wait};
use utoipa_axum::routes;

use super::instance::idempotency_key;
use super::journey_list;
use super::table::Routes;
use crate::app::App;
use crate::auth::{Caller, Permission};
use crate::extract::{Id, Name, Payload};
use crate::journey::{Inbound, Seen, find, latest, read};
use crate::place::Place;
use crate::problem::{Problem, Reason};

type Result<T> = std::result::Result<T, Problem>;

pub(super) fn routes() -> Routes {
    Routes::new()
        .add_public(Permission::Operate, routes!(start))
        .add_long(Permission::Read, routes!(journey_list::list))
        .add_public(Permission::Read, routes!(status))
        .add_public(Permission::Read, routes!(result))
        .add_public(Permission::Operate, routes!(submit))
        .add_public(Permission::Operate, routes!(cancel))
}

/// Starts a journey. The body is its first context.
#[utoipa::path(
    post, path = "/journeys/{name}/start", operation_id = "startJourney", tag = "journeys",
    params(
        ("name" = String, Path, description = "The journey"),
        ("Idempotency-Key" = Option<String>, Header,
            description = "Makes a repetition harmless: it answers with the instance of the first"),
    ),
    request_body(content = Option<serde_json::Value>, description = "An object"),
    responses(
        (status = 200, description = "How it ended, or how it stands", body = serde_json::Value),
        (status = 202, description = "Where to look (`startMode: async`)", body = serde_json::Value),
    )
)]
async fn start(
    State(app): State<App>,
    Name(name): Name<String>,
    RawQuery(query): RawQuery,
    place: Place,
    headers: HeaderMap,
    Payload(input): Payload,
) -> Result<Response> {
    let named = latest(&app, &name, Kind::Journey).await?;
    let definition = named.definition().ok_or_else(|| unreadable(&name))?;
    let request = read(&app, &headers, query.as_deref());
    let bound = surface::start_bound(definition, &request);
    let lasting = app.requests().keep(Inbound { request, passthrough: bound.passthrough });
    let start = StartCommand {
        definition: name.clone(),
        input,
        bound: bound.bound,
        idempotency: idempotency_key(&headers)?,
        ..StartCommand::default()
    };
    let is_sync = surface::start_mode(definition) == StartMode::Sync;
    let reply = if is_sync {
        // It answers when the run needs time or somebody outside, or is over (JR4).
        let patience = app.patience(app.settings().http.max_wait.into());
        let settled = app.kernel().start_until(start, Wait::Idle, patience);
        place.while_waiting(settled).await??
    } else {
        app.kernel().start_until(start, Wait::Quiet, std::future::pending()).await?
    };
    let Reply::Started { instance, row, .. } = reply else {
        return Err(Problem::new(Reason::Internal, "a start was answered by something else"));
    };
    if !is_sync {
        // What the run does first is still done for this request (rule 31 refuses the rest).
        if surface::looks_at_requests(definition) {
            let patience = app.patience(app.settings().http.max_wait.into());
            tokio::spawn(async move {
                patience.await;
                drop(lasting);
            });
        }
        let body = surface::start_response(definition, &instance.to_string());
        return Ok(json(StatusCode::ACCEPTED, &body));
    }
    let seen = match row {
        Some(row) => Seen::new(&app, *row).await?,
        None => find(&app, instance).await?,
    };
    let (definition, instance) = seen.parts().ok_or_else(|| unreadable(&name))?;
    let body = surface::outcome(definition, &instance);
    Ok(json(StatusCode::OK, &body.unwrap_or_else(|| surface::status(definition, &instance))))
}

/// Does a command and waits until the run needs time or somebody outside, or is over (JR4).
async fn settled(
    app: &App,
    place: &Place,
    command: Command,
) -> Result<std::result::Result<Reply, Error>> {
    let patience = app.patience(app.settings().http.max_wait.into());
    place.while_waiting(app.kernel().call_until(command, Wait::Idle, patience)).await
}

/// How a journey stands.
#[utoipa::path(
    get, path = "/journeys/{id}", operation_id = "getJourney", tag = "journeys",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "JourneyStatus", body = serde_json::Value))
)]
async fn status(
    State(app): State<App>,
    place: Place,
    headers: HeaderMap,
    Id(id): Id<InstanceId>,
) -> Result<Response> {
    let seen = find(&app, id).await?.guarded(&app, &place, &headers).await?;
    shown(&seen, surface::status)
}

/// How a journey ended; 409 while it goes on.
#[utoipa::path(
    get, path = "/journeys/{id}/result", operation_id = "getJourneyResult", tag = "journeys",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "JourneyOutcome", body = serde_json::Value))
)]
async fn result(
    State(app): State<App>,
    place: Place,
    headers: HeaderMap,
    Id(id): Id<InstanceId>,
) -> Result<Response> {
    let seen = find(&app, id).await?.guarded(&app, &place, &headers).await?;
    let (definition, instance) = seen.parts().ok_or(Error::UnknownInstance(id))?;
    let outcome = surface::outcome(definition, &instance);
    let outcome = outcome.ok_or_else(|| {
        Problem::new(Reason::JourneyRunning, format!("journey {id} has not ended"))
    })?;
    Ok(json(StatusCode::OK, &outcome))
}

/// Submits to a step. The body is the payload itself.
#[utoipa::path(
    post, path = "/journeys/{id}/steps/{step}", operation_id = "submitJourneyStep", tag = "journeys",
    params(
        ("id" = String, Path, description = "The instance"),
        ("step" = String, Path, description = "The id of a wait or webhook that is active"),
    ),
    request_body(content = Option<serde_json::Value>, description = "The payload"),
    responses((status = 200, description = "JourneyStatus, with what the step shows", body = serde_json::Value))
)]
async fn submit(
    State(app): State<App>,
    Name((id, step)): Name<(String, String)>,
    RawQuery(query): RawQuery,
    place: Place,
    headers: HeaderMap,
    Payload(payload): Payload,
) -> Result<Response> {
    let id: InstanceId = id.parse().map_err(|error| Problem::from(error).not_there())?;
    let seen = find(&app, id).await?;
    let (definition, _) = seen.parts().ok_or(Error::UnknownInstance(id))?;
    let request = read(&app, &headers, query.as_deref());
    let bound = surface::step_bound(definition, &step, &request);
    let _lasting = app.requests().keep(Inbound { request, passthrough: bound.passthrough });
    let (instance, name) = (id, step.clone());
    let command = Command::Submit { instance, step: name, payload, bound: bound.bound };
    settled(&app, &place, command).await?.map_err(|error| match error {
        // Nobody waits for it any more.
        Error::InstanceEnded(_) => not_active(&step),
        error => error.into(),
    })?;
    let seen = find(&app, id).await?;
    shown(&seen, |definition, instance| surface::submitted_status(definition, instance, &step))
}

fn not_active(step: &str) -> Problem {
    let text = format!("the step `{step}` does not wait for a submission");
    Problem::new(Reason::StepNotActive, text)
}

/// Cancels a journey. What is over, or only compensates, stays as it is (JC1, JR5).
#[utoipa::path(
    post, path = "/journeys/{id}/steps/cancel", operation_id = "cancelJourney", tag = "journeys",
    params(("id" = String, Path, description = "The instance")),
    responses((status = 200, description = "JourneyStatus", body = serde_json::Value))
)]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    place: Place,
    headers: HeaderMap,
    Id(id): Id<InstanceId>,
) -> Result<Response> {
    let mut seen = find(&app, id).await?;
    if caller.role.is_none() {
        // Nothing else of the journey looks at who cancels, and the answer shows how it stands.
        seen = seen.guarded(&app, &place, &headers).await?;
    }
    let (definition, _) = seen.parts().ok_or(Error::UnknownInstance(id))?;
    if !seen.is_decided() {
        if !surface::is_cancellable(definition) {
            let text = format!("journey {id} cannot be cancelled by those who call it");
            return Err(Problem::new(Reason::NotCancellable, text));
        }
        let by = caller.by(None);
        app.kernel().call(Command::Cancel { instance: id, audit: by }).await?;
    }
    shown(&find(&app, id).await?, surface::status)
}

/// An answer about an instance.
fn shown(
    seen: &Seen,
    show: impl FnOnce(&meantime_core::Definition, &surface::Instance<'_>) -> Json,
) -> Result<Response> {
    let (definition, instance) = seen.parts().ok_or(Error::UnknownInstance(seen.row.id))?;
    Ok(json(StatusCode::OK, &show(definition, &instance)))
}

fn unreadable(name: &str) -> Problem {
    Error::UnknownDefinition { name: name.to_owned(), version: None }.into()
}

/// A JSON answer that is text already.
pub(super) fn json(status: StatusCode, body: &Json) -> Response {
    let mut response = Response::new(HttpBody::from(body.as_str().to_owned()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
