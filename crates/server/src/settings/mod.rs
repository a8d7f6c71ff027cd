//! The configuration: what can be set, its defaults, and where it comes from.
//!
//! A file, the environment and flags, in rising order. What nobody knows is refused by name.

mod layer;
mod model;
mod period;

pub use layer::{Layers, SettingsError};
pub use model::{
    ApiKey, AuthSettings, ClientCertificates, ClockSettings, Db, EgressSettings, HttpSettings,
    JwtSettings, LogFormat, LogSettings, RateSettings, RetentionSettings, Role, Settings,
    StoreDurability, StoreSettings, TlsSettings, TraceSettings,
};
pub use period::Period;
