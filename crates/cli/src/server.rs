//! Runs a server from startup to shutdown, for `serve` and `dev`.

use std::future::Future;
use std::net::SocketAddr;
use std::num::NonZero;

use anyhow::{Context as _, Result};
use meantime_server::{
    App, Console, ConsoleBundle, Engine, LogFormat, LogSettings, Settings, TraceExporter,
    connect_traces, listen, log_filter, notations, raise_file_limit,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::show;

/// Runs a server until SIGTERM or Ctrl-C. `prepare` may change the settings once the address is
/// known; `started` is called when the server answers.
pub(crate) fn run<P, B, F>(mut settings: Settings, prepare: P, started: B) -> Result<()>
where
    P: FnOnce(&mut Settings, SocketAddr),
    B: FnOnce(Engine, App, SocketAddr) -> F,
    F: Future<Output = Result<Engine>>,
{
    let _collector = init_logging(&settings)?;
    raise_file_limit();
    // The engine has its own threads on the same cores. With one thread per core, the threads that
    // read and answer requests would get less than their share when every core is busy.
    let threads = 2 * std::thread::available_parallelism().map_or(2, NonZero::get);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(async {
        // Listen before the store is opened: a server that may not listen creates no file.
        let listening = listen(&settings).await?;
        prepare(
            &mut settings,
            listening.address().context("cannot read the address of the socket")?,
        );
        let engine = Engine::start(settings, notations()).await?;
        let app = App::with_console(&engine, console());
        let serving = listening.serve(app.clone());
        let address = serving.address().context("cannot read the address of the socket")?;
        let stop = stop_signal()?;
        tracing::info!(%address, tls = serving.is_secure(), "listening");
        let engine = started(engine, app, address).await?;
        serving.run(stop).await;
        engine.stop().await;
        tracing::info!("stopped");
        Ok(())
    })
}

/// The console that was built into this program.
fn console() -> Console {
    match meantime_console::MISSING {
        Some(reason) => Console::Missing(reason),
        None => Console::Embedded(ConsoleBundle {
            page: meantime_console::PAGE,
            page_hash: meantime_console::PAGE_HASH,
            file: |path| {
                let file = meantime_console::FILES.iter().find(|file| file.path == path)?;
                Some(file.gzip)
            },
        }),
    }
}

/// Completes on SIGTERM or SIGINT.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Initialises logging, and the export of traces if a collector is configured.
fn init_logging(settings: &Settings) -> Result<Option<TraceExporter>> {
    let LogSettings { format, level } = &settings.log;
    let level: LevelFilter = level.parse().with_context(|| {
        format!("log.level: {level:?} is not one of error, warn, info, debug, trace")
    })?;
    let filter = log_filter(level);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match format {
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
        LogFormat::Text => lines.with_ansi(show::colors()).with_filter(filter).boxed(),
    };
    let (spans, collector) = connect_traces(&settings.trace)?.unzip();
    tracing_subscriber::registry()
        .with(lines)
        .with(spans)
        .try_init()
        .context("cannot initialise logging")?;
    Ok(collector)
}
