//! JSON web tokens (RFC 7519): parses them, verifies the signature, then checks the claims.
//!
//! The signature is verified before any claim is read, with an algorithm that the configuration
//! allows and the key is made for. A token cannot choose how it is verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use meantime_core::Timestamp;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use crate::settings::{JwtSettings, Role};

/// Maximum length of a token.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// A public key of the provider with its id.
#[derive(Debug, Clone)]
pub(super) struct SigningKey {
    id: Option<String>,
    key: PublicKey,
}

#[derive(Debug, Clone)]
enum PublicKey {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// The only algorithm that the key is used with.
    const fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
        };
        verified.is_ok()
    }
}

/// A document with the provider's keys (RFC 7517).
#[derive(Debug, Deserialize)]
struct JwkSet {
    keys: Vec<Jwk>,
}

#[derive(Debug, Deserialize)]
struct Jwk {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default, rename = "use")]
    purpose: Option<String>,
    #[serde(default)]
    crv: Option<String>,
    #[serde(default)]
    n: Option<String>,
    #[serde(default)]
    e: Option<String>,
    #[serde(default)]
    x: Option<String>,
    #[serde(default)]
    y: Option<String>,
}

/// Reads a key set. Keys of kinds that are not supported are left out.
pub(super) fn read_keys(text: &str) -> Result<Vec<SigningKey>, String> {
    let set: JwkSet = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(set.keys.into_iter().filter_map(read_key).collect())
}

fn read_key(written: Jwk) -> Option<SigningKey> {
    if written.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let bytes = |text: &Option<String>| decode(text.as_deref()?);
    let key = match (written.kty.as_str(), written.crv.as_deref()) {
        ("RSA", _) => PublicKey::Rsa { n: bytes(&written.n)?, e: bytes(&written.e)? },
        ("EC", Some("P-256")) => {
            let (x, y) = (bytes(&written.x)?, bytes(&written.y)?);
            PublicKey::P256([&[4], x.as_slice(), y.as_slice()].concat())
        }
        ("OKP", Some("Ed25519")) => PublicKey::Ed25519(bytes(&written.x)?),
        _ => return None,
    };
    Some(SigningKey { id: written.kid, key })
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[derive(Debug, Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Claims {
    iss: String,
    aud: OneOrMany,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
    /// Read from the document; declared here so that only a string is accepted.
    #[serde(default, rename = "sub")]
    _sub: Option<String>,
}

#[derive(Debug)]
struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(one) => Ok(Self(vec![one])),
            Value::Array(many) => {
                let texts = many.iter().map(|it| it.as_str().map(str::to_owned));
                let texts: Option<Vec<String>> = texts.collect();
                texts.map(Self).ok_or_else(|| serde::de::Error::custom("aud holds texts"))
            }
            _ => Err(serde::de::Error::custom("aud is a text or a list of texts")),
        }
    }
}

/// The operator that a token identifies.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenIdentity {
    /// Valid: subject and role.
    Valid(String, Role),
    /// No cached key has its id; fetching the keys again may help.
    UnknownKey,
    /// Invalid; the reason is not disclosed.
    Invalid,
}

/// The content of a valid token, or why it is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenCheck {
    /// Valid.
    Valid {
        /// The JOSE header.
        header: Value,
        /// All claims.
        claims: Value,
    },
    Malformed,
    UnknownKey,
    BadSignature,
    BadClaims,
    WrongIssuer,
    WrongAudience,
    Expired,
    NotYetValid,
}

/// Verifies a token and reads subject and role.
pub(super) fn identify(
    token: &str,
    keys: &[SigningKey],
    settings: &JwtSettings,
    now: Timestamp,
) -> TokenIdentity {
    match verify(token, keys, settings, now) {
        TokenCheck::Valid { claims, .. } => match role_of(&claims[&settings.role_claim]) {
            Some(role) => {
                let subject = claims["sub"].as_str().unwrap_or("anonymous");
                TokenIdentity::Valid(subject.to_owned(), role)
            }
            None => TokenIdentity::Invalid,
        },
        TokenCheck::UnknownKey => TokenIdentity::UnknownKey,
        _ => TokenIdentity::Invalid,
    }
}

/// Verifies a token.
pub(super) fn verify(
    token: &str,
    keys: &[SigningKey],
    settings: &JwtSettings,
    now: Timestamp,
) -> TokenCheck {
    let Some((header, message, signature)) = split_token(token) else {
        return TokenCheck::Malformed;
    };
    let allowed = settings.algorithms.contains(&header.alg) && header.crit.is_none();
    if !allowed {
        return TokenCheck::BadSignature;
    }
    let suits = |key: &&SigningKey| {
        key.key.algorithm() == header.alg && (header.kid.is_none() || key.id == header.kid)
    };
    let mut candidates = keys.iter().filter(suits).peekable();
    if candidates.peek().is_none() {
        return TokenCheck::UnknownKey;
    }
    if !candidates.any(|key| key.key.verifies(message.as_bytes(), &signature)) {
        return TokenCheck::BadSignature;
    }
    check_claims(message, settings, now).unwrap_or(TokenCheck::BadClaims)
}

/// Header, signed message and signature of a token.
fn split_token(token: &str) -> Option<(Header, &str, Vec<u8>)> {
    if token.len() > MAX_TOKEN_BYTES || token.split('.').count() != 3 {
        return None;
    }
    let (message, signature) = token.rsplit_once('.')?;
    let (header, _) = message.split_once('.')?;
    let header = serde_json::from_slice(&decode(header)?).ok()?;
    Some((header, message, decode(signature)?))
}

/// Checks issuer, audience and times of a verified message; none if the claims have the wrong
/// shape.
fn check_claims(message: &str, settings: &JwtSettings, now: Timestamp) -> Option<TokenCheck> {
    let (header, claims) = message.split_once('.')?;
    let header = serde_json::from_slice(&decode(header)?).ok()?;
    let document: Value = serde_json::from_slice(&decode(claims)?).ok()?;
    let claims: Claims = serde_json::from_value(document.clone()).ok()?;
    let leeway = std::time::Duration::from(settings.leeway).as_secs_f64().min(60.0);
    #[expect(clippy::cast_precision_loss, reason = "a fraction of a millisecond does not matter")]
    let now = now.as_millis() as f64 / 1_000.0;
    Some(if claims.iss != settings.issuer {
        TokenCheck::WrongIssuer
    } else if !claims.aud.0.contains(&settings.audience) {
        TokenCheck::WrongAudience
    } else if now >= claims.exp + leeway {
        TokenCheck::Expired
    } else if claims.nbf.is_some_and(|from| now < from - leeway) {
        TokenCheck::NotYetValid
    } else {
        TokenCheck::Valid { header, claims: document }
    })
}

/// The highest role in a claim that is a string or a list of strings.
fn role_of(claim: &Value) -> Option<Role> {
    let verify = |value: &Value| serde_json::from_value::<Role>(value.clone()).ok();
    match claim {
        Value::Array(several) => several.iter().filter_map(verify).max(),
        one => verify(one),
    }
}

#[cfg(test)]
mod tests;
