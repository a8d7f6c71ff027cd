//! Authentication and authorization.
//!
//! Every route names a [`Permission`]. Only public journeys and APIs need none: they authenticate
//! callers themselves (`surface`). A caller is identified by an API key, of which only a hash is
//! stored, or by a token that an identity provider signed. If neither is configured, the server
//! serves this machine only, and every caller is an administrator.

mod caller;
mod jwks;
mod jwt;
mod key;
mod middleware;
mod origin;
mod permission;
mod surface;

pub(crate) use caller::{Authenticator, Caller};
pub(crate) use jwks::IdentityProvider;
pub(crate) use jwt::TokenCheck;
pub(crate) use key::find_key_by_digest;
pub use key::{NewKey, new_key};
pub(crate) use middleware::{
    authenticate, reject_multiple_hosts, require_permission, require_permission_or_public,
};
pub(crate) use permission::Permission;
