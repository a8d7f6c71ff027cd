//! Identifies the caller of a request.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use meantime_core::Timestamp;
use meantime_kernel::history::AuditInfo;

use super::jwks::IdentityProvider;
use super::jwt::TokenIdentity;
use super::key;
use crate::app::App;
use crate::settings::{AuthSettings, Role};

/// Carries an operator's key or token beside `Authorization`, which belongs to the journey on the
/// public surface.
const OPERATOR_KEY: HeaderName = HeaderName::from_static("x-meantime-key");

/// An authenticated caller, or an anonymous one where that is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The name in history and log.
    pub(crate) name: Arc<str>,
    /// The role; none for callers of public journeys, which authenticate them themselves.
    pub(crate) role: Option<Role>,
}

/// Why a caller cannot be identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthError {
    /// No credential, or one that is not valid here.
    InvalidCredentials,
    /// The key is correct and has expired.
    KeyExpired { name: String, at: Timestamp },
}

impl AuthError {
    /// The message for the caller. Only the owner of the whole key learns that it has expired.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::InvalidCredentials => "no valid credentials were sent".to_owned(),
            Self::KeyExpired { name, at } => format!("the key {name:?} expired at {at}"),
        }
    }
}

impl Caller {
    /// A caller on this machine, when authentication is not configured.
    fn local() -> Self {
        Self { name: Arc::from("local"), role: Some(Role::Admin) }
    }

    /// A caller of a public journey without operator credentials.
    pub(crate) fn public() -> Self {
        Self { name: Arc::from("public"), role: None }
    }

    /// Whether the name is shared by many callers, so that only addresses tell them apart.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.role.is_none() || *self == Self::local()
    }

    /// The actor and reason of a recorded operation.
    pub(crate) fn audit_info(&self, reason: Option<String>) -> AuditInfo {
        AuditInfo { actor: self.name.to_string(), reason: reason.unwrap_or_default() }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Infallible> {
        // The authentication middleware runs before every handler; this default has no permission.
        let anonymous = || Self { name: Arc::from("anonymous"), role: None };
        Ok(parts.extensions.get().cloned().unwrap_or_else(anonymous))
    }
}

/// Identifies callers by API keys and tokens.
pub(crate) struct Authenticator {
    settings: AuthSettings,
    provider: Option<IdentityProvider>,
}

impl Authenticator {
    pub(crate) fn new(settings: &AuthSettings) -> Self {
        let provider = settings.jwt.clone().map(IdentityProvider::new);
        Self { settings: settings.clone(), provider }
    }

    /// Whether authentication is configured.
    pub(crate) fn is_configured(&self) -> bool {
        self.settings.is_configured()
    }

    /// The id of the presented key, if a key of that id exists, whether or not it is correct.
    /// Unknown ids count as one, because callers can invent any number of them.
    pub(crate) fn presented_key_id(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let id = key::key_id(presented_credential(headers)?)?;
        let known = self.settings.keys.iter().find(|key| key.id == id)?;
        Some(Arc::from(known.id.as_str()))
    }

    /// Identifies the caller. `X-Meantime-Key` takes precedence over `Authorization`.
    pub(crate) async fn identify(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        if !self.is_configured() {
            return Ok(Caller::local());
        }
        let presented = presented_credential(headers).ok_or(AuthError::InvalidCredentials)?;
        if key::has_key_prefix(presented) {
            return self.caller_of_key(presented, now);
        }
        let provider = self.provider.as_ref().ok_or(AuthError::InvalidCredentials)?;
        match provider.identify(presented, now).await {
            TokenIdentity::Valid(subject, role) => {
                Ok(Caller { name: Arc::from(subject), role: Some(role) })
            }
            TokenIdentity::UnknownKey | TokenIdentity::Invalid => {
                Err(AuthError::InvalidCredentials)
            }
        }
    }

    /// Whether `X-Meantime-Key` is present, valid or not.
    pub(crate) fn has_operator_header(headers: &HeaderMap) -> bool {
        headers.contains_key(OPERATOR_KEY)
    }

    /// The operator whose key is in `Authorization`, if any. Other credentials there may be meant
    /// for a journey.
    pub(crate) fn operator_of_bearer(&self, headers: &HeaderMap, now: Timestamp) -> Option<Caller> {
        let presented = bearer(headers).filter(|it| key::has_key_prefix(it))?;
        self.caller_of_key(presented, now).ok()
    }

    /// Whether a header holds an operator's key, which journeys must not see: `X-Meantime-Key`, and
    /// each value of `Authorization` with such a key.
    pub(crate) fn is_operators(&self, name: &HeaderName, value: &HeaderValue) -> bool {
        let is_key = |it: &str| key::find_operator_key(&self.settings.keys, it).is_some();
        *name == OPERATOR_KEY || (*name == AUTHORIZATION && token_of(value).is_some_and(is_key))
    }

    fn caller_of_key(&self, presented: &str, now: Timestamp) -> Result<Caller, AuthError> {
        let key = key::find_operator_key(&self.settings.keys, presented)
            .ok_or(AuthError::InvalidCredentials)?;
        let name = key.display_name();
        match key.expires_at {
            Some(at) if at <= now => Err(AuthError::KeyExpired { name: name.to_owned(), at }),
            _ => Ok(Caller { name: Arc::from(format!("key {name}")), role: Some(key.role) }),
        }
    }
}

/// The operator credential of a request.
fn presented_credential(headers: &HeaderMap) -> Option<&str> {
    if Authenticator::has_operator_header(headers) {
        operator_header(headers)
    } else {
        bearer(headers)
    }
}

/// The value of `X-Meantime-Key`; none if the header occurs twice.
fn operator_header(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(OPERATOR_KEY).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then(|| value.trim())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    token_of(headers.get(AUTHORIZATION)?)
}

fn token_of(value: &HeaderValue) -> Option<&str> {
    let value = value.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
