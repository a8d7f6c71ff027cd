//! TLS of inbound connections: certificates from files, and client certificates.
//!
//! ```text
//!   connection ─► have the files changed? ── yes ─► read them ─► good: used from now on
//!                          │ no                        └─► bad: a warning, the old ones stay
//!                          └─► handshake ─► HTTP, with the certificate of the client, if any
//! ```
//!
//! The files are checked at every handshake, so that nothing has to poll; open connections keep
//! their certificate.

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::http2;
use crate::settings::{ClientCertificates, TlsSettings};

/// Why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A required setting is missing.
    #[error("`tls.cert` and `tls.key` belong together, and `tls.client_ca` needs both")]
    Incomplete,
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error while reading it.
        #[source]
        source: pem::Error,
    },
    /// A file contains no certificate.
    #[error("{}: the file contains no certificate", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not match, or rustls rejects them.
    #[error("{}: {source}", path.display())]
    Unusable {
        /// The certificate, or the authority of clients.
        path: PathBuf,
        /// The error of rustls.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Checks that the configured files can be used.
pub fn check_tls(settings: &TlsSettings) -> Result<(), TlsError> {
    Tls::load(settings).map(drop)
}

/// A verified client certificate: issued by the configured authority, valid now, and the client has
/// its key.
#[derive(Debug, Clone)]
pub(crate) struct ClientCertificate(Arc<CertificateInfo>);

#[derive(Debug)]
struct CertificateInfo {
    certificate: CertificateDer<'static>,
    fingerprint: String,
}

impl ClientCertificate {
    fn new(certificate: &CertificateDer<'_>) -> Self {
        let digest = Sha256::digest(certificate);
        let fingerprint = digest.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let certificate = certificate.clone().into_owned();
        Self(Arc::new(CertificateInfo { certificate, fingerprint }))
    }

    /// SHA-256 of the certificate, in hex.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    /// The certificate itself, as DER.
    #[cfg_attr(not(test), expect(dead_code, reason = "journeys will ask who has called"))]
    pub(crate) fn der(&self) -> &[u8] {
        &self.0.certificate
    }
}

/// The certificates, reloaded when their files change.
pub(crate) struct Tls {
    files: TlsFiles,
    loaded: Mutex<LoadedTls>,
}

#[derive(Debug)]
struct TlsFiles {
    cert: PathBuf,
    key: PathBuf,
    clients: Option<(PathBuf, ClientCertificates)>,
}

struct LoadedTls {
    config: Arc<ServerConfig>,
    stamps: Vec<FileStamp>,
}

/// Changes when a file changes: inode, size and modification time.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp(Option<(u64, u64, i64, i64)>);

impl Tls {
    /// Reads the configured files; none if TLS is not configured.
    pub(crate) fn load(settings: &TlsSettings) -> Result<Option<Self>, TlsError> {
        let TlsSettings { cert, key, client_ca, clients, .. } = settings;
        let files = match (cert, key) {
            (Some(cert), Some(key)) => {
                let clients = client_ca.clone().map(|path| (path, *clients));
                TlsFiles { cert: cert.clone(), key: key.clone(), clients }
            }
            (None, None) if client_ca.is_none() => return Ok(None),
            _ => return Err(TlsError::Incomplete),
        };
        let stamps = files.stamps();
        let config = files.read()?;
        Ok(Some(Self { files, loaded: Mutex::new(LoadedTls { config, stamps }) }))
    }

    /// Performs the TLS handshake with the current certificates.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        stream: TcpStream,
    ) -> io::Result<(TlsStream<TcpStream>, Option<ClientCertificate>)> {
        let tls = self.clone();
        // File access may block, so not on the reactor.
        let config = tokio::task::spawn_blocking(move || tls.current()).await;
        let config = config.map_err(io::Error::other)?;
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let shown = shown.map(ClientCertificate::new);
        Ok((stream, shown))
    }

    /// The configuration from the files, or the last valid one.
    fn current(&self) -> Arc<ServerConfig> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.files.stamps();
        if stamps != loaded.stamps {
            match self.files.read() {
                Ok(config) => {
                    tracing::info!(cert = %self.files.cert.display(), "certificates reloaded");
                    loaded.config = config;
                }
                Err(error) => {
                    tracing::warn!(%error, "the new certificates cannot be used; the old ones stay");
                }
            }
            // Invalid files are not read again until they change.
            loaded.stamps = stamps;
        }
        loaded.config.clone()
    }
}

impl TlsFiles {
    fn stamps(&self) -> Vec<FileStamp> {
        let clients = self.clients.as_ref().map(|(path, _)| path);
        [&self.cert, &self.key].into_iter().chain(clients).map(|path| FileStamp::of(path)).collect()
    }

    fn read(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let chain = certificates(&self.cert)?;
        let key = PrivateKeyDer::from_pem_file(&self.key);
        let key = key.map_err(|source| TlsError::File { path: self.key.clone(), source })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |path: &Path, source: Box<dyn std::error::Error + Send + Sync>| {
            TlsError::Unusable { path: path.to_owned(), source }
        };
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|error| unusable(&self.cert, error.into()))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some((path, clients)) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| unusable(path, error.into()))?;
                }
                let mut verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                if *clients == ClientCertificates::Optional {
                    verifier = verifier.allow_unauthenticated();
                }
                let verifier = verifier.build().map_err(|error| unusable(path, error.into()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| unusable(&self.cert, error.into()))?;
        config.alpn_protocols = vec![http2::ALPN.to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let file_error = |source| TlsError::File { path: path.to_owned(), source };
    let found = CertificateDer::pem_file_iter(path).map_err(file_error)?;
    let found: Vec<_> = found.collect::<Result<_, _>>().map_err(file_error)?;
    if found.is_empty() { Err(TlsError::Empty { path: path.to_owned() }) } else { Ok(found) }
}

impl FileStamp {
    fn of(path: &Path) -> Self {
        let found = path.metadata().ok();
        Self(found.map(|it| (it.ino(), it.len(), it.mtime(), it.mtime_nsec())))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
    use rustls::ClientConfig;
    use rustls::pki_types::ServerName;
    use tokio::net::TcpListener;
    use tokio_rustls::TlsConnector;

    use super::*;

    /// Request handlers can get the client certificate, which has been verified.
    #[tokio::test]
    async fn the_certificate_of_a_client_is_known_after_the_handshake() {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = || KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key()).expect("an authority");
        let issue = |usage| {
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("names");
            params.extended_key_usages = vec![usage];
            let key = key();
            (params.signed_by(&key, &authority).expect("a certificate"), key)
        };
        let (cert, cert_key) = issue(ExtendedKeyUsagePurpose::ServerAuth);
        let (client, client_key) = issue(ExtendedKeyUsagePurpose::ClientAuth);
        let directory = tempfile::tempdir().expect("a directory");
        let put = |name: &str, text: String| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("written");
            Some(path)
        };
        let tls = Tls::load(&TlsSettings {
            cert: put("cert", cert.pem()),
            key: put("key", cert_key.serialize_pem()),
            client_ca: put("ca", authority.pem()),
            ..TlsSettings::default()
        });
        let tls = Arc::new(tls.ok().flatten().expect("good files"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_client_auth_cert(
                vec![client.der().clone()],
                PrivateKeyDer::try_from(client_key.serialize_der()).expect("a key"),
            );
        let connector = TlsConnector::from(Arc::new(config.expect("a client")));
        let calls = async {
            let stream = TcpStream::connect(address).await.expect("a connection");
            connector.connect(ServerName::try_from("localhost").expect("a name"), stream).await
        };
        let answers = async {
            let (stream, _) = listener.accept().await.expect("a connection");
            tls.accept(stream).await
        };
        let (called, answered) = tokio::join!(calls, answers);
        called.expect("connected");
        let shown = answered.expect("connected").1.expect("a certificate");
        assert_eq!(shown.der(), &client.der()[..]);
        let expected = ring::digest::digest(&ring::digest::SHA256, client.der());
        assert_eq!(format!("{expected:?}"), format!("SHA256:{}", shown.fingerprint()));
    }
}
