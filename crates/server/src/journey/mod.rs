//! The server's side of journeys: what their surface needs besides the engine.
//!
//! | file | holds |
//! |---|---|
//! | `settings` | what a deployment decides: environment, values, secrets, profiles of credentials |
//! | `request` | inbound requests, by name, while they last |
//! | `request_clock` | the time of runs that answer a request, when the clock is virtual |
//! | `ephemeral` | runs that nobody looks at afterwards: APIs and read guards |
//! | `index` | APIs by the path they answer at, and whether anything is public |
//! | `surface` | definitions, instances and answers put together |

mod ephemeral;
mod index;
mod request;
mod request_clock;
mod settings;
mod surface;

pub(crate) use ephemeral::EphemeralKernel;
pub(crate) use index::SurfaceIndex;
pub(crate) use request::{InboundRequest, InboundRequests};
pub use settings::{JourneySettings, ProfileSettings, PublicSettings, SecretSource};
pub(crate) use settings::{Secrets, effective_limits};
pub(crate) use surface::{SurfaceDefinition, SurfaceInstance, api, find, latest, visible_request};
