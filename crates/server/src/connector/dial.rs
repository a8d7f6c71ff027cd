//! Opens outbound connections: resolves the name, checks every address against the egress policy,
//! connects to a permitted one, and uses TLS for `https`.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use super::{EgressPolicy, HostOverrides};

/// Why a connection cannot be opened, with the host.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The egress policy permits none of its addresses.
    #[error("{0} may not be called")]
    Forbidden(String),
    /// The name has no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// Connecting took longer than the time limit.
    #[error("{0} did not answer in time")]
    TimedOut(String),
    /// Connecting failed.
    #[error("{host}: {source}")]
    Io {
        /// The host that was called.
        host: String,
        /// The error of the socket or of TLS.
        #[source]
        source: io::Error,
    },
}

/// Opens connections that the egress policy permits.
#[derive(Clone)]
pub struct Dialer {
    policy: Arc<EgressPolicy>,
    overrides: Arc<HostOverrides>,
    /// Certificate authorities in addition to those of this machine.
    authorities: Arc<Vec<CertificateDer<'static>>>,
    timeout: Duration,
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Dialer {
    /// A dialer with a time limit for connecting.
    pub fn new(policy: EgressPolicy, timeout: Duration) -> Self {
        let (overrides, authorities) = (Arc::default(), Arc::default());
        let tls = Arc::new(OnceLock::new());
        Self { policy: Arc::new(policy), overrides, authorities, timeout, tls }
    }

    /// Overrides the addresses of some hosts.
    #[must_use]
    pub fn with_overrides(mut self, overrides: HostOverrides) -> Self {
        self.overrides = Arc::new(overrides);
        self
    }

    /// Also trusts the certificate authorities in a PEM file.
    pub fn with_authorities(mut self, file: Option<&Path>) -> Result<Self, String> {
        let Some(file) = file else { return Ok(self) };
        let wrong = |error: String| format!("egress.ca_file {}: {error}", file.display());
        let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
        let read = read.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(error.to_string()))?;
        if read.is_empty() {
            return Err(wrong("it has no certificate".to_owned()));
        }
        self.authorities = Arc::new(read);
        Ok(self)
    }

    async fn dial(self, uri: Uri) -> Result<MaybeTlsStream, DialError> {
        let secure = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
        let connect = async {
            let instead = self.overrides.find(&host);
            let stream = match instead {
                Some(to) => connect_to(&to.host, to.port.unwrap_or(port), |_| true).await?,
                None => connect_to(&host, port, |it| self.policy.permits(it)).await?,
            };
            let secure = secure && !instead.is_some_and(|to| to.is_plain);
            if secure { self.encrypt(&host, stream).await } else { Ok(plain(stream)) }
        };
        let connected = tokio::time::timeout(self.timeout, connect).await;
        connected.unwrap_or_else(|_| Err(DialError::TimedOut(host.clone())))
    }

    async fn encrypt(&self, host: &str, stream: TcpStream) -> Result<MaybeTlsStream, DialError> {
        let failed = |source| DialError::Io { host: host.to_owned(), source };
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|error| failed(io::Error::other(error)))?;
        let connector = TlsConnector::from(self.tls().map_err(failed)?);
        let stream = connector.connect(name, stream).await.map_err(failed)?;
        Ok(MaybeTlsStream::Tls(Box::new(TokioIo::new(stream))))
    }

    /// The TLS configuration; certificates of this machine are read on first use.
    fn tls(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(known) = self.tls.get() {
            return Ok(known.clone());
        }
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        for authority in self.authorities.iter() {
            roots.add(authority.clone()).map_err(io::Error::other)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(self.tls.get_or_init(|| Arc::new(config)).clone())
    }
}

impl Service<Uri> for Dialer {
    type Response = MaybeTlsStream;
    type Error = DialError;
    type Future = Pin<Box<dyn Future<Output = Result<MaybeTlsStream, DialError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().dial(uri))
    }
}

/// Connects to the first permitted address that answers. The addresses are resolved once, so that
/// the checked address is the one that is connected to (no DNS rebinding).
async fn connect_to(
    host: &str,
    port: u16,
    permits: impl Fn(SocketAddr) -> bool,
) -> Result<TcpStream, DialError> {
    let failed = |source| DialError::Io { host: host.to_owned(), source };
    let found = tokio::net::lookup_host((host, port)).await.map_err(failed)?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err(DialError::NoAddress(host.to_owned()));
    }
    let mut last = DialError::Forbidden(host.to_owned());
    for address in found.into_iter().filter(|address| permits(*address)) {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Requests are written at once; Nagle's algorithm would only delay them.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(source) => last = DialError::Io { host: host.to_owned(), source },
        }
    }
    Err(last)
}

fn plain(stream: TcpStream) -> MaybeTlsStream {
    MaybeTlsStream::Plain(TokioIo::new(stream))
}

/// A TCP connection with or without TLS.
pub enum MaybeTlsStream {
    /// Without TLS.
    Plain(TokioIo<TcpStream>),
    /// With TLS.
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for MaybeTlsStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for MaybeTlsStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_read(cx, buffer),
        }
    }
}

impl Write for MaybeTlsStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
        }
    }
}
