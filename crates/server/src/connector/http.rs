//! Outbound HTTP calls: bounded in time, size and redirects, and guarded at every hop.
//!
//! A redirect is a new call: its address is read, its host resolved and every address checked like
//! the first. Neither bodies nor headers that may be credentials follow to another origin.

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
use meantime_journey::surface::HTTP_DEADLINE;
use serde::Serialize;
use url::Url;

use super::dial::DialError;
use super::{Dialer, EgressPolicy, HostOverrides, address};
use crate::extract::json_depth;
use crate::observe::{call_span, record_status};
use crate::settings::EgressSettings;

/// Names the work to systems that de-duplicate.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How long the caller's instance has left, in milliseconds (D6).
const BUDGET_HEADER: HeaderName = HeaderName::from_static("meantime-budget-ms");

/// The headers that follow a redirect to another origin. Any other may be a credential: only the
/// definition knows which are.
const CROSS_ORIGIN_HEADERS: [HeaderName; 7] = [
    ACCEPT,
    ACCEPT_LANGUAGE,
    USER_AGENT,
    IDEMPOTENCY_KEY,
    BUDGET_HEADER,
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];

/// What a call may take.
#[derive(Debug, Clone)]
pub(super) struct CallLimits {
    /// Until it is over.
    pub(super) timeout: Duration,
    /// Whether that is what is left until the deadline.
    pub(super) is_deadline: bool,
    /// What the instance has left.
    pub(super) budget_ms: Option<u64>,
    /// The name of the work.
    pub(super) idempotency_key: String,
}

/// A call to make.
#[derive(Debug, Clone)]
pub(super) struct OutboundRequest {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<Json>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutboundResponse {
    pub(super) status: u16,
    /// By names in lower case.
    pub(super) headers: BTreeMap<String, HeaderField>,
    /// The body, or why it cannot be kept unchanged.
    pub(super) body: Result<Json, String>,
}

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum HeaderField {
    /// Several values are one, with commas between them (RFC 9110, section 5.3).
    Text(String),
    /// `Set-Cookie`: its values have commas of their own.
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

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpError {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Whether it may work the next time.
    pub(super) retryable: bool,
}

impl HttpError {
    pub(super) fn new(code: &'static str, message: impl Into<String>, retryable: bool) -> Self {
        Self { code, message: message.into(), retryable }
    }
}

/// Makes calls.
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

    /// Makes a call, within what it may take.
    pub(super) async fn call(
        &self,
        call: OutboundRequest,
        limits: CallLimits,
    ) -> Result<OutboundResponse, HttpError> {
        let (timeout, is_deadline) = (limits.timeout, limits.is_deadline);
        let answered =
            tokio::time::timeout(timeout, self.send_following_redirects(call, &limits)).await;
        answered.unwrap_or_else(|_| {
            let text = format!("no answer within {} ms", timeout.as_millis());
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
            .map_err(|_| invalid(format!("{:?} is no method", call.method)))?;
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
                    // It would repeat the body elsewhere: whoever made the call decides.
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
                let text = format!("the answer has more than {limit} bytes");
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

/// The headers and the body of a call.
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

/// Where an answer leads, if it is a redirect.
fn redirect_target(url: &Url, response: &Response<Incoming>) -> Result<Option<Url>, String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| is_redirect);
    let Some(location) = location else { return Ok(None) };
    let location = location.to_str().map_err(|_| "a redirect leads nowhere".to_owned())?;
    address::resolve_redirect(url, location).map(Some)
}

/// Whether a redirect asks for the other page instead of repeating the request there.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    let is_plain = method == Method::GET || method == Method::HEAD;
    !is_plain && matches!(status.as_u16(), 301..=303)
}

/// Headers as tasks see them.
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

/// JSON if the answer says it is and it is; otherwise the text; null if it is empty. JSON that
/// cannot be kept unchanged is an error, never something else.
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
    if json_depth(text.as_bytes()) > max_json_depth {
        return Err(format!("the JSON is nested deeper than {max_json_depth} levels"));
    }
    match Json::parse(text) {
        Ok(json) => Ok(json),
        Err(error) if error.is_json() => Err(error.to_string()),
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
