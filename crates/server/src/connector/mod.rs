//! What the engine does in other systems.
//!
//! [`Connectors`] runs engine tasks by their name. `http` is one of them: `guard` says where it may
//! go, `overrides` which hosts are mocks elsewhere, `dial` opens connections and asks the guard
//! about every address, `address` reads and joins addresses, `http` makes the calls. Those of
//! journeys are `journey_call`, with `client_auth` for how they prove who they are, `cache`, and
//! `credential` for what their own callers present.

mod address;
mod cache;
mod client_auth;
mod credential;
mod dial;
mod egress_policy;
mod host_overrides;
mod http;
mod journey_call;
mod task;

pub use dial::{DialError, Dialer, MaybeTlsStream};
pub use egress_policy::EgressPolicy;
pub use host_overrides::HostOverrides;
pub(crate) use task::Connectors;
