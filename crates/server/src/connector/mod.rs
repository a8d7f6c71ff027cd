//! Engine tasks: outbound calls and other built-in tasks.
//!
//! [`Connectors`] runs engine tasks by their type. For HTTP calls, `egress_policy` decides which
//! addresses are permitted, `host_overrides` redirects hosts to mocks, `dial` opens connections,
//! `address` parses URLs, and `http` sends the requests. Journeys also have `journey_call` with
//! `client_auth` (client authentication), `cache`, and `credential` (checks of inbound requests).

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
