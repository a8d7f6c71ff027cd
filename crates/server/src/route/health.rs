//! `/healthz`, `/readyz` and `/metrics`.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::reply::JsonResponse;
use crate::app::App;
use crate::problem::Problem;

/// How long the engine may take to answer before it counts as stalled; it usually takes
/// milliseconds.
const RESPONSE_LIMIT: Duration = Duration::from_secs(2);

/// The body of health responses.
#[derive(Serialize)]
pub(super) struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Liveness: the process answers.
pub(super) async fn alive() -> JsonResponse<Health> {
    JsonResponse(StatusCode::OK, Health { status: "ok", detail: None })
}

/// Readiness: the engine accepts work. Checked only when asked, because nothing polls (I12).
pub(super) async fn ready(State(app): State<App>) -> JsonResponse<Health> {
    let reason = if app.is_draining() {
        Some("the server is stopping".to_owned())
    } else if let Some(reason) = stall_reason(&app).await {
        Some(reason)
    } else if let Err(error) = app.store().ping().await {
        Some(error.to_string())
    } else if app.kernel().is_paused() {
        Some("the store was restored from a backup and is not resumed".to_owned())
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

/// Why the engine makes no progress, if it makes none: it does not answer, or the oldest batch has
/// not been committed for too long.
async fn stall_reason(app: &App) -> Option<String> {
    let levels = match tokio::time::timeout(RESPONSE_LIMIT, app.kernel().counted()).await {
        Ok(Ok((_, levels))) => levels,
        Ok(Err(error)) => return Some(format!("the engine has stopped: {error}")),
        Err(_) => return Some("the engine does not answer".to_owned()),
    };
    let ms = levels.oldest_batch_ms.filter(|ms| u128::from(*ms) > RESPONSE_LIMIT.as_millis())?;
    Some(format!("a batch has waited {ms} ms for its commit"))
}

/// Metrics for Prometheus.
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let (counters, levels) = app.kernel().counted().await?;
    let text = app.metrics().text(&counters, &levels);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
