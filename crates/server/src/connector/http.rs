//! Outbound HTTP calls: bounded in time, size and redirects, and guarded at every hop.
//!
//! A redirect is a new call: its address is read, its host resolved and every address checked like
//! the first. Neither bodies nor headers that may be credentials follow to another origin.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LOCATION, USER_AGENT,
};
use axum::http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use meantime_core::Json;

use super::dial::DialError;
use super::{Dialer, Guard, address};
use crate::observe::{answered, call_span};
use crate::settings::EgressSettings;

/// Names the work to systems that de-duplicate.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How long the caller's instance has left, in milliseconds (D6).
const BUDGET: HeaderName = HeaderName::from_static("meantime-budget-ms");

/// The headers that follow a redirect to another origin. Any other may be a credential: only the
/// definition knows which are.
const FOLLOWING: [HeaderName; 7] = [
    ACCEPT,
    ACCEPT_LANGUAGE,
    USER_AGENT,
    IDEMPOTENCY_KEY,
    BUDGET,
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];

/// What a call may take.
#[derive(Debug, Clone)]
pub(super) struct Allowance {
    /// Until it is over.
    pub(super) timeout: Duration,
    /// What the instance has left.
    pub(super) budget_ms: Option<u64>,
    /// The name of the work.
    pub(super) idempotency_key: String,
}

/// A call to make.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<Json>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Json,
}

/// Why nothing came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Whether it may work the next time.
    pub(super) retryable: bool,
}

impl Trouble {
    pub(super) fn new(code: &'static str, message: impl Into<String>, retryable: bool) -> Self {
        Self { code, message: message.into(), retryable }
    }
}

/// Makes calls.
pub(super) struct Outbound {
    client: Client<Dialer, Full<Bytes>>,
    settings: EgressSettings,
}

impl Outbound {
    pub(super) fn new(guard: Guard, settings: &EgressSettings) -> Self {
        let dialer = Dialer::new(guard, settings.connect_timeout.into());
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(8)
            .http1_max_buf_size(64 << 10)
            .build(dialer);
        Self { client, settings: settings.clone() }
    }

    /// Makes a call, within what it may take.
    pub(super) async fn call(&self, call: Call, allowance: Allowance) -> Result<Answer, Trouble> {
        let timeout = allowance.timeout;
        let answered = tokio::time::timeout(timeout, self.follow(call, &allowance)).await;
        answered.unwrap_or_else(|_| {
            let text = format!("no answer within {} ms", timeout.as_millis());
            Err(Trouble::new("HTTP_TIMEOUT", text, true))
        })
    }

    async fn follow(&self, call: Call, allowance: &Allowance) -> Result<Answer, Trouble> {
        let invalid = |text: String| Trouble::new("HTTP_INVALID", text, false);
        let mut uri = address::read(&call.url).map_err(invalid)?;
        let mut method = Method::from_bytes(call.method.as_bytes())
            .map_err(|_| invalid(format!("{:?} is no method", call.method)))?;
        let (mut headers, mut body) = prepare(&call, allowance).map_err(invalid)?;
        let span = call_span(method.as_str(), uri.host().unwrap_or_default(), &mut headers);
        for _ in 0..=self.settings.redirects {
            let mut request = Request::new(Full::new(body.clone()));
            (*request.method_mut(), *request.uri_mut()) = (method.clone(), uri.clone());
            *request.headers_mut() = headers.clone();
            let response = self.client.request(request).await.map_err(|error| trouble(&error))?;
            answered(&span, response.status().as_u16());
            let Some(next) = redirected(&uri, &response).map_err(invalid)? else {
                return self.read(response).await;
            };
            if changes_method(response.status(), &method) {
                (method, body) = (Method::GET, Bytes::new());
                headers.remove(CONTENT_TYPE);
                headers.remove(CONTENT_LENGTH);
            }
            if !address::is_same_server(&uri, &next) {
                if !body.is_empty() {
                    // It would repeat the body elsewhere: whoever made the call decides.
                    return self.read(response).await;
                }
                headers = FOLLOWING
                    .into_iter()
                    .filter_map(|name| Some((headers.get(&name)?.clone(), name)))
                    .map(|(value, name)| (name, value))
                    .collect();
            }
            uri = next;
        }
        let text = format!("more than {} redirects", self.settings.redirects);
        Err(Trouble::new("HTTP_INVALID", text, false))
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, Trouble> {
        let (head, body) = response.into_parts();
        let limit = self.settings.response_bytes;
        let bytes = match Limited::new(body, limit).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let text = format!("the answer has more than {limit} bytes");
                return Err(Trouble::new("HTTP_TOO_LARGE", text, false));
            }
            Err(error) => return Err(Trouble::new("HTTP_INVALID", error.to_string(), true)),
        };
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in &head.headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers
                .entry(name.as_str().to_owned())
                .and_modify(|known| *known = format!("{known}, {value}"))
                .or_insert(value);
        }
        let body = body_of(&headers, &bytes);
        Ok(Answer { status: head.status.as_u16(), headers, body })
    }
}

/// The headers and the body of a call.
fn prepare(call: &Call, allowance: &Allowance) -> Result<(HeaderMap, Bytes), String> {
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
    if let Ok(key) = HeaderValue::from_str(&allowance.idempotency_key) {
        headers.entry(IDEMPOTENCY_KEY).or_insert(key);
    }
    if let Some(left) = allowance.budget_ms {
        headers.insert(BUDGET, HeaderValue::from(left));
    }
    Ok((headers, body))
}

/// Where an answer leads, if it is a redirect.
fn redirected(uri: &Uri, response: &Response<Incoming>) -> Result<Option<Uri>, String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| is_redirect);
    let Some(location) = location else { return Ok(None) };
    let location = location.to_str().map_err(|_| "a redirect leads nowhere".to_owned())?;
    address::join(uri, location).map(Some)
}

/// Whether a redirect asks for the other page instead of repeating the request there.
fn changes_method(status: StatusCode, method: &Method) -> bool {
    let is_plain = method == Method::GET || method == Method::HEAD;
    !is_plain && matches!(status.as_u16(), 301..=303)
}

/// JSON if the answer says it is and it is; otherwise the text; null if it is empty.
fn body_of(headers: &BTreeMap<String, String>, bytes: &[u8]) -> Json {
    let text = String::from_utf8_lossy(bytes);
    if text.is_empty() {
        return Json::null();
    }
    let kind = headers.get("content-type").map(String::as_str).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind.ends_with("+json");
    if is_json && let Ok(json) = Json::parse(&text) {
        return json;
    }
    Json::of(&text).unwrap_or_default()
}

fn trouble(error: &ClientError) -> Trouble {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if let Some(dial) = inner.downcast_ref::<DialError>() {
            return match dial {
                DialError::Refused(_) => Trouble::new("HTTP_REFUSED", dial.to_string(), false),
                DialError::Late(_) => Trouble::new("HTTP_TIMEOUT", dial.to_string(), true),
                DialError::Unknown(_) | DialError::Io { .. } => {
                    Trouble::new("HTTP_UNREACHABLE", dial.to_string(), true)
                }
            };
        }
        source = inner.source();
    }
    let code = if error.is_connect() { "HTTP_UNREACHABLE" } else { "HTTP_INVALID" };
    Trouble::new(code, error.to_string(), true)
}
