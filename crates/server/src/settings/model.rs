//! All settings with their defaults; `docs/reference/configuration.md` documents them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use meantime_core::time::TimeError;
use meantime_core::{Keep, Limits, Periods, Retention, Timestamp};
use serde::{Deserialize, Serialize};

use super::Period;
use crate::journey::JourneySettings;

/// All settings of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The store.
    pub db: Db,
    /// Whether unauthenticated remote access is allowed.
    pub insecure: bool,
    /// The HTTP server.
    pub http: HttpSettings,
    /// TLS of inbound connections.
    pub tls: TlsSettings,
    /// Authentication.
    pub auth: AuthSettings,
    /// Rate limits.
    pub rate: RateSettings,
    /// Outbound calls.
    pub egress: EgressSettings,
    /// Limits of the engine.
    pub limits: Limits,
    /// How long finished instances are kept.
    pub retention: RetentionSettings,
    /// Options of the store.
    pub store: StoreSettings,
    /// The clock.
    pub clock: ClockSettings,
    /// The log.
    pub log: LogSettings,
    /// Traces.
    pub trace: TraceSettings,
    /// Settings of journeys.
    pub journeys: JourneySettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8088)),
            db: Db::Sqlite(PathBuf::from("meantime.db")),
            insecure: false,
            http: HttpSettings::default(),
            tls: TlsSettings::default(),
            auth: AuthSettings::default(),
            rate: RateSettings::default(),
            egress: EgressSettings::default(),
            limits: Limits::default(),
            retention: RetentionSettings::default(),
            store: StoreSettings::default(),
            clock: ClockSettings::default(),
            log: LogSettings::default(),
            trace: TraceSettings::default(),
            journeys: JourneySettings::default(),
        }
    }
}

impl Settings {
    /// Serialises the settings as a configuration file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// The store to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Db {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// In memory, lost with the process. For tests.
    Memory,
    /// A PostgreSQL database.
    Postgres(String),
}

impl FromStr for Db {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "memory" {
            return Ok(Self::Memory);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            _ => Err(format!("{text:?} is neither sqlite:PATH nor postgres://… nor memory")),
        }
    }
}

impl fmt::Display for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Memory => f.write_str("memory"),
            // The URL may contain a password.
            Self::Postgres(url) => {
                let host = url.rsplit_once('@').map_or("…", |(_, host)| host);
                write!(f, "postgres://…@{host}")
            }
        }
    }
}

impl Serialize for Db {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Db {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The HTTP server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: usize,
    /// Maximum size of a source to deploy, in bytes.
    pub max_deploy_bytes: usize,
    /// Maximum nesting of JSON in request bodies and in responses to outbound calls.
    pub max_json_depth: usize,
    /// Maximum size of a request head, in bytes.
    pub max_header_bytes: usize,
    /// Maximum number of header fields of a request.
    pub max_headers: usize,
    /// Time limit for receiving the head of the next request; also the idle timeout of a
    /// connection.
    pub header_timeout: Period,
    /// Time limit for receiving a request body.
    pub body_timeout: Period,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Maximum number of connections per address; for IPv6 per /64 network.
    pub max_connections_per_address: usize,
    /// Maximum number of requests in flight on one HTTP/2 connection, waiting ones included.
    pub max_streams: u32,
    /// Maximum number of requests in flight; waiting requests do not count.
    pub max_requests: usize,
    /// Maximum number of requests that wait for a body, an instance, tasks or events.
    pub max_waiting: usize,
    /// Longest wait of a synchronous start.
    pub max_wait: Period,
    /// Longest wait of a claim for tasks.
    pub max_claim_wait: Period,
    /// Time limit for requests in flight at shutdown.
    pub drain_timeout: Period,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            max_body_bytes: 1 << 20,
            max_deploy_bytes: 16 << 20,
            max_json_depth: 128,
            max_header_bytes: 64 << 10,
            max_headers: 100,
            header_timeout: Period::seconds(30),
            body_timeout: Period::seconds(30),
            max_connections: 10_000,
            max_connections_per_address: 2_048,
            max_streams: 256,
            max_requests: 1_024,
            max_waiting: 8_192,
            max_wait: Period::seconds(25),
            max_claim_wait: Period::seconds(60),
            drain_timeout: Period::seconds(20),
        }
    }
}

/// TLS of inbound connections. Without a certificate TLS is off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// PEM file with the certificate of the server and its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// PEM file with the key of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// PEM file with the authorities that issue client certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
    /// Whether clients need a certificate when `client_ca` is set.
    pub clients: ClientCertificates,
    /// Lifetime of `Strict-Transport-Security`; zero turns the header off.
    pub hsts: Period,
}

impl Default for TlsSettings {
    fn default() -> Self {
        Self {
            cert: None,
            key: None,
            client_ca: None,
            clients: ClientCertificates::Required,
            hsts: Period::seconds(365 * 24 * 60 * 60),
        }
    }
}

/// Whether clients must present a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientCertificates {
    /// Connections without a certificate are rejected.
    Required,
    /// A certificate is verified if presented.
    Optional,
}

/// Roles, in rising order of trust except for workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything.
    Viewer,
    /// Reads; starts, signals, cancels and corrects instances.
    Operator,
    /// Claims tasks and reports on them.
    Worker,
    /// Deploys definitions.
    Deployer,
    /// Everything.
    Admin,
}

/// Authentication of callers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// API keys.
    pub keys: Vec<ApiKey>,
    /// Tokens of an identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtSettings>,
}

impl AuthSettings {
    /// Whether authentication is configured.
    pub const fn is_configured(&self) -> bool {
        !self.keys.is_empty() || self.jwt.is_some()
    }
}

/// An API key as stored: its hash, never the key itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// The public part of the key.
    pub id: String,
    /// Name of the owner or purpose, shown in history and log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SHA-256 of the whole key, in hex.
    pub sha256: String,
    /// The role of its holder.
    pub role: Role,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl ApiKey {
    /// The name, or the id if it has none.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.id)
    }
}

/// Tokens of an identity provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtSettings {
    /// Expected issuer (`iss`).
    pub issuer: String,
    /// Expected audience (`aud`).
    pub audience: String,
    /// URL or file of the issuer's keys.
    pub jwks: String,
    /// Accepted signature algorithms.
    #[serde(default = "algorithms")]
    pub algorithms: Vec<String>,
    /// The claim with the role or a list of roles.
    #[serde(default = "role_claim")]
    pub role_claim: String,
    /// Tolerated clock difference.
    #[serde(default = "leeway")]
    pub leeway: Period,
}

fn algorithms() -> Vec<String> {
    ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec()
}

fn role_claim() -> String {
    "role".to_owned()
}

const fn leeway() -> Period {
    Period::seconds(30)
}

/// Rate limits of callers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateSettings {
    /// Requests per second per key, or per address without a key; 0 means unlimited.
    pub requests_per_second: u32,
    /// Size of the token bucket: requests allowed at once.
    pub burst: u32,
    /// Failed authentications per minute, key and address.
    pub failures_per_minute: u32,
}

impl Default for RateSettings {
    fn default() -> Self {
        Self { requests_per_second: 0, burst: 200, failures_per_minute: 30 }
    }
}

/// Limits of outbound calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressSettings {
    /// Private networks that may be called, such as `10.1.0.0/16`.
    pub allow: Vec<String>,
    /// Ports that may be called; empty means all.
    pub ports: Vec<u16>,
    /// Addresses that replace hosts, such as `"*.example.com" = "127.0.0.1:9443"`, for mocks.
    pub host_overrides: BTreeMap<String, String>,
    /// PEM file with authorities that are trusted in addition to those of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// Maximum number of redirects to follow.
    pub max_redirects: u32,
    /// Time limit for connecting.
    pub connect_timeout: Period,
    /// Time limit of a call that sets none.
    pub timeout: Period,
    /// Longest time limit that a call may set.
    pub max_timeout: Period,
    /// Maximum size of a response, in bytes.
    pub max_response_bytes: usize,
    /// Maximum number of calls in flight.
    pub max_calls: usize,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            ports: vec![80, 443],
            host_overrides: BTreeMap::new(),
            ca_file: None,
            max_redirects: 5,
            connect_timeout: Period::seconds(5),
            timeout: Period::seconds(30),
            max_timeout: Period::seconds(300),
            max_response_bytes: 1 << 20,
            max_calls: 256,
        }
    }
}

/// Retention periods: ISO 8601 durations, or `forever`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Completed instances.
    pub completed: String,
    /// Failed instances.
    pub failed: String,
    /// Cancelled instances.
    pub cancelled: String,
    /// Results of detached tasks.
    pub detached_tasks: String,
    /// Outcomes of occurrences of schedules.
    pub occurrences: String,
    /// Periods per definition: `completed`, `failed`, `cancelled`.
    pub definitions: BTreeMap<String, BTreeMap<String, String>>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        let month = || "P30D".to_owned();
        Self {
            completed: month(),
            failed: month(),
            cancelled: month(),
            detached_tasks: "P7D".to_owned(),
            occurrences: month(),
            definitions: BTreeMap::new(),
        }
    }
}

impl RetentionSettings {
    /// Parses the periods for the engine.
    pub fn to_retention(&self) -> Result<Retention, TimeError> {
        let mut retention = Retention {
            completed: Keep::parse(&self.completed)?,
            failed: Keep::parse(&self.failed)?,
            cancelled: Keep::parse(&self.cancelled)?,
            detached_tasks: Keep::parse(&self.detached_tasks)?,
            occurrences: Keep::parse(&self.occurrences)?,
            definitions: BTreeMap::new(),
        };
        for (name, own) in &self.definitions {
            let period = |ending: &str| own.get(ending).map(|text| Keep::parse(text)).transpose();
            let periods = Periods {
                completed: period("completed")?,
                failed: period("failed")?,
                cancelled: period("cancelled")?,
            };
            retention.definitions.insert(name.clone(), periods);
        }
        Ok(retention)
    }
}

/// Options of the store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// What a commit in SQLite survives.
    pub durability: StoreDurability,
    /// Start although the write-ahead log is damaged; everything after the damage is lost.
    pub accept_damaged_wal: bool,
    /// Maximum size of the SQLite file in bytes; 0 means unlimited.
    pub max_bytes: u64,
    /// Concurrent transactions in PostgreSQL.
    pub writers: usize,
    /// Concurrent reads in PostgreSQL.
    pub readers: usize,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            durability: StoreDurability::Power,
            accept_damaged_wal: false,
            max_bytes: 0,
            writers: 8,
            readers: 4,
        }
    }
}

/// What a commit in SQLite survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreDurability {
    /// A power failure: the log is synchronised with every commit.
    Power,
    /// A crash of the process. A power failure can lose the last commits. Faster on slow disks.
    Process,
}

/// The clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClockSettings {
    /// Whether the clock is virtual: it moves only on request. For tests and demonstrations.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Initial time of a virtual clock; now by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// Maximum number of timers that one advance may fire.
    pub max_firings: u64,
    /// Start although the clock is far behind the time recorded in the store; no timer fires until
    /// it has caught up.
    pub accept_behind: bool,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self { is_virtual: false, start: None, max_firings: 100_000, accept_behind: false }
    }
}

/// The log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    /// Format of the lines.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".to_owned() }
    }
}

/// Export of traces to an OpenTelemetry collector.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceSettings {
    /// OTLP/HTTP endpoint such as `http://127.0.0.1:4318`; without it nothing is exported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The service name in traces.
    pub service: String,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, service: "meantime".to_owned() }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}
