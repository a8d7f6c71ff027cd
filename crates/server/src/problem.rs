//! Error responses: RFC 9457 problem details with a stable `code`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use meantime_core::Json;
use meantime_core::id::InvalidId;
use meantime_core::json::{InvalidJson, InvalidKind};
use meantime_core::time::TimeError;
use meantime_kernel::command::{Error, SCHEDULE_CHANGED, SCHEDULE_INVALID};
use meantime_kernel::store;
use serde::Serialize;
use utoipa::ToSchema;

use crate::error_pages;
use crate::extract::describe_body_error;
use crate::wire::Diagnostic;

/// The media type of problems.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// The default `Retry-After`, in seconds.
const RETRY_AFTER_S: u64 = 1;

/// Errors that the server detects itself, without the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemCode {
    NotFound,
    MethodNotAllowed,
    UnsupportedMediaType,
    InvalidBody,
    InvalidQuery,
    InvalidCursor,
    InvalidDefinition,
    UnknownSchedule,
    UnknownScope,
    UnknownId,
    NoGraph,
    Unauthenticated,
    Forbidden,
    ForeignOrigin,
    InvalidHost,
    RateLimited,
    TooManyRequests,
    SlowRequest,
    InstanceRunning,
    InputUnknown,
    JourneyRunning,
    StepNotActive,
    NotCancellable,
    Internal,
}

impl ProblemCode {
    /// All codes, for the test of the error pages.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 24] = [
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::UnsupportedMediaType,
        Self::InvalidBody,
        Self::InvalidQuery,
        Self::InvalidCursor,
        Self::InvalidDefinition,
        Self::UnknownSchedule,
        Self::UnknownScope,
        Self::UnknownId,
        Self::NoGraph,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::ForeignOrigin,
        Self::InvalidHost,
        Self::RateLimited,
        Self::TooManyRequests,
        Self::SlowRequest,
        Self::InstanceRunning,
        Self::InputUnknown,
        Self::JourneyRunning,
        Self::StepNotActive,
        Self::NotCancellable,
        Self::Internal,
    ];

    /// The stable code.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::InvalidBody => "invalid_body",
            Self::InvalidQuery => "invalid_query",
            Self::InvalidCursor => "invalid_cursor",
            Self::InvalidDefinition => "invalid_definition",
            Self::UnknownSchedule => "unknown_schedule",
            Self::UnknownScope => "unknown_scope",
            Self::UnknownId => "unknown_id",
            Self::NoGraph => "no_graph",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::ForeignOrigin => "foreign_origin",
            Self::InvalidHost => "invalid_host",
            Self::RateLimited => "rate_limited",
            Self::TooManyRequests => "too_many_requests",
            Self::SlowRequest => "slow_request",
            Self::InstanceRunning => "instance_running",
            Self::InputUnknown => "input_unknown",
            Self::JourneyRunning => "journey_running",
            Self::StepNotActive => "step_not_active",
            Self::NotCancellable => "not_cancellable",
            Self::Internal => "internal",
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::NotFound
            | Self::UnknownSchedule
            | Self::UnknownScope
            | Self::UnknownId
            | Self::NoGraph => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidBody | Self::InvalidQuery | Self::InvalidCursor | Self::InvalidHost => {
                StatusCode::BAD_REQUEST
            }
            Self::InvalidDefinition => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::TooManyRequests => StatusCode::SERVICE_UNAVAILABLE,
            Self::SlowRequest => StatusCode::REQUEST_TIMEOUT,
            Self::InstanceRunning
            | Self::InputUnknown
            | Self::JourneyRunning
            | Self::StepNotActive
            | Self::NotCancellable => StatusCode::CONFLICT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// An error response.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    retry_after: Option<u64>,
    body: Box<ProblemBody>,
}

/// The body of an error response (RFC 9457).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemBody {
    /// Link to the explanation of the code.
    #[serde(rename = "type")]
    kind: String,
    /// The reason phrase of the HTTP status.
    title: Cow<'static, str>,
    /// The HTTP status.
    status: u16,
    /// The stable code, for programs.
    code: Cow<'static, str>,
    /// What happened, for people.
    detail: String,
    /// The diagnostics of a rejected definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Diagnostic>,
    /// Details from the definition that rejected the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    problem: Option<Json>,
    /// Id of the instance that has the business key.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
}

impl Problem {
    /// A problem that the server detected itself.
    pub(crate) fn new(reason: ProblemCode, detail: impl Into<String>) -> Self {
        let mut problem = Self::with_code(reason.status(), reason.code(), detail);
        if matches!(reason, ProblemCode::RateLimited | ProblemCode::TooManyRequests) {
            problem.retry_after = Some(RETRY_AFTER_S);
        }
        problem
    }

    fn with_code(
        status: StatusCode,
        code: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        let code = code.into();
        let title = status.canonical_reason().unwrap_or("Error");
        let body = ProblemBody {
            kind: error_pages::page_link(&code),
            title: Cow::Borrowed(title),
            status: status.as_u16(),
            code,
            detail: detail.into(),
            diagnostics: Vec::new(),
            problem: None,
            holder: None,
        };
        Self { status, retry_after: None, body: Box::new(body) }
    }

    /// A run in memory stopped with an incident. The log has its message, which is for operators.
    pub(crate) fn incident(code: String) -> Self {
        let text = "the run stopped with an incident";
        let kind = error_pages::page_link_or(&code, ProblemCode::Internal.code());
        let mut problem = Self::with_code(StatusCode::INTERNAL_SERVER_ERROR, code, text);
        problem.body.kind = kind;
        problem
    }

    /// Adds diagnostics.
    pub(crate) fn with_diagnostics(mut self, diagnostics: Vec<Diagnostic>) -> Self {
        self.body.diagnostics = diagnostics;
        self
    }

    /// Sets `Retry-After` in seconds.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Changes the status to 404, for an invalid id in the path.
    pub(crate) fn into_not_found(mut self) -> Self {
        self.status = StatusCode::NOT_FOUND;
        self.body.status = self.status.as_u16();
        self.body.title = Cow::Borrowed("Not Found");
        self
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn code(&self) -> &str {
        &self.body.code
    }

    pub(crate) fn detail(&self) -> &str {
        &self.body.detail
    }
}

impl Problem {
    /// Status, headers and body of the response.
    pub(crate) fn into_parts(self) -> (StatusCode, HeaderMap, Vec<u8>) {
        // Serialising the body cannot fail: it has only string keys.
        let body = serde_json::to_vec(&self.body).unwrap_or_default();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers
            .insert(HeaderName::from_static("cache-control"), HeaderValue::from_static("no-store"));
        (self.status, headers, body)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, headers, body) = self.into_parts();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        let status = match &error {
            Error::UnknownDefinition { .. }
            | Error::UnknownInstance(_)
            | Error::UnknownTask(_)
            | Error::UnknownTimer(_)
            | Error::UnknownIncident(_)
            | Error::ClockNotVirtual => StatusCode::NOT_FOUND,
            Error::InstanceEnded(_)
            | Error::InstanceDamaged(_)
            | Error::InstanceSuspended(_)
            | Error::DefinitionPaused(_)
            | Error::LeaseLost(_)
            | Error::KeyTaken { .. }
            | Error::NotResolvable(_)
            | Error::TooManyFirings { .. } => StatusCode::CONFLICT,
            Error::IdempotencyMismatch(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Refused { .. } => return Self::refused(error),
            // Retrying does not help, so no 503.
            Error::Store { code: "store_row_damaged", .. } => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut problem = Self::with_code(status, code, detail);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            problem.retry_after = Some(RETRY_AFTER_S);
        }
        if let Error::KeyTaken { holder, .. } = error {
            problem.body.holder = Some(holder.to_string());
        }
        problem
    }
}

impl Problem {
    /// A rejection by a definition keeps the code of the definition.
    fn refused(error: Error) -> Self {
        let detail = error.to_string();
        let Error::Refused { code, problem } = error else {
            return Self::new(ProblemCode::Internal, detail);
        };
        let status = match code.as_str() {
            "SCHEDULE_EXISTS" | SCHEDULE_CHANGED | "step_not_active" => StatusCode::CONFLICT,
            "unknown_scope" => StatusCode::NOT_FOUND,
            SCHEDULE_INVALID => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::BAD_REQUEST,
        };
        let said = problem.read::<String>().ok().or_else(|| schema_mismatches(&problem));
        let detail = said.unwrap_or(detail);
        let mut refused = Self::with_code(status, code, detail);
        refused.body.problem = Some(problem).filter(|problem| !problem.is_null());
        refused
    }
}

/// Schema mismatches in one sentence.
fn schema_mismatches(problem: &Json) -> Option<String> {
    let found: Vec<BTreeMap<String, String>> = problem.read().ok()?;
    let tell = |it: &BTreeMap<String, String>| match (it.get("pointer"), it.get("message")) {
        (Some(pointer), Some(message)) if !pointer.is_empty() => {
            Some(format!("{pointer}: {message}"))
        }
        (_, message) => message.cloned(),
    };
    let told: Vec<String> = found.iter().filter_map(tell).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        Self::from(Error::from(&error))
    }
}

impl From<InvalidId> for Problem {
    fn from(error: InvalidId) -> Self {
        Self::with_code(StatusCode::BAD_REQUEST, error.code(), error.to_string())
    }
}

impl From<InvalidJson> for Problem {
    fn from(error: InvalidJson) -> Self {
        let code = match error.kind() {
            InvalidKind::Shape => ProblemCode::InvalidBody.code(),
            InvalidKind::NotJson | InvalidKind::Unsupported => error.code(),
        };
        Self::with_code(StatusCode::BAD_REQUEST, code, describe_body_error(&error))
    }
}

impl From<TimeError> for Problem {
    fn from(error: TimeError) -> Self {
        let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
        Self::with_code(StatusCode::BAD_REQUEST, error.code(), format!("{error}{hint}"))
    }
}
