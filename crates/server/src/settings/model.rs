//! Every setting with its default. `docs/reference/configuration.md` says the same in words.

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
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where state is kept.
    pub db: Db,
    /// Whether it may listen beyond this machine without asking who comes.
    pub insecure: bool,
    /// The HTTP server.
    pub http: HttpSettings,
    /// TLS for those who connect.
    pub tls: TlsSettings,
    /// Who may do what.
    pub auth: AuthSettings,
    /// How often.
    pub rate: RateSettings,
    /// Where outbound calls may go.
    pub egress: EgressSettings,
    /// The engine's limits.
    pub limits: Limits,
    /// How long what is over is kept.
    pub retention: RetentionSettings,
    /// The store.
    pub store: StoreSettings,
    /// The clock.
    pub clock: ClockSettings,
    /// The log.
    pub log: LogSettings,
    /// Traces.
    pub trace: TraceSettings,
    /// What journeys get from their deployment.
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
    /// As a configuration file says it.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Db {
    /// In one file.
    Sqlite(PathBuf),
    /// In memory: gone with the process. For tests.
    Memory,
    /// In a PostgreSQL database.
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
            // It may hold a password.
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
    /// Bytes of a request body.
    pub max_body_bytes: usize,
    /// Bytes of a source to deploy.
    pub max_deploy_bytes: usize,
    /// Levels of nesting in JSON that enters: bodies of requests, and of answers to calls.
    pub max_json_depth: usize,
    /// Bytes of a request's head.
    pub max_header_bytes: usize,
    /// Header fields of a request.
    pub max_headers: usize,
    /// How long a connection may take until the head of its next request is there, whether it sends
    /// slowly or nothing at all.
    pub header_timeout: Period,
    /// How long a request's body may take to arrive.
    pub body_timeout: Period,
    /// Connections at a time.
    pub max_connections: usize,
    /// Connections of one address at a time; of one network of 64 bits in IPv6.
    pub max_connections_per_address: usize,
    /// Requests under way at a time; those that wait do not count.
    pub max_requests: usize,
    /// Requests that wait at a time: for their body, for an instance, for tasks or for events.
    pub max_waiting: usize,
    /// The longest a synchronous start waits.
    pub max_wait: Period,
    /// The longest a claim waits for tasks.
    pub max_claim_wait: Period,
    /// How long what is under way may take after the server was told to stop.
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
            max_requests: 1_024,
            max_waiting: 8_192,
            max_wait: Period::seconds(25),
            max_claim_wait: Period::seconds(60),
            drain_timeout: Period::seconds(20),
        }
    }
}

/// TLS for those who connect. Without certificates there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// A PEM file with the server's certificate and what it was issued with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert: Option<PathBuf>,
    /// A PEM file with its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
    /// A PEM file with the authorities that issue certificates to clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ca: Option<PathBuf>,
    /// Whether clients must have one, if there is such a file.
    pub clients: ClientCertificates,
    /// How long browsers remember never to come without TLS; zero tells them nothing.
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
    /// Nobody connects without one.
    Required,
    /// Whoever has one may present it.
    Optional,
}

/// What a caller may do, in rising order of trust except for workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks at everything.
    Viewer,
    /// Starts, signals, cancels, corrects.
    Operator,
    /// Claims tasks and reports on them.
    Worker,
    /// Deploys definitions.
    Deployer,
    /// Everything.
    Admin,
}

/// Who may do what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// Keys of programs and people.
    pub keys: Vec<ApiKey>,
    /// Tokens of an identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtSettings>,
}

impl AuthSettings {
    /// Whether anybody is asked who they are.
    pub const fn is_configured(&self) -> bool {
        !self.keys.is_empty() || self.jwt.is_some()
    }
}

/// A key, as it is kept: never the key itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// The part of the key that is no secret.
    pub id: String,
    /// Whose it is or what it is for: what the history and the log say who did something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SHA-256 of the whole key, in hex.
    pub sha256: String,
    /// What it may do.
    pub role: Role,
    /// When it stops being good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl ApiKey {
    /// How it is called where people read it.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&self.id)
    }
}

/// Tokens of an identity provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JwtSettings {
    /// Who signs them: `iss`.
    pub issuer: String,
    /// Whom they are for: `aud`.
    pub audience: String,
    /// Where the issuer's keys are: an address, or a file.
    pub jwks: String,
    /// Which signatures are believed.
    #[serde(default = "algorithms")]
    pub algorithms: Vec<String>,
    /// The claim that holds the role, or a list with it.
    #[serde(default = "role_claim")]
    pub role_claim: String,
    /// How far clocks may differ.
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

/// How often somebody may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateSettings {
    /// Requests a second for each key, or each address without keys; 0 is as many as come.
    pub requests_per_second: u32,
    /// So many at once.
    pub burst: u32,
    /// Wrong credentials a minute for one key from one address.
    pub failures_per_minute: u32,
}

impl Default for RateSettings {
    fn default() -> Self {
        Self { requests_per_second: 0, burst: 200, failures_per_minute: 30 }
    }
}

/// Where outbound calls may go, and how much they may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressSettings {
    /// Networks that may be called although they are private, such as `10.1.0.0/16`.
    pub allow: Vec<String>,
    /// Ports that may be called; empty is all.
    pub ports: Vec<u16>,
    /// Hosts that are reached elsewhere, such as `"*.example.com" = "127.0.0.1:9443"`: mocks.
    pub host_overrides: BTreeMap<String, String>,
    /// A PEM file with authorities whose certificates are believed besides those of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// How many redirects are followed.
    pub max_redirects: u32,
    /// How long connecting may take.
    pub connect_timeout: Period,
    /// How long a call may take that names no timeout.
    pub timeout: Period,
    /// The longest timeout that a call may name.
    pub max_timeout: Period,
    /// Bytes of an answer.
    pub max_response_bytes: usize,
    /// Calls under way at a time.
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

/// How long what is over is kept: ISO 8601 durations, or `forever`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Completed instances.
    pub completed: String,
    /// Failed instances.
    pub failed: String,
    /// Cancelled instances.
    pub cancelled: String,
    /// Outcomes of tasks that nobody awaited.
    pub detached_tasks: String,
    /// What became of occurrences of schedules.
    pub occurrences: String,
    /// Definitions with periods of their own: `completed`, `failed`, `cancelled`.
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
    /// As the engine wants it.
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

/// The store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// What a commit in SQLite survives.
    pub durability: StoreDurability,
    /// Start although the write-ahead log of the file is damaged: what follows the damage is lost.
    pub accept_damaged_wal: bool,
    /// The largest the file may become, in bytes; 0 is as large as the disk allows.
    pub max_bytes: u64,
    /// How many transactions can be open at a time in PostgreSQL.
    pub writers: usize,
    /// How many reads can run at a time in PostgreSQL.
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
    /// Whether time stands still until it is moved by a request. For tests and demonstrations.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
    /// Where the virtual clock begins; now when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// How many timers one move of the clock may set off.
    pub max_firings: u64,
    /// Start although the clock is far behind the time that the store has seen: no timer fires
    /// until it has caught up.
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
    /// Text for people, or JSON for programs.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".to_owned() }
    }
}

/// Traces for a collector of OpenTelemetry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TraceSettings {
    /// Where it takes OTLP over HTTP, such as `http://127.0.0.1:4318`. Without it nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// What this service is called there.
    pub service: String,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self { endpoint: None, service: "meantime".to_owned() }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}
