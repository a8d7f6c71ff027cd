//! What the engine does in other systems.
//!
//! [`Connectors`] runs engine tasks by their name. `http` is one of them: `guard` says where it may
//! go, `dial` opens connections and asks the guard about every address, `address` reads and joins
//! addresses, `http` makes the calls.

mod address;
mod dial;
mod guard;
mod http;
mod task;

pub use dial::{DialError, Dialer, Wire};
pub use guard::Guard;
pub(crate) use task::Connectors;
