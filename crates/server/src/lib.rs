//! The server: the engine behind HTTP.
//!
//! ```text
//!   connection ─► serve (limits) ─► guard (who, how often) ─► route/<resource> ─► kernel
//!                                                              wire (JSON)          │
//!   /events ◄── feed ◄── history, as soon as it is committed ◄────────────────────────┘
//! ```
//!
//! [`Engine`] puts store, notations, kernel and outbound calls together; [`App`] is the API on top
//! of it; [`serve`] owns the sockets. Wire types are here and nowhere else.

mod app;
mod audit;
mod auth;
mod background;
mod catalog;
mod connection;
mod connector;
mod deploy;
mod docs_page;
mod engine;
mod error_pages;
mod extract;
mod feed;
mod journey;
mod limit;
mod notation;
mod observe;
mod openapi;
mod overload;
mod page;
mod place;
mod problem;
mod route;
mod serve;
mod settings;
mod show;
mod tls;
mod wire;

pub use app::App;
pub use auth::{NewKey, new_key};
pub use connector::{DialError, Dialer, Guard, Overrides, Wire};
pub use engine::{Engine, Formats, StartError, open_store, open_unshared_store};
pub use journey::{JourneySettings, ProfileSettings, PublicSettings, SecretSource};
pub use notation::notations;
pub use observe::{Collector, CollectorError, TRACE_TARGET, connect};
pub use openapi::{document, document_text};
pub use route::outside_paths;
pub use serve::{ListenError, Listening, Serving, listen, raise_file_limit, serve};
pub use settings::{
    ApiKey, AuthSettings, ClientCertificates, ClockSettings, Db, EgressSettings, HttpSettings,
    JwtSettings, Layers, LogFormat, LogSettings, Period, RateSettings, RetentionSettings, Role,
    Settings, SettingsError, StoreSettings, TlsSettings, TraceSettings,
};
pub use tls::{TlsError, check_tls};
