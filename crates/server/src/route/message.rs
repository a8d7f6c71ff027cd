//! `/messages` and `/signals`: publishes messages and broadcasts signals.

use axum::extract::State;
use axum::http::StatusCode;
use meantime_core::Message;
use meantime_kernel::command::{Command, Reply};
use meantime_kernel::random::{Entropy as _, SystemEntropy};
use utoipa_axum::routes;

use super::reply::{JsonResponse, Result};
use super::table::Routes;
use crate::app::App;
use crate::auth::Permission;
use crate::extract::{JsonBody, PathParams, RawJson};
use crate::problem::{Problem, ProblemCode};
use crate::wire::{BroadcastResult, NewMessage, PublishResult, ids};

pub(super) fn routes() -> Routes {
    Routes::new()
        .add(Permission::Operate, routes!(publish))
        .add(Permission::Operate, routes!(broadcast))
}

/// Publishes a message. It is delivered to instances that wait for it, starts instances, or is
/// buffered for its time to live.
#[utoipa::path(
    post, path = "/messages", operation_id = "publishMessage", tag = "messages", request_body = NewMessage,
    responses((status = 202, description = "The result", body = PublishResult))
)]
async fn publish(
    State(app): State<App>,
    JsonBody(new): JsonBody<NewMessage>,
) -> Result<PublishResult> {
    let now = app.kernel().now().engine;
    let ttl_ms = new.ttl.map(|ttl| ttl.millis_from(now)).transpose()?;
    let key = new.correlation_key.map(|key| key.0).unwrap_or_default();
    let id = new.id.clone();
    let message = Message { name: new.name, key, payload: new.payload, ttl_ms, id };
    let Reply::Published { delivered, kept, duplicate } =
        app.kernel().call(Command::Publish(message)).await?
    else {
        return Err(Problem::new(
            ProblemCode::Internal,
            "a message was answered by something else",
        ));
    };
    let id = new.id.unwrap_or_else(new_id);
    let published = PublishResult { id, delivered: ids(&delivered), kept, duplicate };
    Ok(JsonResponse(StatusCode::ACCEPTED, published))
}

/// An id for a message without one.
fn new_id() -> String {
    let mut entropy = SystemEntropy::default();
    format!("ms_{:016x}{:016x}", entropy.next(), entropy.next())
}

/// Broadcasts a signal to all instances that wait for it now, and starts definitions that it
/// starts.
#[utoipa::path(
    post, path = "/signals/{name}", operation_id = "broadcastSignal", tag = "messages",
    params(("name" = String, Path, description = "The signal")),
    request_body(content = Option<serde_json::Value>, description = "The payload; an empty body is null"),
    responses((status = 202, description = "The receivers", body = BroadcastResult))
)]
async fn broadcast(
    State(app): State<App>,
    PathParams(name): PathParams<String>,
    RawJson(payload): RawJson,
) -> Result<BroadcastResult> {
    let Reply::Published { delivered, .. } =
        app.kernel().call(Command::Broadcast { name, payload }).await?
    else {
        return Err(Problem::new(ProblemCode::Internal, "a signal was answered by something else"));
    };
    Ok(JsonResponse(StatusCode::ACCEPTED, BroadcastResult { delivered: ids(&delivered) }))
}
