//! The HTTP client of commands that talk to a server.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioExecutor;
use meantime_core::Source;
use meantime_server::{Dialer, EgressPolicy};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::show::Format;

const API_BASE: &str = "/api/v1";

/// The default of `--url`.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:8088";

/// Options of every command that talks to a server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerOptions {
    /// Address of the server
    #[arg(long, global = true, env = "MEANTIME_URL", default_value = DEFAULT_URL)]
    pub(crate) url: String,
    /// API key or token
    #[arg(long, global = true, env = "MEANTIME_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Output format
    #[arg(short = 'o', long, global = true, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Why a call failed: no connection, or an error response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("cannot reach {url}: {reason}\n  is a server running? `meantime dev` starts one")]
    Unreachable { url: String, reason: String },
    #[error("{code}: {detail}")]
    Refused { code: String, detail: String, body: Box<Value> },
}

impl ClientError {
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}

/// A blocking client: it owns a tokio runtime.
pub(crate) struct Client {
    runtime: Runtime,
    http: HyperClient<Dialer, Full<Bytes>>,
    url: String,
    token: Option<String>,
}

/// The body of a request.
pub(crate) enum RequestBody {
    Empty,
    Json(String),
    Source { media_type: &'static str, source: Source },
}

impl Client {
    pub(crate) fn new(target: &ServerOptions) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let dialer = Dialer::new(EgressPolicy::allow_all(), Duration::from_secs(10));
        let http = HyperClient::builder(TokioExecutor::new()).build(dialer);
        let url = target.url.trim_end_matches('/').to_owned();
        Ok(Self { runtime, http, url, token: target.token.clone() })
    }

    pub(crate) fn get(&self, path: &str) -> Result<Value> {
        self.call(Method::GET, path, RequestBody::Empty)
    }

    /// Returns a text that is not JSON, such as the source of a definition.
    pub(crate) fn get_text(&self, path: &str) -> Result<String> {
        self.runtime.block_on(async {
            let response = self.send(Method::GET, path, RequestBody::Empty).await?;
            let status = response.status();
            let body = response.into_body().collect().await.context("the response was cut off")?;
            let body = body.to_bytes();
            if status.is_success() {
                return String::from_utf8(body.to_vec()).context("the response is not text");
            }
            Err(refused(status, &body).into())
        })
    }

    /// Returns after so many seconds.
    pub(crate) fn pause(&self, seconds: u64) {
        let for_ever = std::future::pending::<()>();
        let wait = Duration::from_secs(seconds);
        self.runtime.block_on(async { tokio::time::timeout(wait, for_ever).await.ok() });
    }

    pub(crate) fn post(&self, path: &str, body: String) -> Result<Value> {
        self.call(Method::POST, path, RequestBody::Json(body))
    }

    /// Sends a request and returns the JSON of the response; an error status is an error.
    pub(crate) fn call(&self, method: Method, path: &str, sent: RequestBody) -> Result<Value> {
        self.runtime.block_on(async {
            let response = self.send(method, path, sent).await?;
            let status = response.status();
            let body = response.into_body().collect().await.context("the response was cut off")?;
            let body = body.to_bytes();
            if status.is_success() {
                // A success without a body has nothing to report.
                let text: &[u8] = if body.is_empty() { b"null" } else { &body };
                return serde_json::from_slice(text).context("the response is not JSON");
            }
            Err(refused(status, &body).into())
        })
    }

    /// Reads a list page by page, up to a maximum number of entries.
    pub(crate) fn list(&self, path: &str, max_items: usize) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mark = if path.contains('?') { '&' } else { '?' };
            let limit = (max_items - items.len()).min(1_000);
            let mut page = format!("{path}{mark}limit={limit}");
            if let Some(cursor) = &cursor {
                page = format!("{page}&cursor={}", percent_encode(cursor));
            }
            let answer = self.get(&page)?;
            items.extend(answer["items"].as_array().into_iter().flatten().cloned());
            cursor = answer["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() || items.len() >= max_items {
                items.truncate(max_items);
                return Ok(items);
            }
        }
    }

    /// Reads server-sent events until the stream ends or the callback returns false.
    pub(crate) fn follow(
        &self,
        path: &str,
        mut each: impl FnMut(&Value) -> Result<bool>,
    ) -> Result<()> {
        self.runtime.block_on(async {
            let response = self.send(Method::GET, path, RequestBody::Empty).await?;
            let mut body = response.into_body();
            let mut text = String::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.context("the server closed the stream")?;
                if let Some(bytes) = frame.data_ref() {
                    text.push_str(&String::from_utf8_lossy(bytes));
                }
                while let Some((event, rest)) = text.split_once("\n\n") {
                    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                    let event = data.and_then(|data| serde_json::from_str::<Value>(data).ok());
                    let goes_on = match event {
                        Some(event) => each(&event)?,
                        None => true,
                    };
                    if !goes_on {
                        return Ok(());
                    }
                    text = rest.to_owned();
                }
            }
            Ok(())
        })
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        sent: RequestBody,
    ) -> Result<Response<Incoming>> {
        let uri: Uri = format!("{}{API_BASE}{path}", self.url)
            .parse()
            .context("the address of the server is not valid")?;
        let mut request = Request::builder().method(method).uri(uri).header(ACCEPT, "*/*");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = match sent {
            RequestBody::Empty => String::new(),
            RequestBody::Json(text) => {
                request = request.header(CONTENT_TYPE, "application/json");
                text
            }
            RequestBody::Source { media_type, source } if source.files.is_empty() => {
                request = request.header(CONTENT_TYPE, media_type);
                source.text.to_string()
            }
            RequestBody::Source { media_type, source } => {
                let (kind, body) = multipart(media_type, &source);
                request = request.header(CONTENT_TYPE, kind);
                body
            }
        };
        let request = request.body(Full::new(Bytes::from(body)))?;
        self.http.request(request).await.map_err(|error| {
            let reason = anyhow::Error::new(error).root_cause().to_string();
            ClientError::Unreachable { url: self.url.clone(), reason }.into()
        })
    }
}

/// The error of an answer whose status is one.
fn refused(status: StatusCode, body: &[u8]) -> ClientError {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (code, detail) = (text("code"), text("detail"));
    let code = if code.is_empty() { status.to_string() } else { code };
    ClientError::Refused { code, detail, body: Box::new(value) }
}

/// Percent-encodes a text for a path segment or a query value.
pub(crate) fn percent_encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if plain(byte) {
            escaped.push(char::from(byte));
        } else {
            use std::fmt::Write as _;
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}

/// Encodes a source and its files as `multipart/form-data`: content type and body.
fn multipart(media_type: &str, source: &Source) -> (String, String) {
    let texts = || source.files.iter().map(|it| it.text.as_str()).chain([&*source.text]);
    // The boundary must not occur in any part.
    let mut boundary = "meantime".to_owned();
    while texts().any(|text| text.contains(&boundary)) {
        boundary.push('-');
        boundary.push_str(&boundary.len().to_string());
    }
    let mut body = String::new();
    let mut add = |disposition: String, kind: &str, text: &str| {
        body.push_str(&["--", &boundary, "\r\ncontent-disposition: form-data; "].concat());
        body.push_str(&[&disposition, "\r\ncontent-type: ", kind, "\r\n\r\n"].concat());
        body.push_str(&[text, "\r\n"].concat());
    };
    add("name=\"source\"".to_owned(), media_type, &source.text);
    for file in &source.files {
        let disposition = format!("name=\"file\"; filename=\"{}\"", file.name);
        add(disposition, "text/plain", &file.text);
    }
    body.push_str(&["--", &boundary, "--\r\n"].concat());
    (format!("multipart/form-data; boundary={boundary}"), body)
}
