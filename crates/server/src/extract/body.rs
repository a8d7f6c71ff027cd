//! Extractors of request bodies: typed JSON, raw JSON, and sources to deploy.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use meantime_core::json::from_str;
use meantime_core::{Json, SourceFile};
use meantime_kernel::command::Error;
use serde::de::DeserializeOwned;

use super::multipart;
use crate::app::App;
use crate::concurrency::RequestPermit;
use crate::problem::{Problem, ProblemCode};

/// A typed JSON body. An empty body counts as an empty object.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body of any shape, kept exactly as written. An empty body is null.
pub(crate) struct RawJson(pub(crate) Json);

/// A source to deploy: its media type in lower case without parameters, its text and further files.
pub(crate) struct SourceBody {
    pub(crate) media_type: Option<String>,
    pub(crate) text: String,
    pub(crate) files: Vec<SourceFile>,
}

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let bytes = json_bytes(request, app).await?;
        let text = if bytes.is_empty() { "{}" } else { utf8(&bytes)? };
        Ok(Self(from_str(text, app.settings().http.max_json_depth)?))
    }
}

impl FromRequest<App> for RawJson {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let bytes = json_bytes(request, app).await?;
        if bytes.is_empty() {
            return Ok(Self(Json::null()));
        }
        Ok(Self(Json::parse_within(utf8(&bytes)?, app.settings().http.max_json_depth)?))
    }
}

impl FromRequest<App> for SourceBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let media_type = media_type(request.headers());
        let whole = request.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let boundary = whole.and_then(multipart::boundary).map(str::to_owned);
        let limit = app.settings().http.max_deploy_bytes;
        let bytes = read_bytes(request, limit, app).await?;
        let text = utf8(&bytes)?;
        let Some(boundary) = boundary else {
            return Ok(Self { media_type, text: text.to_owned(), files: Vec::new() });
        };
        let parts = multipart::read(text, &boundary);
        let parts = parts.map_err(|text| Problem::new(ProblemCode::InvalidBody, text))?;
        Ok(Self { media_type: parts.media_type, text: parts.text, files: parts.files })
    }
}

async fn json_bytes(request: Request, app: &App) -> Result<Bytes, Problem> {
    if let Some(kind) = media_type(request.headers())
        && !is_json(&kind)
    {
        let detail = format!("the body is JSON: send `application/json`, not `{kind}`");
        return Err(Problem::new(ProblemCode::UnsupportedMediaType, detail));
    }
    read_bytes(request, app.settings().http.max_body_bytes, app).await
}

/// Reads a whole body, up to a limit in bytes and in time. If it has not arrived yet, the request
/// counts as waiting, so that slow clients do not use up the requests in flight.
async fn read_bytes(request: Request, limit: usize, app: &App) -> Result<Bytes, Problem> {
    let permit = request.extensions().get::<RequestPermit>().cloned();
    let read = Limited::new(request.into_body(), limit).collect();
    let read = tokio::time::timeout(app.settings().http.body_timeout.into(), read);
    let mut read = std::pin::pin!(read);
    let read = match (read.as_mut().now_or_never(), permit) {
        (Some(read), _) => read,
        (None, Some(permit)) => permit.release_while(read).await?,
        (None, None) => read.await,
    };
    match read {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let (what, size) = ("the body", limit.saturating_add(1));
            Err(Error::TooLarge { what, size, limit }.into())
        }
        Ok(Err(error)) => Err(Problem::new(ProblemCode::InvalidBody, error.to_string())),
        Err(_) => Err(Problem::new(ProblemCode::SlowRequest, "the body did not arrive in time")),
    }
}

fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = value.split(';').next().unwrap_or_default().trim();
    Some(kind.to_ascii_lowercase()).filter(|kind| !kind.is_empty())
}

/// Whether a body of this type is read as JSON. `curl -d` declares a form by default; no operation
/// accepts forms, and cross-site requests are rejected by their origin.
fn is_json(kind: &str) -> bool {
    kind == "application/json"
        || (kind.starts_with("application/") && kind.ends_with("+json"))
        || kind == "application/x-www-form-urlencoded"
}

fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    meantime_core::text_of(bytes)
        .map_err(|error| Problem::new(ProblemCode::InvalidBody, format!("the body is {error}")))
}
