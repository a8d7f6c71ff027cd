//! Who a request comes from.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use meantime_core::Timestamp;
use meantime_kernel::history::By;

use super::jwks::Provider;
use super::jwt::Judged;
use super::key;
use crate::app::App;
use crate::settings::{AuthSettings, Role};

/// Somebody who was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// How history names them.
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
}

impl Caller {
    /// Somebody on this machine, when nobody is asked who they are.
    fn local() -> Self {
        Self { name: Arc::from("local"), role: Role::Admin }
    }

    pub(crate) fn is_local(&self) -> bool {
        *self == Self::local()
    }

    /// Who did something, and why.
    pub(crate) fn by(&self, reason: Option<String>) -> By {
        By { actor: self.name.to_string(), reason: reason.unwrap_or_default() }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Infallible> {
        // Nothing gets here without having passed the guard.
        let nobody = Self { name: Arc::from("nobody"), role: Role::Viewer };
        Ok(parts.extensions.get().cloned().unwrap_or(nobody))
    }
}

/// Knows callers by what they present.
pub(crate) struct Auth {
    settings: AuthSettings,
    provider: Option<Provider>,
}

impl Auth {
    pub(crate) fn new(settings: &AuthSettings) -> Self {
        let provider = settings.jwt.clone().map(Provider::new);
        Self { settings: settings.clone(), provider }
    }

    /// Whether anybody is asked who they are.
    pub(crate) fn is_configured(&self) -> bool {
        self.settings.is_configured()
    }

    /// The id of the key that is presented, if there is a key of that id, good or not. Ids that
    /// nobody has are all the same: they can be made up without end.
    pub(crate) fn named_key(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let id = key::id(bearer(headers)?)?;
        let known = self.settings.keys.iter().find(|key| key.id == id)?;
        Some(Arc::from(known.id.as_str()))
    }

    /// Who sent these headers, if they are known.
    pub(crate) async fn caller(&self, headers: &HeaderMap, now: Timestamp) -> Option<Caller> {
        if !self.is_configured() {
            return Some(Caller::local());
        }
        let presented = bearer(headers)?;
        if !key::is_key(presented) {
            return match self.provider.as_ref()?.judge(presented, now).await {
                Judged::Good(subject, role) => Some(Caller { name: Arc::from(subject), role }),
                Judged::UnknownKey | Judged::Bad => None,
            };
        }
        let key = key::find(&self.settings.keys, presented)?;
        let is_good = key.expires_at.is_none_or(|end| now < end);
        is_good.then(|| Caller { name: Arc::from(format!("key {}", key.id)), role: key.role })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
