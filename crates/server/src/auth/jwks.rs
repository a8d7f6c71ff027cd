//! The signing keys of an identity provider (JWKS): fetched on demand, cached, and fetched again
//! when a token names an unknown key, at most once a minute.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use meantime_core::Timestamp;
use tokio::sync::Mutex;

use super::jwt::{self, SigningKey, TokenCheck, TokenIdentity};
use crate::connector::{Dialer, EgressPolicy};
use crate::settings::JwtSettings;

/// Maximum size of a key set.
const MAX_JWKS_BYTES: usize = 1 << 20;
/// Time limit for fetching a key set.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum time between two fetches: unknown key ids can be invented at will.
const MIN_REFRESH_INTERVAL_MS: i64 = 60_000;

/// Verifies tokens of one identity provider.
pub(crate) struct IdentityProvider {
    settings: JwtSettings,
    keys: RwLock<Arc<Vec<SigningKey>>>,
    fetched_at: Mutex<Option<Timestamp>>,
}

impl IdentityProvider {
    pub(crate) fn new(settings: JwtSettings) -> Self {
        let keys = RwLock::new(Arc::new(Vec::new()));
        Self { settings, keys, fetched_at: Mutex::new(None) }
    }

    pub(super) async fn identify(&self, token: &str, now: Timestamp) -> TokenIdentity {
        match jwt::identify(token, &self.keys(), &self.settings, now) {
            TokenIdentity::UnknownKey => {
                self.refresh(now).await;
                jwt::identify(token, &self.keys(), &self.settings, now)
            }
            identity => identity,
        }
    }

    /// Verifies a token and returns its claims, for journeys that check tokens themselves.
    pub(crate) async fn verify(&self, token: &str, now: Timestamp) -> TokenCheck {
        match jwt::verify(token, &self.keys(), &self.settings, now) {
            TokenCheck::UnknownKey => {
                self.refresh(now).await;
                jwt::verify(token, &self.keys(), &self.settings, now)
            }
            check => check,
        }
    }

    fn keys(&self) -> Arc<Vec<SigningKey>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn refresh(&self, now: Timestamp) {
        // Concurrent callers wait for the same fetch.
        let mut fetched_at = self.fetched_at.lock().await;
        if fetched_at.is_some_and(|at| now.saturating_since(at) < MIN_REFRESH_INTERVAL_MS) {
            return;
        }
        *fetched_at = Some(now);
        match fetch_keys(&self.settings.jwks).await.and_then(|text| jwt::read_keys(&text)) {
            Ok(keys) => {
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
            }
            Err(error) => {
                tracing::warn!(%error, jwks = self.settings.jwks, "cannot fetch the keys of the identity provider");
            }
        }
    }
}

/// Reads a file, or an address from the configuration, to which the egress policy does not apply.
async fn fetch_keys(location: &str) -> Result<String, String> {
    if !location.starts_with("http://") && !location.starts_with("https://") {
        return std::fs::read_to_string(location).map_err(|error| error.to_string());
    }
    let uri: Uri = location.parse().map_err(|_| "not an address".to_owned())?;
    let client: Client<Dialer, Full<Bytes>> = Client::builder(TokioExecutor::new())
        .build(Dialer::new(EgressPolicy::allow_all(), FETCH_TIMEOUT));
    let mut request = Request::new(Full::default());
    *request.uri_mut() = uri;
    let call = async {
        let response = client.request(request).await.map_err(|error| error.to_string())?;
        let body = Limited::new(response.into_body(), MAX_JWKS_BYTES).collect().await;
        body.map_err(|error| error.to_string())
    };
    let body = tokio::time::timeout(FETCH_TIMEOUT, call).await;
    let body = body.map_err(|_| "no answer in time".to_owned())??;
    String::from_utf8(body.to_bytes().to_vec()).map_err(|error| error.to_string())
}
