//! `meantime serve`: runs a server with the configuration from file, environment and flags.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context as _, Result};
use meantime_core::Timestamp;
use meantime_core::time::TimeError;
use meantime_server::{Db, Layers, Settings};

use crate::server;

/// Flags of every command that uses the configuration of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerFlags {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The store: sqlite:PATH, postgres://… or memory
    #[arg(long, value_name = "DB")]
    pub(super) db: Option<Db>,
    /// Use a virtual clock that only `POST /clock/advance` moves, starting at INSTANT or now
    #[arg(long, value_name = "INSTANT", num_args = 0..=1, default_missing_value = NOW_ARGUMENT)]
    virtual_clock: Option<ClockStart>,
    /// Start although the clock is behind the time recorded in the store; no timer fires until it
    /// has caught up
    #[arg(long)]
    accept_clock_behind: bool,
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE", env = "MEANTIME_CONFIG")]
    config: Option<PathBuf>,
    /// Allow unauthenticated remote access
    #[arg(long)]
    insecure: bool,
    /// PEM file with the certificate of the server; enables TLS
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the key of the certificate
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// PEM file with authorities for client certificates; clients must present one
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,
}

/// The value of `--virtual-clock` without an instant.
const NOW_ARGUMENT: &str = "now";

/// The initial time of a virtual clock.
#[derive(Debug, Clone, Copy)]
enum ClockStart {
    Now,
    At(Timestamp),
}

impl FromStr for ClockStart {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        if text == NOW_ARGUMENT { Ok(Self::Now) } else { Timestamp::parse(text).map(Self::At) }
    }
}

impl ServerFlags {
    /// Whether `--virtual-clock` is set.
    pub(super) const fn is_virtual(&self) -> bool {
        self.virtual_clock.is_some()
    }

    /// Merges the settings; flags override the environment, which overrides the file.
    pub(super) fn settings(&self, defaults: Layers) -> Result<Settings> {
        let mut layers = defaults;
        if let Some(path) = &self.config {
            layers = layers.file(path)?;
        }
        layers = layers.environment(std::env::vars());
        if let Some(listen) = self.listen {
            layers = layers.flag("listen", listen.to_string());
        }
        if let Some(start) = self.virtual_clock {
            layers = layers.flag("clock.virtual", true);
            if let ClockStart::At(start) = start {
                layers = layers.flag("clock.start", start.to_string());
            }
        }
        if self.accept_clock_behind {
            layers = layers.flag("clock.accept_behind", true);
        }
        if self.insecure {
            layers = layers.flag("insecure", true);
        }
        let files = [
            ("tls.cert", &self.tls_cert),
            ("tls.key", &self.tls_key),
            ("tls.client_ca", &self.tls_client_ca),
        ];
        for (name, file) in files {
            if let Some(file) = file {
                let file = file.to_str().with_context(|| format!("{name} is not UTF-8"))?;
                layers = layers.flag(name, file);
            }
        }
        let mut settings = layers.settings()?;
        if let Some(db) = &self.db {
            settings.db = db.clone();
        }
        Ok(settings)
    }
}

/// Runs a production server.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    flags: ServerFlags,
}

impl Serve {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let settings = self.flags.settings(Layers::default())?;
        server::run(settings, |_, _| {}, |engine, _, _| async { Ok(engine) })?;
        Ok(ExitCode::SUCCESS)
    }
}
