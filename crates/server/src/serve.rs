//! The sockets: accepts connections, applies limits and timeouts, shuts down gracefully.
//!
//! ```text
//!   accept ─► connection permit ─► TLS, if configured ─► HTTP/1.1 or HTTP/2, with limits on head,
//!                                                        time and idle connections ─► router
//!   stop: no new connections, no new requests on open ones, all waits end, then the engine stops
//! ```

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::STRICT_TRANSPORT_SECURITY;
use axum::http::{HeaderValue, Response, StatusCode, Version};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;

use crate::app::App;
use crate::concurrency::is_about_health;
use crate::connection::{ConnectionLimit, ConnectionPermit};
use crate::http2::{self, Activity};
use crate::overload;
use crate::problem::{Problem, ProblemCode};
use crate::rate_limit::PeerAddress;
use crate::settings::{HttpSettings, Settings};
use crate::tls::{ClientCertificate, Tls, TlsError};

/// Time limit for the request head on a reserved connection.
const RESERVED_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that is bound to its address and does not serve yet.
pub struct BoundServer {
    listener: TcpListener,
    app: App,
    tls: Option<Tls>,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Unauthenticated remote access is not allowed.
    #[error(
        "{0} can be reached from other machines and no credentials are configured; listen on \
         127.0.0.1, configure `auth`, or pass --insecure"
    )]
    Open(SocketAddr),
    /// The TLS certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// The address.
        address: SocketAddr,
        /// The error of the socket.
        #[source]
        source: io::Error,
    },
}

/// A bound address, before the engine is started.
pub struct BoundListener {
    listener: TcpListener,
    tls: Option<Tls>,
}

impl BoundListener {
    /// The bound address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Combines the listener with an engine.
    pub fn serve(self, app: App) -> BoundServer {
        BoundServer { listener: self.listener, app, tls: self.tls }
    }
}

/// Binds the configured address. Without authentication only loopback addresses are allowed, unless
/// `insecure` is set.
pub async fn serve(app: App) -> Result<BoundServer, ListenError> {
    let listening = listen(app.settings()).await?;
    Ok(listening.serve(app))
}

/// Binds the address before the store is created, so that a server that may not listen leaves no
/// files.
pub async fn listen(settings: &Settings) -> Result<BoundListener, ListenError> {
    let address = settings.listen;
    if !is_authenticated_or_local(settings) {
        return Err(ListenError::Open(address));
    }
    let tls = Tls::load(&settings.tls)?;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| ListenError::Io { address, source })?;
    Ok(BoundListener { listener, tls })
}

fn is_authenticated_or_local(settings: &Settings) -> bool {
    settings.listen.ip().is_loopback() || settings.auth.is_configured() || settings.insecure
}

impl BoundServer {
    /// The bound address, with the actual port if port 0 was configured.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether it uses TLS.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some()
    }

    /// Serves until `stop` completes, then finishes the requests in flight.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, app, tls } = self;
        let http = app.settings().http.clone();
        let connections = ConnectionLimit::new(&http);
        let open = GracefulShutdown::new();
        let server = Arc::new(ConnectionHandler::new(app, tls));
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listener) => accepted,
            };
            let Some((stream, peer)) = accepted else { continue };
            let Some(permit) = connections.acquire(peer.ip()) else {
                // Closing the socket is the cheapest rejection.
                continue;
            };
            let connection = Connection { peer, permit, certificate: None };
            tokio::spawn(server.clone().handle(stream, connection, open.watcher()));
        }
        drop(listener);
        server.app.drain();
        let drained = tokio::time::timeout(http.drain_timeout.into(), open.shutdown()).await;
        if drained.is_err() {
            tracing::warn!("connections were closed after the drain timeout");
        }
    }
}

/// State shared by all connections.
struct ConnectionHandler {
    app: App,
    router: Router,
    http: HttpSettings,
    tls: Option<Arc<Tls>>,
    /// The value of `Strict-Transport-Security`.
    hsts: Option<HeaderValue>,
}

/// What a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

impl Protocol {
    fn of(is_http2: bool) -> Self {
        if is_http2 { Self::Http2 } else { Self::Http1 }
    }
}

/// A connection with its peer address and client certificate.
struct Connection {
    peer: SocketAddr,
    permit: ConnectionPermit,
    certificate: Option<ClientCertificate>,
}

impl ConnectionHandler {
    fn new(app: App, tls: Option<Tls>) -> Self {
        let seconds = Duration::from(app.settings().tls.hsts).as_secs();
        let hsts = (tls.is_some() && seconds > 0).then(|| format!("max-age={seconds}"));
        let hsts = hsts.and_then(|value| HeaderValue::from_str(&value).ok());
        let (router, http) = (app.router(), app.settings().http.clone());
        Self { app, router, http, tls: tls.map(Arc::new), hsts }
    }

    async fn handle(
        self: Arc<Self>,
        stream: TcpStream,
        mut connection: Connection,
        watcher: Watcher,
    ) {
        let limit = Duration::from(self.http.header_timeout);
        let Some(tls) = &self.tls else {
            let preface = tokio::select! {
                preface = tokio::time::timeout(limit, http2::has_preface(&stream)) => preface,
                // A connection that has sent nothing does not delay the stop.
                () = self.app.drain_started() => return,
            };
            if let Ok(Ok(is_http2)) = preface {
                self.serve_http(stream, connection, Protocol::of(is_http2), watcher).await;
            }
            return;
        };
        match tokio::time::timeout(limit, tls.accept(stream)).await {
            Ok(Ok((stream, certificate))) => {
                connection.certificate = certificate;
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(http2::ALPN);
                self.serve_http(stream, connection, Protocol::of(is_http2), watcher).await;
            }
            // Expected on public addresses, so only debug level.
            Ok(Err(error)) => {
                tracing::debug!(peer = %connection.peer, %error, "TLS handshake failed");
            }
            Err(_) => tracing::debug!(peer = %connection.peer, "TLS handshake timed out"),
        }
    }

    async fn serve_http(
        self: Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        connection: Connection,
        protocol: Protocol,
        watcher: Watcher,
    ) {
        let Connection { peer, permit, certificate } = connection;
        let is_reserved = permit.is_reserved;
        let (server, activity) = (self.clone(), Activity::new());
        let requests = activity.clone();
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            let refused = server.reject_early(&mut request, is_reserved);
            let mut request: Request = request.map(Body::new);
            if refused.is_none() {
                request.extensions_mut().insert(PeerAddress(peer));
                if let Some(certificate) = &certificate {
                    request.extensions_mut().insert(certificate.clone());
                }
            }
            let server = server.clone();
            // An HTTP/1.1 connection has one request at a time and a timeout of its own.
            let guard = (protocol == Protocol::Http2).then(|| requests.begin());
            async move {
                let mut response = match refused {
                    Some(refused) => refused,
                    None => server.route(request).await,
                };
                if let Some(hsts) = &server.hsts {
                    response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
                }
                Ok::<Response<Body>, Infallible>(match guard {
                    Some(guard) => guard.hold(response),
                    None => response,
                })
            }
        });
        let stream = TokioIo::new(stream);
        // Errors of the connection concern only its client.
        match protocol {
            Protocol::Http1 => {
                let http = self.connection_builder(is_reserved).serve_connection(stream, service);
                let _ = watcher.watch(http).await;
            }
            // Reserved connections are for single questions about health.
            Protocol::Http2 if is_reserved => {}
            Protocol::Http2 => {
                let http = http2::builder(&self.http).serve_connection(stream, service);
                tokio::select! {
                    _ = watcher.watch(http) => {}
                    () = activity.idle_for(self.http.header_timeout.into()) => {}
                }
            }
        }
        drop(permit);
    }

    /// The response to a request that is rejected by its request line.
    fn reject_early(
        &self,
        request: &mut hyper::Request<Incoming>,
        is_reserved: bool,
    ) -> Option<Response<Body>> {
        if request.version() == Version::HTTP_2 {
            // The library limits the size of the fields, not their number.
            if request.headers().len() > self.http.max_headers {
                return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into_response());
            }
            if let Err(problem) = http2::adopt_authority(request) {
                return Some(problem.into_response());
            }
        }
        let path = request.uri().path();
        if is_reserved && !is_about_health(path) {
            let text = "too many connections";
            return Some(Problem::new(ProblemCode::TooManyRequests, text).into_response());
        }
        overload::reject_early(&self.app, request.method(), path)
    }

    async fn route(&self, request: Request) -> Response<Body> {
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    fn connection_builder(&self, is_reserved: bool) -> http1::Builder {
        let http = &self.http;
        let timeout = Duration::from(http.header_timeout);
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(if is_reserved { timeout.min(RESERVED_TIMEOUT) } else { timeout })
            .keep_alive(!is_reserved)
            .max_headers(http.max_headers)
            .max_header_size(http.max_header_bytes)
            .half_close(false);
        builder
    }
}

/// Accepts a connection; after an error, none after a short pause.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Responses are written at once; Nagle's algorithm would only delay them.
            let _ = stream.set_nodelay(true);
            Some((stream, peer))
        }
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection");
            pause_after_accept_error().await;
            None
        }
    }
}

/// Too many open files is the usual error; it lasts until connections end, so retrying at once
/// would only burn CPU.
#[expect(clippy::disallowed_methods, reason = "nothing tells when a file can be opened again")]
async fn pause_after_accept_error() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Raises the limit of open files to the maximum that the system allows: every connection is a
/// file.
pub fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If it fails, the server accepts fewer connections.
    let _ = setrlimit(Resource::Nofile, limit);
}
