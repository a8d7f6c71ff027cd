//! Rejects starts early under overload.
//!
//! Under overload most starts are rejected, and every rejection takes CPU time from accepted work.
//! So the decision uses only the request line, before authentication, routing and reading the body.

use std::sync::LazyLock;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;

use meantime_kernel::command::Error;

use crate::app::App;
use crate::problem::Problem;

/// A route that starts a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StartRoute {
    /// Starts an instance.
    Instance(&'static str),
    /// Starts a run in memory.
    Api(&'static str),
}

/// The 503 response to a start that the engine would reject; none for other requests.
pub(crate) fn reject_early(app: &App, method: &Method, path: &str) -> Option<Response> {
    let start = start_route(method, path)?;
    let (route, room) = match start {
        StartRoute::Instance(route) => (route, app.kernel().has_room()),
        StartRoute::Api(route) => (route, app.ephemeral().has_room()),
    };
    room.err()?;
    let response = OVERLOADED_RESPONSE.response();
    app.metrics().count_early_rejection(route, response.status());
    Some(response)
}

/// The response, built once: under heavy overload most responses are this one.
static OVERLOADED_RESPONSE: LazyLock<PrebuiltResponse> = LazyLock::new(|| {
    let (status, headers, body) = Problem::from(Error::Overloaded).into_parts();
    PrebuiltResponse { status, headers, body: body.into() }
});

struct PrebuiltResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl PrebuiltResponse {
    fn response(&self) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        response
    }
}

fn start_route(method: &Method, path: &str) -> Option<StartRoute> {
    if method != Method::POST {
        return None;
    }
    match path.strip_prefix("/api/v1")? {
        "/instances" => Some(StartRoute::Instance("/api/v1/instances")),
        path => {
            let mut parts = path.trim_start_matches('/').split('/');
            match (parts.next()?, parts.next()?, parts.next(), parts.next()) {
                ("journeys", _, Some("start"), None) => {
                    Some(StartRoute::Instance("/api/v1/journeys/{name}/start"))
                }
                ("apis", _, None, None) => Some(StartRoute::Api("/api/v1/apis/{name}")),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_starts_are_refused_early() {
        let found = |path| start_route(&Method::POST, path).is_some();
        let starts = ["/api/v1/instances", "/api/v1/journeys/a/start", "/api/v1/apis/a"];
        assert!(starts.into_iter().all(found));
        let others = [
            "/api/v1/instances/in_1/cancel",
            "/api/v1/instances/in_1/signals/start",
            "/api/v1/journeys/in_1/steps/start",
            "/api/v1/tasks/complete",
            "/api/v1/tasks/claim",
            "/api/v1/messages",
            "/healthz",
        ];
        assert!(!others.into_iter().any(found));
        assert_eq!(start_route(&Method::GET, "/api/v1/instances"), None);
    }
}
