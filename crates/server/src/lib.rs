//! The server: the HTTP API of the engine.
//!
//! ```text
//!   connection ─► serve (limits) ─► auth (caller, rate) ─► route/<resource> ─► kernel
//!                                                           wire (JSON)         │
//!   /events ◄── feed ◄── history, as soon as it is committed ◄────────────────────┘
//! ```
//!
//! [`Engine`] combines store, notations, kernel and outbound calls; [`App`] is the API on top of
//! it; [`serve`] owns the sockets. Wire types are defined here and nowhere else.

mod app;
mod audit;
mod auth;
mod background;
mod concurrency;
mod connection;
mod connector;
mod console;
mod definition_cache;
mod deploy;
mod docs_page;
mod engine;
mod error_pages;
mod extract;
mod feed;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod http2;
mod journey;
mod notation;
mod observe;
mod openapi;
mod overload;
mod pagination;
mod problem;
mod rate_limit;
mod route;
mod serve;
mod settings;
mod show;
mod tls;
mod wire;

pub use app::App;
pub use auth::{NewKey, new_key};
pub use connector::{DialError, Dialer, EgressPolicy, HostOverrides, MaybeTlsStream};
pub use console::{Console, ConsoleBundle};
pub use engine::{Engine, SourceFormats, StartError, open_store, open_unshared_store};
pub use journey::{JourneySettings, ProfileSettings, PublicSettings, SecretSource};
pub use notation::notations;
pub use observe::{TraceExportError, TraceExporter, connect_traces, log_filter};
pub use openapi::{document, document_text};
pub use route::unlisted_paths;
pub use serve::{BoundListener, BoundServer, ListenError, listen, raise_file_limit, serve};
pub use settings::{
    ApiKey, AuthSettings, ClientCertificates, ClockSettings, Db, EgressSettings, HttpSettings,
    JwtSettings, Layers, LogFormat, LogSettings, Period, RateSettings, RetentionSettings, Role,
    Settings, SettingsError, StoreDurability, StoreSettings, TlsSettings, TraceSettings,
};
pub use tls::{TlsError, check_tls};
