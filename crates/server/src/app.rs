//! The shared state of the API: what handlers use.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use meantime_kernel::driver::Kernel;
use meantime_kernel::store::Store;
use tokio::sync::watch;

use crate::auth::Authenticator;
use crate::background::BackgroundPool;
use crate::concurrency::ConcurrencyLimit;
use crate::console::Console;
use crate::definition_cache::DefinitionCache;
use crate::engine::{Engine, SourceFormats};
use crate::feed::HistoryFeed;
use crate::journey::{EphemeralKernel, InboundRequests, SurfaceIndex};
use crate::observe::{self, Metrics};
use crate::rate_limit::RateLimiter;
use crate::settings::Settings;
use crate::{openapi, route};

/// The API on top of an engine. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppInner>);

struct AppInner {
    kernel: Kernel,
    ephemeral: EphemeralKernel,
    requests: InboundRequests,
    journeys: Arc<meantime_journey::Settings>,
    surface_index: SurfaceIndex,
    formats: SourceFormats,
    settings: Arc<Settings>,
    definitions: DefinitionCache,
    feed: HistoryFeed,
    auth: Authenticator,
    limiter: RateLimiter,
    concurrency: ConcurrencyLimit,
    background: Arc<BackgroundPool>,
    metrics: Metrics,
    draining: watch::Sender<bool>,
    openapi: openapi::OpenApiPages,
    console: Console,
}

impl App {
    /// The API of an engine, without the console. Needs a tokio runtime.
    pub fn new(engine: &Engine) -> Self {
        Self::with_console(engine, Console::Missing("this server has none"))
    }

    /// The API of an engine, with the console at `/`. Needs a tokio runtime.
    pub fn with_console(engine: &Engine, console: Console) -> Self {
        let settings = engine.settings().clone();
        let kernel = engine.kernel().clone();
        tokio::spawn(observe::log_store(kernel.store_health()));
        tokio::spawn(observe::log_damage(kernel.damaged()));
        tokio::spawn(observe::log_clock(kernel.clock_step()));
        let metrics = Metrics::new();
        for kernel in [&kernel, engine.ephemeral().kernel()] {
            tokio::spawn(observe::log_deadlines(kernel.timed_out(), metrics.clone()));
        }
        Self(Arc::new(AppInner {
            ephemeral: engine.ephemeral().clone(),
            requests: engine.requests().clone(),
            journeys: engine.journeys().clone(),
            surface_index: SurfaceIndex::default(),
            formats: engine.formats().clone(),
            definitions: DefinitionCache::new(kernel.clone()),
            feed: HistoryFeed::start(&kernel),
            auth: Authenticator::new(&settings.auth),
            limiter: RateLimiter::new(&settings),
            concurrency: ConcurrencyLimit::new(&settings.http),
            background: BackgroundPool::start(),
            metrics,
            draining: watch::Sender::new(false),
            openapi: openapi::OpenApiPages::new(),
            console,
            kernel,
            settings,
        }))
    }

    /// The router with all middleware.
    pub fn router(&self) -> Router {
        route::router(self)
    }

    /// Ends all waits: long polls, synchronous starts and event streams are answered with the
    /// current state.
    pub fn drain(&self) {
        self.0.draining.send_replace(true);
    }

    /// Whether [`Self::drain`] was called.
    pub(crate) fn is_draining(&self) -> bool {
        *self.0.draining.borrow()
    }

    /// Completes when the server starts to drain.
    pub(crate) fn drain_started(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut draining = self.0.draining.subscribe();
        async move {
            // The sender is dropped only with the server.
            let _ = draining.wait_for(|draining| *draining).await;
        }
    }

    /// Completes after the limit, or when the server starts to drain.
    pub(crate) fn timeout_or_drain(
        &self,
        limit: Duration,
    ) -> impl Future<Output = ()> + Send + use<> {
        let drained = self.drain_started();
        async move {
            // Both outcomes end the wait.
            let _ = tokio::time::timeout(limit, drained).await;
        }
    }

    /// The thread pool of long requests.
    pub(crate) fn background(&self) -> &Arc<BackgroundPool> {
        &self.0.background
    }

    pub(crate) fn kernel(&self) -> &Kernel {
        &self.0.kernel
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &**self.0.kernel.store()
    }

    /// The kernel of runs that are not stored.
    pub(crate) fn ephemeral(&self) -> &EphemeralKernel {
        &self.0.ephemeral
    }

    /// Inbound requests in progress, for the tasks of journeys.
    pub(crate) fn requests(&self) -> &InboundRequests {
        &self.0.requests
    }

    /// The settings that journeys read.
    pub(crate) fn journey_settings(&self) -> &Arc<meantime_journey::Settings> {
        &self.0.journeys
    }

    /// The index of API routes and public definitions.
    pub(crate) fn surface_index(&self) -> &SurfaceIndex {
        &self.0.surface_index
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn formats(&self) -> &SourceFormats {
        &self.0.formats
    }

    pub(crate) fn definitions(&self) -> &DefinitionCache {
        &self.0.definitions
    }

    pub(crate) fn feed(&self) -> &HistoryFeed {
        &self.0.feed
    }

    pub(crate) fn auth(&self) -> &Authenticator {
        &self.0.auth
    }

    pub(crate) fn limiter(&self) -> &RateLimiter {
        &self.0.limiter
    }

    pub(crate) fn concurrency(&self) -> &ConcurrencyLimit {
        &self.0.concurrency
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn console(&self) -> Console {
        self.0.console
    }

    pub(crate) fn openapi(&self) -> &openapi::OpenApiPages {
        &self.0.openapi
    }
}
