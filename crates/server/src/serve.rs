//! The sockets: who may connect, how slowly they may speak, and how everything ends.
//!
//! ```text
//!   accept ─► place among the connections ─► HTTP/1.1 with limits on head, time and idleness
//!     ▲                                            │
//!   stop: no new connections, no new requests on old ones, nobody waits, then the engine stops
//! ```

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use crate::app::App;
use crate::limit::Peer;
use crate::settings::{HttpSettings, Settings};

/// A server that listens and has not begun to answer.
pub struct Serving {
    listener: TcpListener,
    app: App,
}

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Everybody could do everything.
    #[error(
        "{0} can be reached from other machines and no credentials are configured; listen on \
         127.0.0.1, configure `auth`, or say --insecure"
    )]
    Open(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// An address that is taken. Nothing else has happened yet.
pub struct Listening(TcpListener);

impl Listening {
    /// Serves an engine there.
    pub fn serve(self, app: App) -> Serving {
        Serving { listener: self.0, app }
    }
}

/// Begins to listen. Without credentials only this machine is served, unless told otherwise.
pub async fn serve(app: App) -> Result<Serving, ListenError> {
    let listening = listen(app.settings()).await?;
    Ok(listening.serve(app))
}

/// Takes the address, before anything is made on disk: a server that is refused leaves no trace.
pub async fn listen(settings: &Settings) -> Result<Listening, ListenError> {
    let address = settings.listen;
    if !is_safe(settings) {
        return Err(ListenError::Open(address));
    }
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| ListenError::Io { address, source })?;
    Ok(Listening(listener))
}

fn is_safe(settings: &Settings) -> bool {
    settings.listen.ip().is_loopback() || settings.auth.is_configured() || settings.insecure
}

impl Serving {
    /// The address it listens on: the port is known even when any was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the future is over, then finishes what is under way.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, app } = self;
        let http = app.settings().http.clone();
        let places = Arc::new(Semaphore::new(http.connections));
        let connections = GracefulShutdown::new();
        let router = app.router();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = accept(&listener) => accepted,
            };
            let Some((stream, peer)) = accepted else { continue };
            let Ok(place) = places.clone().try_acquire_owned() else {
                // Closing at once is the cheapest way to say that there is no room.
                continue;
            };
            let router = router.clone();
            let service = service_fn(move |request: hyper::Request<Incoming>| {
                let mut request: Request = request.map(Body::new);
                request.extensions_mut().insert(Peer(peer));
                let router = router.clone();
                async move { Ok::<Response<Body>, Infallible>(answer(router, request).await) }
            });
            let connection =
                connection_builder(&http).serve_connection(TokioIo::new(stream), service);
            let connection = connections.watch(connection);
            tokio::spawn(async move {
                // A connection that breaks is its client's business.
                let _ = connection.await;
                drop(place);
            });
        }
        drop(listener);
        app.drain();
        let drained = tokio::time::timeout(http.drain.into(), connections.shutdown()).await;
        if drained.is_err() {
            tracing::warn!("connections that did not end in time were closed");
        }
    }
}

async fn answer(router: axum::Router, request: Request) -> Response<Body> {
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn connection_builder(http: &HttpSettings) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from(http.header_timeout))
        .max_headers(http.headers)
        .max_header_size(http.header_bytes)
        .half_close(false);
    builder
}

/// The next connection; none when there was trouble, after a moment of rest.
async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => {
            // Answers are written whole; waiting to fill a packet only makes them late.
            let _ = stream.set_nodelay(true);
            Some((stream, peer))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection was not accepted");
            rest().await;
            None
        }
    }
}

/// Too many open files heal when connections end; asking at once would only burn time.
#[expect(clippy::disallowed_methods, reason = "nothing tells when a file can be opened again")]
async fn rest() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Lets the process open as many files as the system allows it: every connection is one.
pub fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it fewer connections are served at a time; they are refused one by one.
    let _ = setrlimit(Resource::Nofile, limit);
}
