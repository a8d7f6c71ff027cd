//! An identity provider: a key pair, its tokens, and the settings that accept them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use meantime_server::{JwtSettings, Period};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

pub(crate) fn key_pair() -> Ed25519KeyPair {
    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
    Ed25519KeyPair::from_pkcs8(pair.as_ref()).expect("a key")
}

/// A token with any algorithm and key id in its header.
pub(crate) fn token(pair: &Ed25519KeyPair, algorithm: &str, key: &str, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = json!({ "alg": algorithm, "kid": key });
    let message = format!("{}.{}", encode(&head), encode(claims));
    let signature = URL_SAFE_NO_PAD.encode(pair.sign(message.as_bytes()));
    format!("{message}.{signature}")
}

/// Settings that accept tokens of this pair with the key id `ed`, and the file with its public key.
pub(crate) fn accepts(pair: &Ed25519KeyPair) -> (NamedTempFile, JwtSettings) {
    let x = URL_SAFE_NO_PAD.encode(pair.public_key());
    let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x }] });
    let file = NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), keys.to_string()).expect("it can be written");
    let settings = JwtSettings {
        issuer: "https://login.test".to_owned(),
        audience: "shop".to_owned(),
        jwks: file.path().to_string_lossy().into_owned(),
        algorithms: vec!["EdDSA".to_owned()],
        role_claim: "role".to_owned(),
        leeway: Period::seconds(30),
    };
    (file, settings)
}
