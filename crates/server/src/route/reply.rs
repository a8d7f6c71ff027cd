//! JSON responses.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::{Problem, ProblemCode};

/// A response with a status and a JSON body.
pub(crate) struct JsonResponse<T>(pub(crate) StatusCode, pub(crate) T);

impl<T: Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        let Self(status, body) = self;
        let Ok(body) = serde_json::to_vec(&body) else {
            return Problem::new(ProblemCode::Internal, "the response cannot be serialised")
                .into_response();
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// The result of handlers.
pub(crate) type Result<T> = std::result::Result<JsonResponse<T>, Problem>;

/// A response with status 200.
#[expect(clippy::unnecessary_wraps, reason = "the last word of handlers, which can fail")]
pub(crate) fn ok<T>(body: T) -> Result<T> {
    Ok(JsonResponse(StatusCode::OK, body))
}
