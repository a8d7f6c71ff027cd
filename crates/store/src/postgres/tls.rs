//! TLS to the server, with the parameters and meanings of libpq.
//!
//! | `sslmode` | encrypted | certificate |
//! |---|---|---|
//! | `disable` | no | |
//! | `prefer` (default) | if the server can; else not | not verified |
//! | `require` | yes | as `verify-ca` if `sslrootcert` is given, else not verified |
//! | `verify-ca` | yes | signed by a certificate in `sslrootcert` |
//! | `verify-full` | yes | the same, and made for the host of the address |
//!
//! `sslcert` and `sslkey` name the client's certificate and key. All files are PEM and are read for
//! every new connection, so that a renewed certificate needs no restart. As in libpq the parameters
//! have no effect on Unix sockets.

use std::future::Future;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use meantime_kernel::store::Error;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::config::{Config, Host, SslMode};
use tokio_postgres::tls::{self, ChannelBinding, MakeTlsConnect, TlsConnect};

/// The value of `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// The TLS parameters of an address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TlsParameters {
    mode: Mode,
    root_certificates: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl TlsParameters {
    /// Removes the TLS parameters from an address; the driver does not know all of them.
    pub(super) fn split(address: &str) -> Result<(String, Self), Error> {
        let mut parameters = Self::default();
        let is_url = ["postgres://", "postgresql://"].iter().any(|it| address.starts_with(it));
        let rest = if is_url {
            parameters.take_from_url(address)?
        } else {
            parameters.take_from_pairs(address)?
        };
        if parameters.certificate.is_some() != parameters.key.is_some() {
            return Err(invalid("sslcert and sslkey belong together"));
        }
        Ok((rest, parameters))
    }

    fn take_from_url(&mut self, address: &str) -> Result<String, Error> {
        let Some((start, query)) = address.split_once('?') else { return Ok(address.to_owned()) };
        let mut rest = Vec::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !self.take(name, &percent_decoded(value)?)? {
                rest.push(pair);
            }
        }
        if rest.is_empty() {
            Ok(start.to_owned())
        } else {
            Ok(format!("{start}?{}", rest.join("&")))
        }
    }

    fn take_from_pairs(&mut self, address: &str) -> Result<String, Error> {
        let mut rest = String::new();
        let mut left = address.trim_start();
        while !left.is_empty() {
            let (name, after) =
                left.split_once('=').ok_or_else(|| invalid("a name without `=`"))?;
            let (value, length) = value(after.trim_start())?;
            let end = left.len() - after.trim_start().len() + length;
            let (pair, next) = left.split_at(end);
            if !self.take(name.trim(), &value)? {
                rest.push_str(pair);
                rest.push(' ');
            }
            left = next.trim_start();
        }
        Ok(rest)
    }

    /// Reads one parameter; returns whether it concerns TLS.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, Error> {
        let path = Some(PathBuf::from(value)).filter(|_| !value.is_empty());
        match name {
            "sslmode" => {
                self.mode = match value {
                    "disable" => Mode::Disable,
                    "prefer" => Mode::Prefer,
                    "require" => Mode::Require,
                    "verify-ca" => Mode::VerifyCa,
                    "verify-full" => Mode::VerifyFull,
                    _ => {
                        let modes = "disable, prefer, require, verify-ca, verify-full";
                        return Err(invalid(&format!("sslmode {value:?} is none of {modes}")));
                    }
                }
            }
            "sslrootcert" => self.root_certificates = path,
            "sslcert" => self.certificate = path,
            "sslkey" => self.key = path,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Tells the driver whether to request TLS.
    pub(super) fn set_mode(&self, config: &mut Config) {
        let is_local = |host: &Host| matches!(host, Host::Unix(_));
        let is_local = config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(is_local);
        config.ssl_mode(match self.mode {
            _ if is_local => SslMode::Disable,
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
    }

    /// Whether a connection without TLS may be tried after one with TLS failed.
    pub(super) fn may_fall_back(&self) -> bool {
        self.mode == Mode::Prefer
    }

    /// Reads the files.
    pub(super) fn connector(&self) -> Result<TlsConnector, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = self.verifier(&provider)?;
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().map_err(|it| tls_error(&it))?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let (chain, key) = (certificates(certificate)?, private_key(key)?);
                builder.with_client_auth_cert(chain, key).map_err(|error| tls_error(&error))?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(TlsConnector { config: Arc::new(config) })
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<Verifier>, Error> {
        let mode = match (self.mode, &self.root_certificates) {
            (Mode::Require, Some(_)) => Mode::VerifyCa,
            (mode, _) => mode,
        };
        let mut verifier = Verifier {
            provider: Arc::clone(provider),
            chain: None,
            roots: Vec::new(),
            names: false,
        };
        if matches!(mode, Mode::VerifyCa | Mode::VerifyFull) {
            let path = self.root_certificates.as_ref();
            let path = path.ok_or_else(|| invalid("verifying needs sslrootcert"))?;
            verifier.roots = certificates(path)?;
            let mut store = RootCertStore::empty();
            let (added, _) = store.add_parsable_certificates(verifier.roots.iter().cloned());
            if added == 0 {
                return Err(invalid(&format!("{}: no certificate", path.display())));
            }
            let chain =
                WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider));
            verifier.chain = Some(chain.build().map_err(|error| invalid(&error.to_string()))?);
            verifier.names = mode == Mode::VerifyFull;
        }
        Ok(Arc::new(verifier))
    }
}

/// The value of a pair, and the length of its text.
fn value(text: &str) -> Result<(String, usize), Error> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, it)| it)),
            '\'' if is_quoted => return Ok((value, at + 1)),
            it if it.is_whitespace() && !is_quoted => return Ok((value, at)),
            it => value.push(it),
        }
    }
    if is_quoted { Err(invalid("a quoted value has no end")) } else { Ok((value, text.len())) }
}

fn percent_decoded(text: &str) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let mut left = text.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        let digits = rest.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        match (first, digits.and_then(|it| u8::from_str_radix(it, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                left = rest.get(2..).unwrap_or_default();
            }
            (byte, _) => {
                bytes.push(*byte);
                left = rest;
            }
        }
    }
    String::from_utf8(bytes).map_err(|_| invalid("a value is not UTF-8"))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let unreadable = |error| invalid(&format!("{}: {error}", path.display()));
    CertificateDer::pem_file_iter(path)
        .map_err(unreadable)?
        .collect::<Result<_, _>>()
        .map_err(unreadable)
}

/// Reads a key. Like libpq, it refuses a key that others can read.
fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    let unreadable =
        |error: &dyn std::fmt::Display| invalid(&format!("{}: {error}", path.display()));
    let found = std::fs::metadata(path).map_err(|error| unreadable(&error))?;
    let allowed = if found.uid() == 0 { 0o740 } else { 0o700 };
    if found.mode() & 0o777 & !allowed != 0 {
        return Err(unreadable(&"other users can read the private key"));
    }
    PrivateKeyDer::from_pem_file(path).map_err(|error| unreadable(&error))
}

fn invalid(text: &str) -> Error {
    Error::Unavailable(format!("TLS to the database: {text}"))
}

fn tls_error(error: &rustls::Error) -> Error {
    invalid(&error.to_string())
}

/// Verifies the server's certificate as far as `sslmode` requires. Signatures of the handshake are
/// always verified.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Verifies chain and name; `None` accepts every certificate.
    chain: Option<Arc<WebPkiServerVerifier>>,
    roots: Vec<CertificateDer<'static>>,
    /// Whether the name must match.
    names: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        // A self-signed certificate may be its own root.
        if self.roots.contains(end_entity) {
            if self.names {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        let verified =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is checked when the chain is verified.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.names => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Creates TLS streams for the driver.
#[derive(Clone)]
pub(super) struct TlsConnector {
    config: Arc<ClientConfig>,
}

impl MakeTlsConnect<Socket> for TlsConnector {
    type Stream = TlsStream;
    type TlsConnect = TlsToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<TlsToHost, io::Error> {
        // Unix sockets have no name and never reach this code with TLS.
        let name = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        Ok(TlsToHost { config: Arc::clone(&self.config), name })
    }
}

/// A handshake with one host.
pub(super) struct TlsToHost {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for TlsToHost {
    type Stream = TlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let connector = tokio_rustls::TlsConnector::from(self.config);
        Box::pin(async move { Ok(TlsStream(connector.connect(self.name, socket).await?)) })
    }
}

/// A socket inside TLS.
pub(super) struct TlsStream(tokio_rustls::client::TlsStream<Socket>);

impl tls::TlsStream for TlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(address: &str) -> (String, TlsParameters) {
        TlsParameters::split(address).expect("a good address")
    }

    #[test]
    fn parameters_are_taken_out_of_both_kinds_of_addresses() {
        let expected = TlsParameters {
            mode: Mode::VerifyFull,
            root_certificates: Some("/a b/ca.pem".into()),
            certificate: Some("c.pem".into()),
            key: Some("k.pem".into()),
        };
        let url = "postgres://u:p%40@h/d?sslmode=verify-full&sslrootcert=/a%20b/ca.pem\
                   &connect_timeout=3&sslcert=c.pem&sslkey=k.pem";
        assert_eq!(
            split(url),
            ("postgres://u:p%40@h/d?connect_timeout=3".into(), expected.clone())
        );
        let pairs = "host=h sslmode = verify-full sslrootcert='/a b/ca.pem' password='it\\'s' \
                     sslcert=c.pem sslkey=k.pem";
        assert_eq!(split(pairs), (r"host=h password='it\'s' ".into(), expected));
        let plain = "postgres://u@h/d";
        assert_eq!(split(plain), (plain.into(), TlsParameters::default()));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for address in [
            "host=h sslmode=allow",
            "host=h sslmode='require",
            "postgres://h/d?sslmode=yes",
            "host=h sslcert=c.pem",
        ] {
            assert!(TlsParameters::split(address).is_err(), "{address}");
        }
        let (_, parameters) = split("host=h sslmode=verify-ca");
        assert!(parameters.connector().is_err(), "there is nothing to verify with");
    }
}
