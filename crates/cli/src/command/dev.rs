//! `meantime dev`: runs a development server and deploys the definitions of a directory.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use meantime_core::{SCHEDULE_DEFINITION, ScheduleSpec, Severity, Source};
use meantime_kernel::command::{Command, ScheduleAction};
use meantime_kernel::driver::{DeployError, Kernel};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{DefinitionFilter, InstanceFilter, InstanceRow, Page};
use meantime_server::{App, Layers, Settings};
use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::serve::ServerFlags;
use crate::client::DEFAULT_URL;
use crate::definitions::{self, DefinitionFile};
use crate::diagnostic::render_diagnostic;
use crate::{server, show};

/// The directory that is loaded when none is given.
const DEFAULT_DIRECTORY: &str = "examples";

/// The configuration value with which the example journeys find the services that they call: this
/// server serves stubs of them.
const STUBS_CONFIG_KEY: &str = "stubs";

/// The directory of the embedded store.
const STATE_DIRECTORY: &str = ".meantime";

/// The example that the welcome text suggests, with an input: it starts without other services.
const FIRST_EXAMPLE: (&str, &str) = ("reminder", r#"{"invoice":"R-17","customer":"Ann"}"#);

/// Runs a development server.
#[derive(Debug, clap::Args)]
pub(crate) struct Dev {
    /// Directory of definitions to deploy and watch [default: examples, with schedules paused]
    directory: Option<PathBuf>,
    /// Directory of files that definitions refer to, besides the definition's own directory
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
    /// Send outbound calls for HOST (or *.DOMAIN) to ADDRESS: HOST:PORT, or http://HOST:PORT for a
    /// mock without TLS
    #[arg(long, value_name = "HOST=ADDRESS", value_parser = parse_host_override)]
    host_override: Vec<(String, String)>,
    /// PEM file of certificate authorities that outbound calls trust besides those of this machine
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    flags: ServerFlags,
}

/// Parses `HOST=ADDRESS`.
fn parse_host_override(text: &str) -> Result<(String, String), String> {
    let (host, address) = text.split_once('=').ok_or("write HOST=ADDRESS")?;
    Ok((host.trim().to_owned(), address.trim().to_owned()))
}

impl Dev {
    pub(crate) fn run(self) -> Result<ExitCode> {
        // Services under development run on this machine, which egress forbids by default.
        let loopback = vec!["127.0.0.0/8".to_owned(), "::1/128".to_owned()];
        // A store whose virtual clock was advanced is ahead of the wall clock, and `serve` rejects
        // it: so each clock has its own file.
        let file = if self.flags.is_virtual() { "virtual.db" } else { "meantime.db" };
        let defaults = Layers::default()
            .flag("db", format!("sqlite:{STATE_DIRECTORY}/{file}"))
            .flag("egress.allow", loopback)
            .flag("log.level", "warn");
        let mut settings = self.flags.settings(defaults)?;
        settings.egress.host_overrides.extend(self.host_override);
        settings.egress.ca_file = self.ca_file.or(settings.egress.ca_file);
        std::fs::create_dir_all(STATE_DIRECTORY).with_context(|| STATE_DIRECTORY.to_owned())?;
        let state = settings.db.to_string();
        let is_virtual = settings.clock.is_virtual;
        let scheme = if settings.tls.cert.is_some() { "https" } else { "http" };
        let catalogs = self.catalog;
        let is_default_directory = self.directory.is_none();
        let directory = self.directory.unwrap_or_else(|| PathBuf::from(DEFAULT_DIRECTORY));
        let base = move |address: SocketAddr| format!("{scheme}://{}", connectable(address));
        let prepare = move |settings: &mut Settings, address: SocketAddr| {
            let stubs = format!("{}/api/v1/stubs", base(address));
            let config = &mut settings.journeys.config;
            config.entry(STUBS_CONFIG_KEY.to_owned()).or_insert_with(|| stubs.into());
        };
        server::run(settings, prepare, |engine, app, address| async move {
            let loaded = deploy_directory(&app, engine.kernel(), &directory, &catalogs).await?;
            let paused = if is_default_directory {
                pause_new_schedules(engine.kernel(), &loaded).await?
            } else {
                Vec::new()
            };
            let names: Vec<String> = loaded.into_iter().map(|(name, ..)| name).collect();
            print_welcome(&base(address), &directory, &names, &paused, &state, is_virtual);
            watch_directory(app, engine.kernel().clone(), &directory, catalogs);
            Ok(engine)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Deploys all definitions of a directory. Errors are printed and do not stop the rest.
async fn deploy_directory(
    app: &App,
    kernel: &Kernel,
    directory: &Path,
    catalogs: &[PathBuf],
) -> Result<Vec<(String, u32, bool)>> {
    if !directory.exists() {
        show::print_error(&format!("{} does not exist; nothing was deployed", directory.display()));
        return Ok(Vec::new());
    }
    let mut loaded = Vec::new();
    for file in definitions::find(directory, catalogs)? {
        loaded.extend(deploy_file(app, kernel, &file).await);
    }
    Ok(loaded)
}

/// Pauses the schedules of definitions that were deployed for the first time: a user who advances
/// the clock by a month wants to see the instance that they started, not thirty nightly runs.
/// Returns the names of those definitions.
async fn pause_new_schedules(
    kernel: &Kernel,
    loaded: &[(String, u32, bool)],
) -> Result<Vec<String>> {
    let name = Some(SCHEDULE_DEFINITION.to_owned());
    let filter = DefinitionFilter { name, ..DefinitionFilter::default() };
    let definitions = kernel.store().definitions(filter).await?;
    let definitions = definitions.iter().map(|row| row.id).collect();
    let filter = InstanceFilter { definitions, ..InstanceFilter::default() };
    let rows = kernel.store().instances(filter, Page::first(1_000)).await?;
    let mut paused = Vec::new();
    for row in rows.iter().filter(|row| !row.phase.is_ended()) {
        let is_new = |spec: &ScheduleSpec| {
            loaded.iter().any(|(name, version, new)| {
                *new && *name == spec.definition && *version == spec.version
            })
        };
        let Some(spec) = active_spec(row).filter(is_new) else { continue };
        let reason = "paused by `meantime dev` after the first deployment".to_owned();
        let by = AuditInfo { actor: "meantime dev".to_owned(), reason };
        let action = ScheduleAction::Pause;
        kernel.call(Command::Schedule { schedule: row.id, action, audit: by }).await?;
        paused.push(spec.definition);
    }
    Ok(paused)
}

/// The specification of a schedule that is not paused. Before its first turn a schedule has no
/// view, and the specification is the input of its start.
fn active_spec(row: &InstanceRow) -> Option<ScheduleSpec> {
    match ScheduleView::of_instance(row) {
        Some(view) => Some(view.spec).filter(|_| !view.paused),
        None => row.start()?.input.read().ok(),
    }
}

/// Deploys a file. Returns name, version and whether the version is new.
async fn deploy_file(
    app: &App,
    kernel: &Kernel,
    file: &DefinitionFile,
) -> Vec<(String, u32, bool)> {
    let path = file.path.display().to_string();
    if kernel.notations().get(file.notation).is_none() {
        return Vec::new();
    }
    match app.deploy(file.notation, file.source.clone()).await {
        Ok((deployed, _)) => deployed.into_iter().map(|it| (it.name, it.version, it.new)).collect(),
        Err(DeployError::Diagnostics(found)) => {
            let colors = show::colors();
            for it in found.iter().filter(|it| it.severity == Severity::Error) {
                show::print_error(&format!(
                    "{}\n",
                    render_diagnostic(&path, &file.source.text, it, colors)
                ));
            }
            Vec::new()
        }
        Err(DeployError::Kernel(error)) => {
            show::print_error(&format!("{path}: {error}"));
            Vec::new()
        }
    }
}

/// An address that clients on this machine can connect to, also when the server listens on all.
fn connectable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let is_v4 = address.is_ipv4();
        address.set_ip(if is_v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}

/// Prints a line; a closed output does not stop the server.
fn print_line(text: &str) {
    drop(show::print_line(text));
}

fn print_welcome(
    base: &str,
    directory: &Path,
    names: &[String],
    paused: &[String],
    state: &str,
    is_virtual: bool,
) {
    print_line(&format!("Meantime is running at {base}\n"));
    if !names.is_empty() {
        print_line(&format!("  definitions  {}", names.join(", ")));
    }
    if !paused.is_empty() {
        print_line(&format!("  schedules    {}: paused until you resume them", paused.join(", ")));
    }
    print_line(&format!("  watching     {}", directory.display()));
    print_line(&format!("  API          {base}/docs"));
    print_line(&format!("  state        {state}"));
    if is_virtual {
        print_line("  clock        virtual; it moves only when you advance it");
    }
    print_line("\nTry this:\n");
    let is_first = names.iter().any(|name| name == FIRST_EXAMPLE.0);
    let generic = (names.first().map_or("NAME", String::as_str), "{}");
    let (name, input) = if is_first { FIRST_EXAMPLE } else { generic };
    print_line(&format!(
        "  curl -d '{{\"definition\":\"{name}\",\"input\":{input}}}' {base}/api/v1/instances"
    ));
    // The path that started this process also works where `meantime` is not on the PATH.
    let program = std::env::args().next();
    let program = program.as_deref().unwrap_or("meantime");
    let url = if base == DEFAULT_URL { String::new() } else { format!(" --url {base}") };
    print_line(&format!("  {program} ps{url}"));
    if is_virtual {
        print_line(&format!("  curl -d '{{\"by\":\"P30D\"}}' {base}/api/v1/clock/advance"));
    }
    print_line("\nCtrl-C stops the server; its state is kept.");
}

/// Deploys files again when they change, until the server stops.
fn watch_directory(app: App, kernel: Kernel, directory: &Path, catalogs: Vec<PathBuf>) {
    let (sender, mut changes) = mpsc::unbounded_channel();
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if let Ok(event) = event
            && (event.kind.is_modify() || event.kind.is_create())
        {
            event.paths.into_iter().for_each(|path| drop(sender.send(path)));
        }
    });
    let Ok(mut watcher) = watcher else { return };
    if watcher.watch(directory, RecursiveMode::Recursive).is_err() {
        return;
    }
    tokio::spawn(async move {
        // Dropping the watcher would end the notifications.
        let _watcher = watcher;
        // Saving a file causes several notifications; the same content is deployed once.
        let mut seen: BTreeMap<PathBuf, Source> = BTreeMap::new();
        while let Some(path) = changes.recv().await {
            if !definitions::is_definition(&path) {
                continue;
            }
            // A file that was deleted, or is incomplete, is read again with its next notification.
            for file in definitions::find(&path, &catalogs).unwrap_or_default() {
                if seen.insert(path.clone(), file.source.clone()).as_ref() == Some(&file.source) {
                    continue;
                }
                for (name, version, new) in deploy_file(&app, &kernel, &file).await {
                    if new {
                        print_line(&format!("{name} {version} deployed from {}", path.display()));
                    }
                }
            }
        }
    });
}
