//! Client authentication of journey calls: a static token, or OAuth 2 client credentials.
//!
//! Tokens are cached until shortly before they expire. When a call is answered with 401, the token
//! is fetched again and the call is repeated once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meantime_core::{Json, Timestamp};
use meantime_kernel::store::TaskRow;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::http::{HttpError, OutboundRequest, OutboundResponse};
use super::task::Connectors;

/// How long before its expiry a token is replaced, in milliseconds.
const EXPIRY_MARGIN_MS: i64 = 30_000;

/// The lifetime of a token without `expires_in`, in seconds.
const DEFAULT_TOKEN_LIFETIME_S: i64 = 300;

/// Time limit for fetching a token, in milliseconds.
const TOKEN_TIMEOUT_MS: u64 = 10_000;

/// Tokens of authorization servers, by the text of the policy.
#[derive(Default)]
pub(super) struct TokenCache(Mutex<BTreeMap<String, CachedToken>>);

struct CachedToken {
    text: String,
    until: Timestamp,
}

/// An authentication policy, as definitions write it.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum AuthPolicy {
    BearerStatic {
        token_ref: String,
    },
    #[serde(rename = "oauth2ClientCredentials")]
    ClientCredentials(CredentialsGrant),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CredentialsGrant {
    token_endpoint: String,
    auth: ClientSecret,
    #[serde(default)]
    form: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientSecret {
    method: String,
    client_id: String,
    client_secret_ref: String,
}

#[derive(Debug, Deserialize)]
struct TokenResponse {
    access_token: String,
    #[serde(default)]
    expires_in: Option<i64>,
}

impl Connectors {
    /// Sends a call with client authentication.
    pub(super) async fn call_with_auth(
        &self,
        task: &TaskRow,
        mut call: OutboundRequest,
        timeout_ms: u64,
        policy: &Json,
    ) -> Result<OutboundResponse, HttpError> {
        let written = policy;
        let policy: AuthPolicy =
            written.read().map_err(|error| config_error(&error.to_string()))?;
        let credentials = match policy {
            AuthPolicy::BearerStatic { token_ref } => {
                let token = self.secret(&token_ref)?;
                set_bearer(&mut call, token);
                return self.outbound_call(task, call, Some(timeout_ms)).await;
            }
            AuthPolicy::ClientCredentials(credentials) => credentials,
        };
        let token = self.token(task, written, &credentials, None).await?;
        set_bearer(&mut call, &token);
        let answer = self.outbound_call(task, call.clone(), Some(timeout_ms)).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        let token = self.token(task, written, &credentials, Some(&token)).await?;
        set_bearer(&mut call, &token);
        self.outbound_call(task, call, Some(timeout_ms)).await
    }

    fn secret(&self, reference: &str) -> Result<&str, HttpError> {
        let missing = || config_error(&format!("no secret is configured for {reference:?}"));
        self.secrets.get(reference).ok_or_else(missing)
    }

    /// A valid token, other than the one that was refused.
    async fn token(
        &self,
        task: &TaskRow,
        policy: &Json,
        credentials: &CredentialsGrant,
        refused: Option<&str>,
    ) -> Result<String, HttpError> {
        // The lock is held while fetching, so that concurrent calls wait for the same token.
        let mut tokens = self.tokens.0.lock().await;
        let now = self.clock.now().real;
        let known = tokens.get(policy.as_str());
        let known = known.filter(|it| now < it.until && refused != Some(it.text.as_str()));
        if let Some(token) = known {
            return Ok(token.text.clone());
        }
        let (text, seconds) = self.fetch_token(task, credentials).await?;
        let good_for = seconds.saturating_mul(1_000).saturating_sub(EXPIRY_MARGIN_MS);
        let until = now.saturating_add_millis(good_for);
        tokens.insert(policy.as_str().to_owned(), CachedToken { text: text.clone(), until });
        Ok(text)
    }

    async fn fetch_token(
        &self,
        task: &TaskRow,
        credentials: &CredentialsGrant,
    ) -> Result<(String, i64), HttpError> {
        let secret = self.secret(&credentials.auth.client_secret_ref)?;
        let client = &credentials.auth.client_id;
        let mut form = BTreeMap::from([("grant_type", "client_credentials")]);
        form.extend(credentials.form.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut headers = BTreeMap::from([
            ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned()),
            ("accept".to_owned(), "application/json".to_owned()),
        ]);
        if credentials.auth.method == "clientSecretBasic" {
            let pair =
                STANDARD.encode(format!("{}:{}", percent_encode(client), percent_encode(secret)));
            headers.insert("authorization".to_owned(), format!("Basic {pair}"));
        } else {
            form.extend([("client_id", client.as_str()), ("client_secret", secret)]);
        }
        let pairs: Vec<String> = form
            .iter()
            .map(|(name, value)| format!("{}={}", percent_encode(name), percent_encode(value)))
            .collect();
        let call = OutboundRequest {
            method: "POST".to_owned(),
            url: credentials.token_endpoint.clone(),
            headers,
            body: Some(Json::text(&pairs.join("&"))),
        };
        let answer = self.outbound_call(task, call, Some(TOKEN_TIMEOUT_MS)).await?;
        let granted = answer.body.ok().and_then(|body| body.read::<TokenResponse>().ok());
        let granted = granted.filter(|_| answer.status == 200);
        let granted = granted.ok_or_else(|| HttpError {
            code: "HTTP_TOKEN",
            message: format!("the authorization server answered {}", answer.status),
            retryable: answer.status >= 500,
        })?;
        Ok((granted.access_token, granted.expires_in.unwrap_or(DEFAULT_TOKEN_LIFETIME_S)))
    }
}

fn set_bearer(call: &mut OutboundRequest, token: &str) {
    call.headers.retain(|name, _| !name.eq_ignore_ascii_case("authorization"));
    call.headers.insert("authorization".to_owned(), format!("Bearer {token}"));
}

fn config_error(message: &str) -> HttpError {
    HttpError { code: "HTTP_AUTH_CONFIG", message: message.to_owned(), retryable: false }
}

/// Percent-encodes everything except unreserved characters.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}
