//! `meantime dev`: one command to a running server, with the definitions of a directory.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it talks to a person")]

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use meantime_core::{Severity, Source};
use meantime_kernel::command::Reply;
use meantime_kernel::driver::{DeployError, Kernel};
use meantime_server::Layers;
use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::serve::ServerFlags;
use crate::definitions::{self, DefinitionFile};
use crate::draw::draw;
use crate::server;

/// Where state is kept.
const DIRECTORY: &str = ".meantime";

/// The example that a newcomer is told to start, and its input: it needs nobody else to begin.
const FIRST: (&str, &str) = ("reminder", r#"{"invoice":"R-17","customer":"Ann"}"#);

/// Runs a server for development.
#[derive(Debug, clap::Args)]
pub(crate) struct Dev {
    /// Definitions to load and to watch
    #[arg(default_value = "examples")]
    directory: PathBuf,
    #[command(flatten)]
    flags: ServerFlags,
}

impl Dev {
    pub(crate) fn run(self) -> Result<ExitCode> {
        // A developer's own services are on this machine.
        let loopback = vec!["127.0.0.0/8".to_owned(), "::1/128".to_owned()];
        // A store whose clock was moved ahead would be refused on the wall clock.
        let file = if self.flags.is_virtual() { "virtual.db" } else { "meantime.db" };
        let defaults = Layers::default()
            .flag("db", format!("sqlite:{DIRECTORY}/{file}"))
            .flag("egress.allow", loopback)
            .flag("log.level", "warn");
        let settings = self.flags.settings(defaults)?;
        std::fs::create_dir_all(DIRECTORY).with_context(|| DIRECTORY.to_owned())?;
        let state = settings.db.to_string();
        let is_virtual = settings.clock.is_virtual;
        let scheme = if settings.tls.cert.is_some() { "https" } else { "http" };
        let directory = self.directory;
        server::run(settings, |engine, address| async move {
            let names = load(engine.kernel(), &directory).await?;
            let base = format!("{scheme}://{address}");
            greet(&base, &directory, &names, &state, is_virtual);
            watch(engine.kernel().clone(), &directory);
            Ok(engine)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Deploys everything in a directory; what is wrong is drawn and does not stop the rest.
async fn load(kernel: &Kernel, directory: &Path) -> Result<Vec<String>> {
    if !directory.exists() {
        eprintln!("{} does not exist; nothing was loaded", directory.display());
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for file in definitions::find(directory, &[])? {
        names.extend(deploy(kernel, &file).await.into_iter().map(|(name, _, _)| name));
    }
    Ok(names)
}

/// Deploys a file: names, versions, and whether each is new.
async fn deploy(kernel: &Kernel, file: &DefinitionFile) -> Vec<(String, u32, bool)> {
    let path = file.path.display().to_string();
    if kernel.notations().get(file.notation).is_none() {
        return Vec::new();
    }
    match kernel.deploy(file.notation, file.source.clone()).await {
        Ok((Reply::Deployed(deployed), _)) => {
            deployed.into_iter().map(|it| (it.name, it.version, it.new)).collect()
        }
        Ok(_) => Vec::new(),
        Err(DeployError::Diagnostics(found)) => {
            let colors = std::io::stderr().is_terminal();
            for it in found.iter().filter(|it| it.severity == Severity::Error) {
                eprintln!("{}\n", draw(&path, &file.source.text, it, colors));
            }
            Vec::new()
        }
        Err(DeployError::Kernel(error)) => {
            eprintln!("{path}: {error}");
            Vec::new()
        }
    }
}

fn greet(base: &str, directory: &Path, names: &[String], state: &str, is_virtual: bool) {
    println!("Meantime is running at {base}\n");
    if !names.is_empty() {
        println!("  definitions  {}", names.join(", "));
    }
    println!("  watching     {}", directory.display());
    println!("  API          {base}/docs");
    println!("  state        {state}");
    if is_virtual {
        println!("  clock        stands still until you move it");
    }
    println!("\nTry this:\n");
    let is_first = names.iter().any(|name| name == FIRST.0);
    let generic = (names.first().map_or("NAME", String::as_str), "{}");
    let (name, input) = if is_first { FIRST } else { generic };
    println!("  curl -d '{{\"definition\":\"{name}\",\"input\":{input}}}' {base}/api/v1/instances");
    // The way this program was called works also where it is not installed.
    println!("  {} ps", std::env::args().next().as_deref().unwrap_or("meantime"));
    if is_virtual {
        println!("  curl -d '{{\"by\":\"P30D\"}}' {base}/api/v1/clock/advance");
    }
    println!("\nCtrl-C ends it; state stays.");
}

/// Deploys files again when they change.
fn watch(kernel: Kernel, directory: &Path) {
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
        // The watcher lives as long as somebody listens.
        let _watcher = watcher;
        // Saving a file is several changes; what was looked at is not looked at again.
        let mut seen: BTreeMap<PathBuf, Source> = BTreeMap::new();
        while let Some(path) = changes.recv().await {
            if !definitions::is_definition(&path) {
                continue;
            }
            // A file that is gone again, or half written, comes with its next change.
            for file in definitions::find(&path, &[]).unwrap_or_default() {
                if seen.insert(path.clone(), file.source.clone()).as_ref() == Some(&file.source) {
                    continue;
                }
                for (name, version, new) in deploy(&kernel, &file).await {
                    if new {
                        println!("{name} {version} deployed from {}", path.display());
                    }
                }
            }
        }
    });
}
