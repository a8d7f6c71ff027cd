//! `apiKeyValidate:v1` and `jwtValidate:v1`: check the credentials of the inbound request.
//!
//! A missing or invalid credential is a result for the journey; a profile that is not configured is
//! a configuration error.

use std::collections::BTreeMap;

use meantime_core::{Json, Timestamp};
use meantime_journey::surface::{REQUEST_GONE, Request};
use meantime_kernel::command::Report;
use meantime_kernel::store::TaskRow;
use serde::Deserialize;
use serde_json::{Value, json};

use super::task::{Connectors, permanent_failure};
use crate::auth::{IdentityProvider, TokenCheck, find_key_by_digest};
use crate::journey::ProfileSettings;

/// The input of a credential task.
#[derive(Debug, Deserialize)]
struct CredentialCheck {
    profile: String,
    source: Option<CredentialSource>,
    request: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CredentialSource {
    location: String,
    name: String,
    scheme: Option<String>,
}

/// A profile with its identity provider.
pub(super) struct CredentialProfile {
    settings: ProfileSettings,
    provider: Option<IdentityProvider>,
}

impl CredentialProfile {
    pub(super) fn load_all(settings: &BTreeMap<String, ProfileSettings>) -> BTreeMap<String, Self> {
        let ready = settings.iter().map(|(name, settings)| {
            let provider = settings.jwt.clone().map(IdentityProvider::new);
            (name.clone(), Self { settings: settings.clone(), provider })
        });
        ready.collect()
    }
}

impl Connectors {
    pub(super) async fn check_credential(&self, task: &TaskRow) -> Report {
        let check = match task.spec.input.read::<CredentialCheck>() {
            Ok(check) => check,
            Err(error) => return permanent_failure("AUTH_INVALID", &error.to_string()),
        };
        let scope = self.scope_of(task, check.request.as_deref());
        let request = scope.inbound.map(|it| it.request.clone()).unwrap_or_default();
        let profile = self.profiles.get(&check.profile);
        let now = self.clock.now().real;
        let checked = if task.spec.name.starts_with("apiKey") {
            let Some(profile) = profile.filter(|it| !it.settings.keys.is_empty()) else {
                return missing_profile("APIKEY_CONFIG_MISSING", &check.profile);
            };
            let presented = find_credential(&request, check.source.as_ref(), ("X-Api-Key", None));
            check_api_key(profile, presented.as_deref(), now)
        } else {
            let Some(provider) = profile.and_then(|it| it.provider.as_ref()) else {
                return missing_profile("JWT_CONFIG_MISSING", &check.profile);
            };
            let usual = ("Authorization", Some("Bearer"));
            let presented = find_credential(&request, check.source.as_ref(), usual);
            check_token(provider, presented.as_deref(), now).await
        };
        let mut answer = match checked {
            Ok(value) => json!({ "ok": true, "value": value }),
            Err(code) => json!({ "ok": false, "problem": problem_details(code) }),
        };
        if scope.is_gone {
            answer[REQUEST_GONE] = true.into();
        }
        Report::Completed(Json::from(&answer))
    }
}

fn check_api_key(
    profile: &CredentialProfile,
    presented: Option<&str>,
    now: Timestamp,
) -> Result<Value, &'static str> {
    let presented = presented.ok_or("APIKEY_MISSING")?;
    let key = find_key_by_digest(&profile.settings.keys, presented).ok_or("APIKEY_INVALID")?;
    let is_good = key.expires_at.is_none_or(|end| now < end);
    if is_good { Ok(json!({ "keyId": key.id })) } else { Err("APIKEY_INVALID") }
}

async fn check_token(
    provider: &IdentityProvider,
    presented: Option<&str>,
    now: Timestamp,
) -> Result<Value, &'static str> {
    let presented = presented.ok_or("JWT_TOKEN_MISSING")?;
    match provider.verify(presented, now).await {
        TokenCheck::Valid { header, claims } => Ok(json!({ "header": header, "claims": claims })),
        TokenCheck::Malformed => Err("JWT_TOKEN_MALFORMED"),
        TokenCheck::UnknownKey => Err("JWT_KID_NOT_FOUND"),
        TokenCheck::BadSignature => Err("JWT_SIG_INVALID"),
        TokenCheck::BadClaims => Err("JWT_CLAIMS_INVALID"),
        TokenCheck::WrongIssuer => Err("JWT_ISSUER_MISMATCH"),
        TokenCheck::WrongAudience => Err("JWT_AUDIENCE_MISMATCH"),
        TokenCheck::Expired => Err("JWT_EXPIRED"),
        TokenCheck::NotYetValid => Err("JWT_NOT_YET_VALID"),
    }
}

/// The credential of the request, at the configured location.
fn find_credential(
    request: &Request,
    source: Option<&CredentialSource>,
    usual: (&str, Option<&str>),
) -> Option<String> {
    let (location, name, scheme) = match source {
        Some(source) => (source.location.as_str(), source.name.as_str(), source.scheme.as_deref()),
        None => ("header", usual.0, None),
    };
    let text = match location {
        "query" => request.query.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone()),
        "cookie" => cookie(request, name),
        _ => header(request, name),
    }?;
    // The default scheme also applies when a definition names the default header explicitly.
    let is_usual = location == "header" && name.eq_ignore_ascii_case(usual.0);
    let text = match scheme.or(usual.1.filter(|_| is_usual)) {
        Some(scheme) => {
            let (first, rest) = text.split_once(' ')?;
            first.eq_ignore_ascii_case(scheme).then(|| rest.trim().to_owned())?
        }
        None => text,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn header(request: &Request, name: &str) -> Option<String> {
    let found = request.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.clone())
}

fn cookie(request: &Request, name: &str) -> Option<String> {
    let cookies = header(request, "cookie")?;
    let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(it, _)| *it == name).map(|(_, value)| value.to_owned())
}

/// Problem details for the journey; the type is derived from the code.
fn problem_details(code: &str) -> Value {
    let name = code.to_ascii_lowercase().replace('_', "-");
    json!({
        "type": format!("urn:meantime:auth:{name}"),
        "title": "The credential was not accepted",
        "status": 401,
        "code": code,
    })
}

fn missing_profile(code: &str, profile: &str) -> Report {
    permanent_failure(code, &format!("the profile {profile:?} is not configured"))
}
