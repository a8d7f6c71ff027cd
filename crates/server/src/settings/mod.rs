//! The configuration: all settings, their defaults and sources.
//!
//! Flags override the environment, which overrides the file. Unknown settings are rejected.

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
