//! HTTP/2: many requests on one connection, such as the long polls of a worker.
//!
//! ```text
//!   TLS: chosen by ALPN ────────────────┐
//!   no TLS: the connection begins with ─┴─► one request for each stream ─► the same router
//!           the preface of HTTP/2
//!   idle for as long as an HTTP/1.1 connection may be ─► closed
//! ```

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::HOST;
use axum::http::{HeaderValue, Request, Response};
use hyper::body::{Frame, SizeHint};
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::problem::{Problem, ProblemCode};
use crate::settings::HttpSettings;

/// The name of HTTP/2 in TLS.
pub(crate) const ALPN: &[u8] = b"h2";

/// The first bytes of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

/// How long a peer has to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Whether a connection without TLS begins like HTTP/2. The bytes stay in the socket.
pub(crate) async fn has_preface(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; 4];
    let length = stream.peek(&mut first).await?;
    // Three letters decide: no method of HTTP/1.1 begins with `PRI`. Clients send the preface in
    // one piece, so one that arrives in single letters is not waited for.
    Ok(first.get(..length).is_some_and(|seen| seen.len() >= 3 && PREFACE.starts_with(seen)))
}

pub(crate) fn builder(http: &HttpSettings) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let header_bytes = u32::try_from(http.max_header_bytes).unwrap_or(u32::MAX);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(http.max_streams)
        .max_header_list_size(header_bytes)
        // A peer that has gone without a word, or stops within a frame, does not answer.
        .keep_alive_interval(Some(Duration::from(http.header_timeout)))
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Puts the authority of a request where HTTP/1.1 has it: in `Host`, which is what is checked.
pub(crate) fn adopt_authority<B>(request: &mut Request<B>) -> Result<(), Problem> {
    let Some(authority) = request.uri().authority() else { return Ok(()) };
    let host = request.headers().get(HOST);
    let is_other = host.is_some_and(|host| host.as_bytes() != authority.as_str().as_bytes());
    let value = HeaderValue::from_str(authority.as_str());
    match value {
        Ok(value) if !is_other && !authority.as_str().contains('@') => {
            request.headers_mut().insert(HOST, value);
            Ok(())
        }
        _ => {
            let text = "`:authority` is not one host, or `Host` names another one";
            Err(Problem::new(ProblemCode::InvalidHost, text))
        }
    }
}

/// The requests of a connection that are not answered to the end.
#[derive(Clone)]
pub(crate) struct Activity(watch::Sender<usize>);

impl Activity {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(0))
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(&self) -> ActivityGuard {
        self.0.send_modify(|open| *open += 1);
        ActivityGuard(self.0.clone())
    }

    /// Completes when the connection has had no request for this long.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        let mut open = self.0.subscribe();
        loop {
            // The sender is in `self`, so it is not gone.
            let _ = open.wait_for(|open| *open == 0).await;
            // A request that began and ended meanwhile is a change too.
            if tokio::time::timeout(limit, open.changed()).await.is_err() {
                return;
            }
        }
    }
}

/// A request that is not answered to the end.
pub(crate) struct ActivityGuard(watch::Sender<usize>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl ActivityGuard {
    /// Counts until the body of the response is sent: a stream of events may take long.
    pub(crate) fn hold(self, response: Response<Body>) -> Response<Body> {
        response.map(|body| Body::new(HeldBody { body, _guard: self }))
    }
}

/// A body with the guard of its request.
struct HeldBody {
    body: Body,
    _guard: ActivityGuard,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str, host: Option<&str>) -> Request<()> {
        let builder = Request::get(uri);
        let builder = host.into_iter().fold(builder, |builder, host| builder.header(HOST, host));
        builder.body(()).expect("a request")
    }

    #[test]
    fn the_authority_is_the_host() {
        let mut alone = request("http://localhost:8088/readyz", None);
        assert!(adopt_authority(&mut alone).is_ok());
        assert_eq!(alone.headers()[HOST], "localhost:8088");
        let mut same = request("http://localhost:8088/readyz", Some("localhost:8088"));
        assert!(adopt_authority(&mut same).is_ok());
        assert_eq!(same.headers().get_all(HOST).iter().count(), 1);
    }

    #[test]
    fn another_host_beside_the_authority_is_refused() {
        let other = Some("localhost:8088");
        assert!(adopt_authority(&mut request("http://evil.example/", other)).is_err());
        assert!(adopt_authority(&mut request("http://localhost:1@evil.example/", None)).is_err());
    }
}
