//! The keys of an identity provider: fetched when they are needed, kept, fetched again when a token
//! names one that is not known, but not more often than once a minute.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use meantime_core::Timestamp;
use tokio::sync::Mutex;

use super::jwt::{self, Judged, Reading, SigningKey};
use crate::connector::{Dialer, Guard};
use crate::settings::JwtSettings;

const LARGEST: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE_MS: i64 = 60_000;

/// Judges tokens of one provider.
pub(crate) struct Provider {
    settings: JwtSettings,
    keys: RwLock<Arc<Vec<SigningKey>>>,
    asked_at: Mutex<Option<Timestamp>>,
}

impl Provider {
    pub(crate) fn new(settings: JwtSettings) -> Self {
        let keys = RwLock::new(Arc::new(Vec::new()));
        Self { settings, keys, asked_at: Mutex::new(None) }
    }

    pub(super) async fn judge(&self, token: &str, now: Timestamp) -> Judged {
        match jwt::judge(token, &self.keys(), &self.settings, now) {
            Judged::UnknownKey => {
                self.refresh(now).await;
                jwt::judge(token, &self.keys(), &self.settings, now)
            }
            judged => judged,
        }
    }

    /// The same in detail, for journeys that look at tokens themselves.
    pub(crate) async fn read(&self, token: &str, now: Timestamp) -> Reading {
        match jwt::read(token, &self.keys(), &self.settings, now) {
            Reading::UnknownKey => {
                self.refresh(now).await;
                jwt::read(token, &self.keys(), &self.settings, now)
            }
            reading => reading,
        }
    }

    fn keys(&self) -> Arc<Vec<SigningKey>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn refresh(&self, now: Timestamp) {
        // Those who come meanwhile wait for the same answer.
        let mut asked_at = self.asked_at.lock().await;
        if asked_at.is_some_and(|at| now.saturating_since(at) < PAUSE_MS) {
            return;
        }
        *asked_at = Some(now);
        match fetch(&self.settings.jwks).await.and_then(|text| jwt::read_keys(&text)) {
            Ok(keys) => {
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
            }
            Err(error) => tracing::warn!(%error, jwks = self.settings.jwks, "no keys"),
        }
    }
}

/// A file, or an address that the operator has chosen: no guard stands before it.
async fn fetch(place: &str) -> Result<String, String> {
    if !place.starts_with("http://") && !place.starts_with("https://") {
        return std::fs::read_to_string(place).map_err(|error| error.to_string());
    }
    let uri: Uri = place.parse().map_err(|_| "not an address".to_owned())?;
    let client: Client<Dialer, Full<Bytes>> =
        Client::builder(TokioExecutor::new()).build(Dialer::new(Guard::open(), PATIENCE));
    let mut request = Request::new(Full::default());
    *request.uri_mut() = uri;
    let call = async {
        let response = client.request(request).await.map_err(|error| error.to_string())?;
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        body.map_err(|error| error.to_string())
    };
    let body = tokio::time::timeout(PATIENCE, call).await;
    let body = body.map_err(|_| "no answer in time".to_owned())??;
    String::from_utf8(body.to_bytes().to_vec()).map_err(|error| error.to_string())
}
