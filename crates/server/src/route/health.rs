//! Is it alive, can it work, how much has it done?

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::reply::JsonResponse;
use crate::app::App;
use crate::problem::Problem;

/// How long the engine may take for what takes milliseconds.
const RESPONSE_LIMIT: Duration = Duration::from_secs(2);

/// How the server stands.
#[derive(Serialize)]
pub(super) struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The process answers.
pub(super) async fn alive() -> JsonResponse<Health> {
    JsonResponse(StatusCode::OK, Health { status: "ok", detail: None })
}

/// The engine can take work. Judged when somebody asks: nothing is looked at otherwise (I12).
pub(super) async fn ready(State(app): State<App>) -> JsonResponse<Health> {
    let reason = if app.is_draining() {
        Some("the server is about to stop".to_owned())
    } else if let Some(reason) = stall_reason(&app).await {
        Some(reason)
    } else if let Err(error) = app.store().ping().await {
        Some(error.to_string())
    } else if app.kernel().is_paused() {
        Some("the store is a restored copy that nobody has confirmed".to_owned())
    } else {
        None
    };
    match reason {
        None => JsonResponse(StatusCode::OK, Health { status: "ready", detail: None }),
        detail => {
            JsonResponse(StatusCode::SERVICE_UNAVAILABLE, Health { status: "not ready", detail })
        }
    }
}

/// Why nothing progresses, if nothing does: the engine does not answer, or the oldest batch is
/// under way for so long that it must be stuck.
async fn stall_reason(app: &App) -> Option<String> {
    let levels = match tokio::time::timeout(RESPONSE_LIMIT, app.kernel().counted()).await {
        Ok(Ok((_, levels))) => levels,
        Ok(Err(error)) => return Some(format!("the engine has stopped: {error}")),
        Err(_) => return Some("the engine does not answer".to_owned()),
    };
    let ms = levels.oldest_batch_ms.filter(|ms| u128::from(*ms) > RESPONSE_LIMIT.as_millis())?;
    Some(format!("nothing was committed for {ms} ms, and something waits for it"))
}

/// Counters for Prometheus.
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let (counters, levels) = app.kernel().counted().await?;
    let text = app.metrics().text(&counters, &levels);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
