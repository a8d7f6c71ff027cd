//! Who calls, and what they may do.
//!
//! Every route names a [`Permission`]; nothing is reachable without one. A caller is known by an
//! API key, of which only a hash is kept, or by a token that an identity provider signed. Without
//! either configured the server serves this machine only, and everybody on it is an administrator.

mod caller;
mod guard;
mod jwks;
mod jwt;
mod key;
mod origin;
mod permission;

pub(crate) use caller::{Auth, Caller};
pub(crate) use guard::{authenticate, require};
pub(crate) use jwks::Provider;
pub(crate) use jwt::Reading;
pub(crate) use key::find_key;
pub use key::{NewKey, new_key};
pub(crate) use permission::Permission;
