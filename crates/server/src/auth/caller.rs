//! Who a request comes from.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HeaderName};
use axum::http::request::Parts;
use meantime_core::Timestamp;
use meantime_kernel::history::AuditInfo;

use super::jwks::IdentityProvider;
use super::jwt::TokenIdentity;
use super::key;
use crate::app::App;
use crate::settings::{AuthSettings, Role};

/// Carries an operator's key or token beside `Authorization`, which belongs to the journey on the
/// public surface.
pub(crate) const OPERATOR_KEY: HeaderName = HeaderName::from_static("x-meantime-key");

/// Somebody who was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// How history names them.
    pub(crate) name: Arc<str>,
    /// What they may do; nothing for callers of the public surface, whom only journeys know.
    pub(crate) role: Option<Role>,
}

/// Why somebody is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthError {
    /// There is no credential, or none of ours.
    InvalidCredentials,
    /// The key is right and its time is over.
    KeyExpired { name: String, at: Timestamp },
}

impl AuthError {
    /// What the caller is told. Only who has the whole key learns that it expired.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::InvalidCredentials => "no valid credentials were sent".to_owned(),
            Self::KeyExpired { name, at } => format!("the key {name:?} expired at {at}"),
        }
    }
}

impl Caller {
    /// Somebody on this machine, when nobody is asked who they are.
    fn local() -> Self {
        Self { name: Arc::from("local"), role: Some(Role::Admin) }
    }

    /// Somebody whom only the journey they call knows.
    pub(crate) fn public() -> Self {
        Self { name: Arc::from("public"), role: None }
    }

    /// Whether all such callers have the same name: then only addresses tell them apart.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.role.is_none() || *self == Self::local()
    }

    /// Who did something, and why.
    pub(crate) fn audit_info(&self, reason: Option<String>) -> AuditInfo {
        AuditInfo { actor: self.name.to_string(), reason: reason.unwrap_or_default() }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Infallible> {
        // Nothing gets here without having passed the guard.
        let nobody = || Self { name: Arc::from("nobody"), role: None };
        Ok(parts.extensions.get().cloned().unwrap_or_else(nobody))
    }
}

/// Knows callers by what they present.
pub(crate) struct Authenticator {
    settings: AuthSettings,
    provider: Option<IdentityProvider>,
}

impl Authenticator {
    pub(crate) fn new(settings: &AuthSettings) -> Self {
        let provider = settings.jwt.clone().map(IdentityProvider::new);
        Self { settings: settings.clone(), provider }
    }

    /// Whether anybody is asked who they are.
    pub(crate) fn is_configured(&self) -> bool {
        self.settings.is_configured()
    }

    /// The id of the key that is presented, if there is a key of that id, good or not. Ids that
    /// nobody has are all the same: they can be made up without end.
    pub(crate) fn presented_key_id(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let id = key::key_id(presented_credential(headers)?)?;
        let known = self.settings.keys.iter().find(|key| key.id == id)?;
        Some(Arc::from(known.id.as_str()))
    }

    /// Who sent these headers. The header for operators goes before `Authorization`.
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

    /// Whether the header for operators is there, whatever is in it.
    pub(crate) fn has_operator_header(headers: &HeaderMap) -> bool {
        headers.contains_key(OPERATOR_KEY)
    }

    /// The operator whose key is in `Authorization`, if there is one. Anything else in it may be
    /// meant for a journey.
    pub(crate) fn operator_of_bearer(&self, headers: &HeaderMap, now: Timestamp) -> Option<Caller> {
        let presented = bearer(headers).filter(|it| key::has_key_prefix(it))?;
        self.caller_of_key(presented, now).ok()
    }

    /// Whether `Authorization` has a key of an operator: journeys do not see it.
    pub(crate) fn is_operator_bearer(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|it| key::find_operator_key(&self.settings.keys, it).is_some())
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

/// What is shown as an operator's credential.
fn presented_credential(headers: &HeaderMap) -> Option<&str> {
    if Authenticator::has_operator_header(headers) {
        operator_header(headers)
    } else {
        bearer(headers)
    }
}

/// What the header for operators has; nothing when it is there twice.
fn operator_header(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(OPERATOR_KEY).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then(|| value.trim())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
