//! Outbound HTTP calls with limits on time, size and redirects.
//!
//! A redirect is a new call: its URL is parsed, its host resolved and every address checked like
//! the first. Bodies, and headers that may be credentials, are not sent to another origin.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LOCATION, SET_COOKIE, USER_AGENT,
};
use axum::http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use meantime_core::Json;
use meantime_core::json::InvalidKind;
use meantime_journey::surface::HTTP_DEADLINE;
use serde::Serialize;
use url::Url;

use super::dial::DialError;
use super::{Dialer, EgressPolicy, HostOverrides, address};
use crate::observe::{call_span, record_status};
use crate::settings::EgressSettings;

/// Lets the called system deduplicate requests.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The time left until the deadline of the calling instance, in milliseconds (D6).
const BUDGET_HEADER: HeaderName = HeaderName::from_static("meantime-budget-ms");

/// The headers that are sent to another origin after a redirect. Any other header may be a
/// credential: only the definition knows.
const CROSS_ORIGIN_HEADERS: [HeaderName; 7] = [
    ACCEPT,
    ACCEPT_LANGUAGE,
    USER_AGENT,
    IDEMPOTENCY_KEY,
    BUDGET_HEADER,
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];

/// The limits of a call.
#[derive(Debug, Clone)]
pub(super) struct CallLimits {
    /// The time limit.
    pub(super) timeout: Duration,
    /// Whether the time limit is the deadline of the instance.
    pub(super) is_deadline: bool,
    /// The time left until the deadline of the instance.
    pub(super) budget_ms: Option<u64>,
    /// The idempotency key of the task.
    pub(super) idempotency_key: String,
}

/// An outbound request.
#[derive(Debug, Clone)]
pub(super) struct OutboundRequest {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<Json>,
}

/// The response to an outbound request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutboundResponse {
    pub(super) status: u16,
    /// Headers by lower-case name.
    pub(super) headers: BTreeMap<String, HeaderField>,
    /// The body, or why it cannot be represented without loss.
    pub(super) body: Result<Json, String>,
}

/// The value of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum HeaderField {
    /// Several values are joined by commas (RFC 9110, section 5.3).
    Text(String),
    /// `Set-Cookie`, whose values contain commas.
    List(Vec<String>),
}

impl HeaderField {
    fn add(&mut self, value: String) {
        match self {
            Self::Text(text) => *text = format!("{text}, {value}"),
            Self::List(values) => values.push(value),
        }
    }
}

/// Why a call has no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpError {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Whether a retry may succeed.
    pub(super) retryable: bool,
}

impl HttpError {
    pub(super) fn new(code: &'static str, message: impl Into<String>, retryable: bool) -> Self {
        Self { code, message: message.into(), retryable }
    }
}

/// The client for outbound calls.
pub(super) struct HttpClient {
    client: Client<Dialer, Full<Bytes>>,
    settings: EgressSettings,
    max_json_depth: usize,
}

impl HttpClient {
    pub(super) fn new(settings: &EgressSettings, max_json_depth: usize) -> Result<Self, String> {
        let (policy, overrides) =
            (EgressPolicy::new(settings)?, HostOverrides::new(&settings.host_overrides)?);
        let dialer = Dialer::new(policy, settings.connect_timeout.into());
        let dialer =
            dialer.with_overrides(overrides).with_authorities(settings.ca_file.as_deref())?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(8)
            .http1_max_buf_size(64 << 10)
            .build(dialer);
        Ok(Self { client, settings: settings.clone(), max_json_depth })
    }

    /// Sends a request within its limits.
    pub(super) async fn call(
        &self,
        call: OutboundRequest,
        limits: CallLimits,
    ) -> Result<OutboundResponse, HttpError> {
        let (timeout, is_deadline) = (limits.timeout, limits.is_deadline);
        let answered =
            tokio::time::timeout(timeout, self.send_following_redirects(call, &limits)).await;
        answered.unwrap_or_else(|_| {
            let text = format!("no response within {} ms", timeout.as_millis());
            let code = if is_deadline { HTTP_DEADLINE } else { "HTTP_TIMEOUT" };
            Err(HttpError::new(code, text, !is_deadline))
        })
    }

    async fn send_following_redirects(
        &self,
        call: OutboundRequest,
        limits: &CallLimits,
    ) -> Result<OutboundResponse, HttpError> {
        let invalid = |text: String| HttpError::new("HTTP_INVALID", text, false);
        let mut url = address::parse(&call.url).map_err(invalid)?;
        let mut method = Method::from_bytes(call.method.as_bytes())
            .map_err(|_| invalid(format!("{:?} is not an HTTP method", call.method)))?;
        let (mut headers, mut body) = prepare_request(&call, limits).map_err(invalid)?;
        let span = call_span(method.as_str(), url.host_str().unwrap_or_default(), &mut headers);
        for _ in 0..=self.settings.max_redirects {
            let mut request = Request::new(Full::new(body.clone()));
            (*request.method_mut(), *request.uri_mut()) =
                (method.clone(), address::to_uri(&url).map_err(invalid)?);
            *request.headers_mut() = headers.clone();
            let response = self.client.request(request).await.map_err(|error| classify(&error))?;
            record_status(&span, response.status().as_u16());
            let Some(next) = redirect_target(&url, &response).map_err(invalid)? else {
                return self.read_response(response).await;
            };
            if becomes_get(response.status(), &method) {
                (method, body) = (Method::GET, Bytes::new());
                headers.remove(CONTENT_TYPE);
                headers.remove(CONTENT_LENGTH);
            }
            if url.origin() != next.origin() {
                if !body.is_empty() {
                    // Following would send the body to another origin; the caller gets the redirect
                    // instead.
                    return self.read_response(response).await;
                }
                headers = CROSS_ORIGIN_HEADERS
                    .into_iter()
                    .filter_map(|name| Some((headers.get(&name)?.clone(), name)))
                    .map(|(value, name)| (name, value))
                    .collect();
            }
            url = next;
        }
        let text = format!("more than {} redirects", self.settings.max_redirects);
        Err(HttpError::new("HTTP_INVALID", text, false))
    }

    async fn read_response(
        &self,
        response: Response<Incoming>,
    ) -> Result<OutboundResponse, HttpError> {
        let (head, body) = response.into_parts();
        let limit = self.settings.max_response_bytes;
        let bytes = match Limited::new(body, limit).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let text = format!("the response is larger than {limit} bytes");
                return Err(HttpError::new("HTTP_TOO_LARGE", text, false));
            }
            Err(error) => return Err(HttpError::new("HTTP_INVALID", error.to_string(), true)),
        };
        let body = decode_body(&head.headers, &bytes, self.max_json_depth);
        Ok(OutboundResponse {
            status: head.status.as_u16(),
            headers: header_fields(&head.headers),
            body,
        })
    }
}

/// Builds headers and body of a request.
fn prepare_request(
    call: &OutboundRequest,
    limits: &CallLimits,
) -> Result<(HeaderMap, Bytes), String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &call.headers {
        let bad = || format!("the header {name:?} is not valid");
        let header: HeaderName = name.parse().map_err(|_| bad())?;
        if matches!(header.as_str(), "host" | "content-length" | "transfer-encoding" | "connection")
        {
            return Err(format!("the header {name:?} is set by the engine"));
        }
        headers.append(header, HeaderValue::from_str(value).map_err(|_| bad())?);
    }
    let body = match &call.body {
        None => Bytes::new(),
        Some(body) => match body.read::<String>() {
            Ok(text) => Bytes::from(text),
            Err(_) => {
                let json = HeaderValue::from_static("application/json");
                headers.entry(CONTENT_TYPE).or_insert(json);
                Bytes::from(body.as_str().to_owned())
            }
        },
    };
    let agent = concat!("meantime/", env!("CARGO_PKG_VERSION"));
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(agent));
    if let Ok(key) = HeaderValue::from_str(&limits.idempotency_key) {
        headers.entry(IDEMPOTENCY_KEY).or_insert(key);
    }
    if let Some(left) = limits.budget_ms {
        headers.insert(BUDGET_HEADER, HeaderValue::from(left));
    }
    Ok((headers, body))
}

/// The target of a redirect response.
fn redirect_target(url: &Url, response: &Response<Incoming>) -> Result<Option<Url>, String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| is_redirect);
    let Some(location) = location else { return Ok(None) };
    let location =
        location.to_str().map_err(|_| "the location of a redirect is not valid".to_owned())?;
    address::resolve_redirect(url, location).map(Some)
}

/// Whether the redirected request becomes a GET without body.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    let is_plain = method == Method::GET || method == Method::HEAD;
    !is_plain && matches!(status.as_u16(), 301..=303)
}

/// Converts headers for tasks.
fn header_fields(headers: &HeaderMap) -> BTreeMap<String, HeaderField> {
    let mut fields: BTreeMap<String, HeaderField> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        match fields.get_mut(name.as_str()) {
            Some(field) => field.add(value),
            None => {
                let is_cookie = *name == SET_COOKIE;
                let field = if is_cookie {
                    HeaderField::List(vec![value])
                } else {
                    HeaderField::Text(value)
                };
                fields.insert(name.as_str().to_owned(), field);
            }
        }
    }
    fields
}

/// Decodes the body: JSON if the content type says so and it is valid JSON, null if empty,
/// otherwise text. JSON that cannot be represented without loss is an error.
fn decode_body(headers: &HeaderMap, bytes: &[u8], max_json_depth: usize) -> Result<Json, String> {
    if bytes.is_empty() {
        return Ok(Json::null());
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind != "application/json" && !kind.ends_with("+json") {
        return Ok(Json::text(&String::from_utf8_lossy(bytes)));
    }
    let text = meantime_core::text_of(bytes).map_err(|error| format!("the body is {error}"))?;
    match Json::parse_within(text, max_json_depth) {
        Ok(json) => Ok(json),
        Err(error) if error.kind() == InvalidKind::Unsupported => Err(error.to_string()),
        Err(_) => Ok(Json::text(text)),
    }
}

fn classify(error: &ClientError) -> HttpError {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if let Some(dial) = inner.downcast_ref::<DialError>() {
            return match dial {
                DialError::Forbidden(_) => HttpError::new("HTTP_REFUSED", dial.to_string(), false),
                DialError::TimedOut(_) => HttpError::new("HTTP_TIMEOUT", dial.to_string(), true),
                DialError::NoAddress(_) | DialError::Io { .. } => {
                    HttpError::new("HTTP_UNREACHABLE", dial.to_string(), true)
                }
            };
        }
        source = inner.source();
    }
    let code = if error.is_connect() { "HTTP_UNREACHABLE" } else { "HTTP_INVALID" };
    HttpError::new(code, error.to_string(), true)
}
