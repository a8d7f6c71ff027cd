//! Who calls, and what they may do.
//!
//! Every route names a [`Permission`]; nothing is reachable without one, but for journeys that are
//! public, whose callers authenticate as the journey itself says (`surface`). A caller is known by
//! an API key, of which only a hash is kept, or by a token that an identity provider signed.
//! Without either configured the server serves this machine only, and everybody on it is an
//! administrator.

mod caller;
mod jwks;
mod jwt;
mod key;
mod middleware;
mod origin;
mod permission;
mod surface;

pub(crate) use caller::{Authenticator, Caller, OPERATOR_KEY};
pub(crate) use jwks::IdentityProvider;
pub(crate) use jwt::TokenCheck;
pub(crate) use key::find_key_by_digest;
pub use key::{NewKey, new_key};
pub(crate) use middleware::{
    authenticate, reject_multiple_hosts, require_permission, require_permission_or_public,
};
pub(crate) use permission::Permission;
