//! Valid tokens are accepted; every known way to forge one is rejected.

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

use super::*;
use crate::settings::Period;

const NOW: i64 = 1_800_000_000;

struct Issuer {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    random: SystemRandom,
}

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(curve, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(curve, ec.as_ref(), &random).unwrap(),
            random,
        }
    }

    fn keys(&self) -> Vec<SigningKey> {
        let point = self.ec.public_key().as_ref();
        let set = json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "ed", "use": "sig",
              "x": encode(self.ed.public_key().as_ref()) },
            { "kty": "EC", "crv": "P-256", "kid": "ec",
              "x": encode(&point[1..33]), "y": encode(&point[33..]) },
            { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
        ]});
        read_keys(&set.to_string()).unwrap()
    }

    fn ed(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        format!("{message}.{}", encode(self.ed.sign(message.as_bytes()).as_ref()))
    }

    fn ec(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = self.ec.sign(&self.random, message.as_bytes()).unwrap();
        format!("{message}.{}", encode(signature.as_ref()))
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()))
}

fn settings() -> JwtSettings {
    JwtSettings {
        issuer: "https://login.example".to_owned(),
        audience: "meantime".to_owned(),
        jwks: String::new(),
        algorithms: ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec(),
        role_claim: "role".to_owned(),
        leeway: Period::seconds(30),
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://login.example", "aud": "meantime", "sub": "ann", "role": "operator",
        "exp": NOW + 300, "nbf": NOW - 10,
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn identified(token: &str, keys: &[SigningKey]) -> TokenIdentity {
    identify(token, keys, &settings(), Timestamp::from_millis(NOW * 1_000))
}

#[test]
fn valid_tokens_are_accepted() {
    let issuer = Issuer::new();
    let keys = issuer.keys();
    let ann = || TokenIdentity::Valid("ann".to_owned(), Role::Operator);
    assert_eq!(identified(&issuer.ed(&json!({"alg":"EdDSA","kid":"ed"}), &claims()), &keys), ann());
    assert_eq!(identified(&issuer.ec(&json!({"alg":"ES256","kid":"ec"}), &claims()), &keys), ann());
    assert_eq!(identified(&issuer.ec(&json!({"alg":"ES256"}), &claims()), &keys), ann());
    let several = with("aud", json!(["other", "meantime"]));
    assert_eq!(identified(&issuer.ed(&json!({"alg":"EdDSA"}), &several), &keys), ann());
    let roles = with("role", json!(["viewer", "admin", "unknown"]));
    let admin = TokenIdentity::Valid("ann".to_owned(), Role::Admin);
    assert_eq!(identified(&issuer.ed(&json!({"alg":"EdDSA"}), &roles), &keys), admin);
    let late = with("exp", json!(NOW - 20));
    assert_eq!(
        identified(&issuer.ed(&json!({"alg":"EdDSA"}), &late), &keys),
        ann(),
        "within leeway"
    );
}

#[test]
fn invalid_claims_are_rejected() {
    let issuer = Issuer::new();
    let keys = issuer.keys();
    let bad = [
        with("iss", json!("https://evil.example")),
        with("iss", json!(["https://login.example"])),
        with("iss", json!("https://login.example/")),
        with("aud", json!("other")),
        with("aud", json!(["other"])),
        with("aud", json!([])),
        with("aud", json!([1, "meantime"])),
        with("aud", json!(null)),
        with("aud", json!("Meantime")),
        with("exp", json!(NOW - 31)),
        with("exp", json!("2099-01-01")),
        with("exp", json!(null)),
        with("exp", json!(0)),
        with("nbf", json!(NOW + 31)),
        with("nbf", json!("now")),
        with("role", json!("root")),
        with("role", json!("Admin")),
        with("role", json!("")),
        with("role", json!(null)),
        with("role", json!({"admin": true})),
        with("role", json!([])),
        with("role", json!(["root"])),
        without("iss"),
        without("aud"),
        without("exp"),
        without("role"),
        json!([]),
        json!("admin"),
        json!(null),
    ];
    for claims in bad {
        let token = issuer.ed(&json!({"alg":"EdDSA","kid":"ed"}), &claims);
        assert_eq!(identified(&token, &keys), TokenIdentity::Invalid, "{claims}");
    }
}

#[test]
fn invalid_signatures_and_headers_are_rejected() {
    let issuer = Issuer::new();
    let keys = issuer.keys();
    let header = json!({"alg":"EdDSA","kid":"ed"});
    let good = issuer.ed(&header, &claims());
    let (message_part, signature) = good.rsplit_once('.').unwrap();
    let other = Issuer::new();
    let forged = message(&header, &with("role", json!("admin")));
    let mut bad = vec![
        ("no signature", format!("{message_part}.")),
        ("a dot less", message_part.to_owned()),
        ("a dot more", format!("{good}.")),
        ("other claims under the signature", format!("{forged}.{signature}")),
        ("a byte less", good[..good.len() - 1].to_owned()),
        ("padding", format!("{good}==")),
        ("signed by somebody else", other.ed(&header, &claims())),
        ("empty", String::new()),
        ("dots", "..".to_owned()),
        ("not base64", "?.?.?".to_owned()),
        ("too long", format!("{good}{}", "A".repeat(MAX_TOKEN_BYTES))),
        ("critical extension", issuer.ed(&json!({"alg":"EdDSA","crit":["x"]}), &claims())),
        ("header is no object", issuer.ed(&json!("EdDSA"), &claims())),
        ("no algorithm", issuer.ed(&json!({"kid":"ed"}), &claims())),
    ];
    for algorithm in ["none", "None", "NONE", "", "HS256", "HS512", "ES384", "PS256", "eddsa"] {
        bad.push(("algorithm", issuer.ed(&json!({"alg":algorithm,"kid":"ed"}), &claims())));
        bad.push((
            "algorithm without signature",
            format!("{}.", message(&json!({"alg":algorithm}), &claims())),
        ));
    }
    for (what, token) in bad {
        assert_eq!(identified(&token, &keys), TokenIdentity::Invalid, "{what}: {token}");
    }
    let confused = issuer.ed(&json!({"alg":"ES256","kid":"ed"}), &claims());
    assert_eq!(identified(&confused, &keys), TokenIdentity::UnknownKey, "a key has one algorithm");
    let unknown = issuer.ed(&json!({"alg":"EdDSA","kid":"x"}), &claims());
    assert_eq!(identified(&unknown, &keys), TokenIdentity::UnknownKey);
    let secret = issuer.ed(&json!({"alg":"EdDSA","kid":"secret"}), &claims());
    assert_eq!(identified(&secret, &keys), TokenIdentity::UnknownKey, "secrets are no keys");
}

#[test]
fn an_algorithm_that_is_not_allowed_is_rejected() {
    let issuer = Issuer::new();
    let settings = JwtSettings { algorithms: vec!["RS256".to_owned()], ..settings() };
    let token = issuer.ed(&json!({"alg":"EdDSA","kid":"ed"}), &claims());
    let now = Timestamp::from_millis(NOW * 1_000);
    assert_eq!(identify(&token, &issuer.keys(), &settings, now), TokenIdentity::Invalid);
}
