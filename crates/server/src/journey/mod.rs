//! Server support for journeys and APIs.
//!
//! | file | holds |
//! |---|---|
//! | `settings` | settings of journeys: environment, configuration values, secrets, credential profiles |
//! | `request` | inbound requests in progress, by id |
//! | `request_clock` | the clock of in-memory runs when the engine clock is virtual |
//! | `ephemeral` | runs in memory: APIs and read guards |
//! | `index` | APIs by path, and whether anything is public |
//! | `surface` | looks up definitions and instances, applies read guards |

mod ephemeral;
mod index;
mod request;
mod request_clock;
mod settings;
mod surface;

pub(crate) use ephemeral::{EphemeralEnd, EphemeralKernel};
pub(crate) use index::SurfaceIndex;
pub(crate) use request::{InboundRequest, InboundRequests};
pub use settings::{JourneySettings, ProfileSettings, PublicSettings, SecretSource};
pub(crate) use settings::{Secrets, effective_limits};
pub(crate) use surface::{SurfaceDefinition, SurfaceInstance, api, find, latest, visible_request};
