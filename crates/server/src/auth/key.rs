//! API keys: `mt_<id>_<256 random bits>`, kept as a hash.

use std::fmt::Write as _;

use meantime_kernel::random::{Entropy as _, SystemEntropy};
use sha2::{Digest as _, Sha256};

use crate::settings::ApiKey;

const KEY_PREFIX: &str = "mt_";

/// A new key: the secret, to be shown once, and what is stored.
#[derive(Debug)]
pub struct NewKey {
    /// The key itself.
    pub secret: String,
    /// The public part.
    pub id: String,
    /// SHA-256 of the key, in hex.
    pub sha256: String,
}

/// Creates a key.
pub fn new_key() -> NewKey {
    let mut entropy = SystemEntropy::default();
    let id = format!("{:08x}", entropy.next() >> 32);
    let mut secret = format!("{KEY_PREFIX}{id}_");
    for _ in 0..4 {
        // Writing to a String cannot fail.
        let _ = write!(secret, "{:016x}", entropy.next());
    }
    NewKey { sha256: sha256_hex(&secret), id, secret }
}

/// Finds the key that a caller presents. The id selects the entry; the digests are compared in
/// constant time.
pub(super) fn find_operator_key<'a>(keys: &'a [ApiKey], presented: &str) -> Option<&'a ApiKey> {
    let id = key_id(presented)?;
    let presented = sha256_hex(presented);
    keys.iter().find(|key| key.id == id && constant_time_eq(&key.sha256, &presented))
}

/// The public part of a key.
pub(super) fn key_id(presented: &str) -> Option<&str> {
    presented.strip_prefix(KEY_PREFIX)?.split_once('_').map(|(id, _)| id)
}

/// Finds a key of any form, for journeys that check keys of their own callers.
pub(crate) fn find_key_by_digest<'a>(keys: &'a [ApiKey], presented: &str) -> Option<&'a ApiKey> {
    let presented = sha256_hex(presented);
    keys.iter().find(|key| constant_time_eq(&key.sha256, &presented))
}

/// Compares in a time that does not depend on where the texts differ.
fn constant_time_eq(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differs = pairs.fold(0, |differs, (one, other)| differs | (one ^ other));
    one.len() == other.len() && differs == 0
}

/// Whether a credential has the prefix of our keys.
pub(super) fn has_key_prefix(presented: &str) -> bool {
    presented.starts_with(KEY_PREFIX)
}

fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Role;

    #[test]
    fn only_the_key_itself_is_found() {
        let new = new_key();
        let other = new_key();
        let kept = |key: &NewKey| ApiKey {
            id: key.id.clone(),
            name: None,
            sha256: key.sha256.clone(),
            role: Role::Viewer,
            expires_at: None,
        };
        let keys = [kept(&new), kept(&other)];
        assert_eq!(find_operator_key(&keys, &new.secret).map(|key| &key.id), Some(&new.id));
        assert!(!keys.iter().any(|key| format!("{key:?}").contains(&new.secret)));
        let mut wrong = new.secret.clone();
        wrong.pop();
        assert!(find_operator_key(&keys, &wrong).is_none());
        assert!(find_operator_key(&keys, &format!("{wrong}z")).is_none());
        assert!(find_operator_key(&keys, &format!("mt_{}_", new.id)).is_none());
        assert!(find_operator_key(&keys, &new.sha256).is_none());
    }
}
