//! Who calls, and what they may do.
//!
//! Every route names a [`Permission`]; nothing is reachable without one, but for journeys that are
//! public, whose callers authenticate as the journey itself says (`surface`). A caller is known by
//! an API key, of which only a hash is kept, or by a token that an identity provider signed.
//! Without either configured the server serves this machine only, and everybody on it is an
//! administrator.

mod caller;
mod guard;
mod jwks;
mod jwt;
mod key;
mod origin;
mod permission;
mod surface;

pub(crate) use caller::{Auth, Caller, OPERATOR_KEY};
pub(crate) use guard::{authenticate, one_host, require, require_on_surface};
pub(crate) use jwks::Provider;
pub(crate) use jwt::Reading;
pub(crate) use key::find_key;
pub use key::{NewKey, new_key};
pub(crate) use permission::Permission;
