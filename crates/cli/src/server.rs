//! A server from its settings to its end, for `serve` and `dev`.

use std::future::Future;
use std::io::IsTerminal as _;

use anyhow::{Context as _, Result};
use meantime_server::{
    App, Engine, LogFormat, LogSettings, Settings, notations, raise_file_limit, serve,
};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Runs a server until it is told to stop. `begun` is called when it answers.
pub(crate) fn run<B, F>(settings: Settings, begun: B) -> Result<()>
where
    B: FnOnce(Engine, std::net::SocketAddr) -> F,
    F: Future<Output = Result<Engine>>,
{
    log(&settings.log)?;
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let engine = Engine::start(settings, notations()).await?;
        let app = App::new(&engine);
        let serving = serve(app).await?;
        let address = serving.address().context("the address")?;
        let stop = stop_signal()?;
        tracing::info!(%address, "listening");
        let engine = begun(engine, address).await?;
        serving.run(stop).await;
        engine.stop().await;
        tracing::info!("stopped");
        Ok(())
    })
}

/// Comes back when the process is told to end.
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

fn log(settings: &LogSettings) -> Result<()> {
    let level: LevelFilter = settings.level.parse().with_context(|| {
        format!("log.level: {:?} is none of error, warn, info, debug, trace", settings.level)
    })?;
    let filter = Targets::new().with_default(LevelFilter::WARN).with_target("meantime", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    let set = match settings.format {
        LogFormat::Json => registry.with(lines.json()).try_init(),
        LogFormat::Text => {
            registry.with(lines.with_ansi(std::io::stderr().is_terminal())).try_init()
        }
    };
    set.context("the log")
}
