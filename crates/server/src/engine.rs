//! The composition root: builds an engine from store, notations, clock, connectors and kernel.

use std::sync::Arc;

use meantime_journey::{JOURNEY_NOTATION, JourneyNotation};
use meantime_kernel::clock::{Clock, SystemClock, VirtualClock};
use meantime_kernel::driver::{Builder, Kernel};
use meantime_kernel::machine::{Config, Notations};
use meantime_kernel::store::{MemoryStore, Store};
use meantime_store::postgres::{self, PostgresStore};
use meantime_store::sqlite::{Durability, Options, SqliteStore};

use crate::connector::Connectors;
use crate::journey::{self, EphemeralKernel, InboundRequests};
use crate::settings::{Db, Settings, StoreDurability};

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be opened.
    #[error("{db}: {source}")]
    Store {
        /// The store, without its password.
        db: String,
        /// The error of the store.
        #[source]
        source: meantime_kernel::store::Error,
    },
    /// A setting is not valid.
    #[error("{0}")]
    Setting(String),
}

/// Maps media types and file names to notations.
#[derive(Debug, Clone)]
pub struct SourceFormats(Vec<SourceFormat>);

#[derive(Debug, Clone)]
struct SourceFormat {
    notation: &'static str,
    media_types: &'static [&'static str],
    suffixes: &'static [&'static str],
}

impl Default for SourceFormats {
    fn default() -> Self {
        Self(vec![
            SourceFormat {
                notation: "flow",
                media_types: &["text/javascript", "application/javascript"],
                suffixes: &[".flow.js"],
            },
            SourceFormat {
                notation: "flow",
                media_types: &["text/typescript", "application/typescript"],
                suffixes: &[".flow.ts"],
            },
            SourceFormat {
                notation: "journey",
                media_types: &["application/yaml", "application/json", "text/yaml"],
                suffixes: &[".journey.yaml", ".journey.yml", ".journey.json"],
            },
            SourceFormat {
                notation: "bpmn",
                media_types: &["application/xml", "application/bpmn+xml", "text/xml"],
                suffixes: &[".bpmn", ".bpmn.xml"],
            },
        ])
    }
}

impl SourceFormats {
    /// Adds a notation, for tests.
    #[must_use]
    pub fn with(mut self, notation: &'static str, media_types: &'static [&'static str]) -> Self {
        self.0.push(SourceFormat { notation, media_types, suffixes: &[] });
        self
    }

    /// The notation of a media type.
    pub fn notation(&self, media_type: &str) -> Option<&'static str> {
        let reads = |format: &&SourceFormat| format.media_types.contains(&media_type);
        self.0.iter().find(reads).map(|format| format.notation)
    }

    /// The notation of a file, by its name.
    pub fn notation_of_file(&self, name: &str) -> Option<&'static str> {
        self.format_of_file(name).map(|format| format.notation)
    }

    /// The media type of a file, by its name.
    pub fn media_type_of_file(&self, name: &str) -> Option<&'static str> {
        self.format_of_file(name)?.media_types.first().copied()
    }

    /// The name under which a source is kept. A source is read by its name alone, so that of
    /// TypeScript ends with its suffix. None if the name says something else than the media type.
    pub(crate) fn source_name(&self, media_type: &str, name: String) -> Option<String> {
        let reads = |format: &&SourceFormat| format.media_types.contains(&media_type);
        let Some(format) = self.0.iter().find(reads) else { return Some(name) };
        let is_typescript = matches!(name.rsplit_once('.'), Some((_, "ts")));
        match self.format_of_file(&name) {
            Some(other) if other.notation == format.notation => {
                (other.suffixes == format.suffixes).then_some(name)
            }
            _ if format.suffixes == [".flow.ts"] && !is_typescript => {
                Some(format!("{name}.flow.ts"))
            }
            _ if format.suffixes == [".flow.js"] && is_typescript => None,
            _ => Some(name),
        }
    }

    fn format_of_file(&self, name: &str) -> Option<&SourceFormat> {
        let reads =
            |format: &&SourceFormat| format.suffixes.iter().any(|suffix| name.ends_with(suffix));
        self.0.iter().find(reads)
    }

    /// All media types, for error messages.
    pub(crate) fn media_types(&self) -> Vec<&'static str> {
        self.0.iter().flat_map(|format| format.media_types).copied().collect()
    }
}

/// A running engine.
pub struct Engine {
    kernel: Kernel,
    ephemeral: EphemeralKernel,
    requests: InboundRequests,
    journeys: Arc<meantime_journey::Settings>,
    settings: Arc<Settings>,
    formats: SourceFormats,
}

impl Engine {
    /// Opens the store and starts the engine. Needs a tokio runtime.
    pub async fn start(settings: Settings, notations: Notations) -> Result<Self, StartError> {
        let store = open_store(&settings).await?;
        Self::start_on(store, settings, notations, SourceFormats::default()).await
    }

    /// Starts the engine on an open store.
    pub async fn start_on(
        store: Arc<dyn Store>,
        settings: Settings,
        notations: Notations,
        formats: SourceFormats,
    ) -> Result<Self, StartError> {
        let retention = settings.retention.to_retention();
        let retention = retention.map_err(|error| StartError::Setting(error.to_string()))?;
        let journeys = settings.journeys.to_notation_settings().map_err(StartError::Setting)?;
        let limits = journey::effective_limits(&journeys, settings.limits.clone());
        let config = Config { limits, ..Config::default() };
        let notations =
            notations.with(JOURNEY_NOTATION, Arc::new(JourneyNotation::new(journeys.clone())));
        let mut builder = Builder::new(store, notations.clone());
        builder = builder.config(config.clone()).retention(retention);
        if settings.clock.accept_behind {
            builder = builder.accept_clock_behind();
        }
        let mut clock: Arc<dyn Clock> = Arc::new(SystemClock);
        if settings.clock.is_virtual {
            let start = settings.clock.start.unwrap_or_else(|| clock.now().real);
            let virtual_clock = Arc::new(VirtualClock::new(start));
            builder = builder.virtual_clock(virtual_clock.clone());
            clock = virtual_clock;
        }
        let requests = InboundRequests::default();
        let connectors = Connectors::new(&settings, requests.clone(), clock.clone());
        let connectors = Arc::new(connectors.map_err(StartError::Setting)?);
        let store_error = |source| StartError::Store { db: settings.db.to_string(), source };
        let kernel = builder.engine_tasks(connectors.clone()).start().await.map_err(store_error)?;
        // Its definitions were validated when they were deployed. What this deployment lacks is
        // found by the run that needs it, as on the durable kernel.
        let lenient = meantime_journey::Settings { deploys: false, ..journeys.clone() };
        let notations = notations.with(JOURNEY_NOTATION, Arc::new(JourneyNotation::new(lenient)));
        let ephemeral = EphemeralKernel::start(notations, config, clock, connectors).await;
        let ephemeral = ephemeral.map_err(store_error)?;
        Ok(Self {
            kernel,
            ephemeral,
            requests,
            journeys: Arc::new(journeys),
            settings: Arc::new(settings),
            formats,
        })
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The effective settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// The source formats.
    pub fn formats(&self) -> &SourceFormats {
        &self.formats
    }

    /// The kernel of runs that are not stored.
    pub(crate) fn ephemeral(&self) -> &EphemeralKernel {
        &self.ephemeral
    }

    /// Inbound requests in progress.
    pub(crate) fn requests(&self) -> &InboundRequests {
        &self.requests
    }

    /// The settings that journeys read.
    pub(crate) fn journeys(&self) -> &Arc<meantime_journey::Settings> {
        &self.journeys
    }

    /// Finishes running work and stops.
    pub async fn stop(&self) {
        self.ephemeral.stop().await;
        self.kernel.stop().await;
    }
}

/// Opens the configured store and migrates it to the schema of this release.
pub async fn open_store(settings: &Settings) -> Result<Arc<dyn Store>, StartError> {
    let store_error = |source| StartError::Store { db: settings.db.to_string(), source };
    match &settings.db {
        Db::Memory => Ok(Arc::new(MemoryStore::new())),
        Db::Sqlite(path) => {
            let store = SqliteStore::open(path, sqlite_options(settings));
            Ok(Arc::new(store.map_err(store_error)?))
        }
        Db::Postgres(url) => {
            let store = PostgresStore::open(postgres_options(settings, url)).await;
            Ok(Arc::new(store.map_err(store_error)?))
        }
    }
}

/// Opens the store exclusively; fails if another process uses it.
pub async fn open_unshared_store(settings: &Settings) -> Result<Arc<dyn Store>, StartError> {
    let Db::Postgres(url) = &settings.db else { return open_store(settings).await };
    let store_error = |source| StartError::Store { db: settings.db.to_string(), source };
    let options = postgres::Options { shared: false, ..postgres_options(settings, url) };
    Ok(Arc::new(PostgresStore::open(options).await.map_err(store_error)?))
}

fn sqlite_options(settings: &Settings) -> Options {
    let durability = match settings.store.durability {
        StoreDurability::Power => Durability::Full,
        StoreDurability::Process => Durability::ProcessCrashOnly,
    };
    let max_size = Some(settings.store.max_bytes).filter(|bytes| *bytes > 0);
    let accept_damaged_wal = settings.store.accept_damaged_wal;
    Options { durability, max_size, accept_damaged_wal, ..Options::default() }
}

fn postgres_options(settings: &Settings, url: &str) -> postgres::Options {
    postgres::Options {
        // Nodes that share a store must agree on the time, but a virtual clock is local to a
        // process.
        shared: !settings.clock.is_virtual,
        writers: settings.store.writers,
        readers: settings.store.readers,
        ..postgres::Options::new(url)
    }
}
