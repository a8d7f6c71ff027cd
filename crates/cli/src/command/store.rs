//! `backup`, `restore`, `doctor`, `migrate`, `resume`: maintenance of a store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use meantime_core::{DefinitionId, Limits, Notation};
use meantime_kernel::clock::{Clock as _, SystemClock};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::machine::{Notations, Stored};
use meantime_kernel::store::{DefinitionRow, InstanceRow, Phase};
use meantime_server::{
    ClientCertificates, Db, Layers, Settings, StoreDurability, check_tls, notations, open_store,
    open_unshared_store,
};
use meantime_store::postgres::PostgresStore;
use meantime_store::sqlite::{Options, SqliteStore};

use super::serve::ServerFlags;
use crate::client::{Client, ServerOptions};
use crate::exit;
use crate::show;

/// Backs up a store online.
#[derive(Debug, clap::Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    flags: ServerFlags,
    /// File of the backup; it must not exist
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let path = sqlite_path(&self.flags.settings(Layers::default())?)?;
        must_exist(&path)?;
        // indicatif draws only on a terminal.
        let bar = ProgressBar::no_length().with_style(ProgressStyle::with_template(
            "{bar:40} {bytes} of {total_bytes}, {bytes_per_sec}",
        )?);
        let now = SystemClock.now().engine;
        let mut progress = |progress: meantime_store::sqlite::Progress| {
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        };
        let options = Options::default();
        let copied = SqliteStore::backup_of(&path, &self.to, &options, now, &mut progress)?;
        bar.finish_and_clear();
        show::print_line(&format!("{}: {} bytes", self.to.display(), copied.total))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Restores a backup, or marks a store that other tools restored.
#[derive(Debug, clap::Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    flags: ServerFlags,
    /// File of the backup
    #[arg(required_unless_present = "mark")]
    from: Option<PathBuf>,
    /// Mark the store as restored: it starts paused, with a new epoch. For a PostgreSQL database
    /// that was restored with its own tools; no server may be running on it
    #[arg(long, conflicts_with = "from")]
    mark: bool,
    /// The reason, recorded in the history
    #[arg(long, default_value = "")]
    reason: String,
}

impl Restore {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let settings = self.flags.settings(Layers::default())?;
        let by = AuditInfo { actor: current_user(), reason: self.reason };
        let now = SystemClock.now().engine;
        if let Some(from) = &self.from {
            let path = sqlite_path(&settings)?;
            must_exist(from)?;
            let restored = SqliteStore::restore(from, &path, &Options::default(), now, &by)?;
            show::print_line(&format!("{}: {} bytes, paused", path.display(), restored.bytes))?;
        } else {
            if let Db::Sqlite(path) = &settings.db {
                must_exist(path)?;
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let epoch = runtime.block_on(async {
                let store = open_unshared_store(&settings).await?;
                anyhow::Ok(store.mark_restored(now, by).await?)
            })?;
            show::print_line(&format!(
                "{}: marked as restored, paused, epoch {epoch}",
                settings.db
            ))?;
        }
        show::print_line(
            "start a server on it, check the data, then resume the engine with `meantime resume`",
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Resumes the engine of a restored store.
#[derive(Debug, clap::Args)]
pub(crate) struct Resume {
    /// The reason, recorded in the history
    #[arg(long, default_value = "")]
    reason: String,
}

impl Resume {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let body = serde_json::json!({ "reason": self.reason }).to_string();
        Client::new(target)?.post("/resume", body)?;
        show::print_line("engine resumed")?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Checks a store for damage and runs a security check of the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    flags: ServerFlags,
}

impl Doctor {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let settings = self.flags.settings(Layers::default())?;
        security_check(&settings)?;
        let mut states = StateCheck::default();
        let found = match &settings.db {
            Db::Memory => {
                show::print_line("store: memory; nothing is stored")?;
                return Ok(ExitCode::SUCCESS);
            }
            Db::Sqlite(path) if !path.exists() => None,
            Db::Sqlite(path) => {
                let problems = SqliteStore::check_of(path, &Options::default())?;
                SqliteStore::visit_live_of(
                    path,
                    &Options::default(),
                    &mut |definition, instance| {
                        states.check(definition, instance);
                    },
                )?;
                Some(problems)
            }
            Db::Postgres(url) => {
                // Files and logs of PostgreSQL are checked by its own tools.
                show::print_line(
                    "store: rows are checked; check files and logs with the tools of PostgreSQL",
                )?;
                let options = meantime_store::postgres::Options::new(url);
                let mut visit = |definition: &DefinitionRow, instance: &InstanceRow| {
                    states.check(definition, instance);
                };
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(PostgresStore::examine(&options, &mut visit))?
            }
        };
        let Some(mut problems) = found else {
            show::print_line(&format!("store: {} does not exist yet", settings.db))?;
            return Ok(ExitCode::SUCCESS);
        };
        problems.extend(states.problems);
        for problem in &problems {
            show::print_line(&format!("store: {problem}"))?;
        }
        if problems.is_empty() {
            show::print_line(&format!("store: {} is undamaged", settings.db))?;
            return Ok(ExitCode::SUCCESS);
        }
        Ok(ExitCode::from(exit::FAILURE))
    }
}

/// A compiled definition and its notation.
type LoadedDefinition = (Arc<dyn Notation>, Stored);

/// Finds running instances whose state cannot be decoded. Otherwise such an instance gets an
/// incident only with its next event.
struct StateCheck {
    notations: Notations,
    limits: Limits,
    loaded: BTreeMap<DefinitionId, Option<LoadedDefinition>>,
    problems: Vec<String>,
}

impl Default for StateCheck {
    fn default() -> Self {
        let (notations, limits) = (notations(), Limits::default());
        Self { notations, limits, loaded: BTreeMap::new(), problems: Vec::new() }
    }
}

impl StateCheck {
    fn check(&mut self, definition: &DefinitionRow, instance: &InstanceRow) {
        // Before the first turn the state holds the start command.
        if instance.phase == Phase::Starting {
            if instance.start().is_none() {
                self.problems.push(format!("{}: its start cannot be decoded", instance.id));
            }
            return;
        }
        let (notations, limits) = (&self.notations, &self.limits);
        let runnable = self.loaded.entry(definition.id).or_insert_with(|| {
            let notation = notations.get(&definition.notation)?.clone();
            Some((notation, notations.load(definition, limits)?))
        });
        let Some((notation, stored)) = runnable else { return };
        let view = notation.inspect(&stored.definition, &instance.state);
        if view.variables.is_null() && view.waiting.is_empty() {
            self.problems.push(format!("{}: its state cannot be decoded", instance.id));
        }
    }
}

/// Describes the TLS settings.
fn describe_tls(settings: &Settings) -> String {
    let tls = &settings.tls;
    let Some(cert) = &tls.cert else {
        return "off; requests and responses are not encrypted".to_owned();
    };
    let clients = match (&tls.client_ca, tls.clients) {
        (None, _) => "no client certificates".to_owned(),
        (Some(ca), ClientCertificates::Required) => {
            format!("client certificates required, issued by {}", ca.display())
        }
        (Some(ca), ClientCertificates::Optional) => {
            format!("client certificates optional, issued by {}", ca.display())
        }
    };
    match check_tls(tls) {
        Ok(()) => format!("{}; {clients}", cert.display()),
        Err(error) => format!("NOT USABLE: {error}"),
    }
}

/// Prints what is exposed: address, TLS, authentication, outbound calls, clock, durability.
fn security_check(settings: &Settings) -> Result<()> {
    let reach =
        if settings.listen.ip().is_loopback() { "this machine only" } else { "the network" };
    show::print_line(&format!("listens on {}: {reach}", settings.listen))?;
    show::print_line(&format!("TLS: {}", describe_tls(settings)))?;
    let callers = match (settings.auth.is_configured(), settings.insecure) {
        (true, _) => format!(
            "{} keys, tokens {}",
            settings.auth.keys.len(),
            match &settings.auth.jwt {
                Some(jwt) => format!("of {}", jwt.issuer),
                None => "none".to_owned(),
            }
        ),
        (false, true) => "EVERYBODY is an administrator (insecure)".to_owned(),
        (false, false) => "everybody on this machine is an administrator".to_owned(),
    };
    show::print_line(&format!("callers: {callers}"))?;
    let private = if settings.egress.allow.is_empty() {
        "no private network".to_owned()
    } else {
        settings.egress.allow.join(", ")
    };
    show::print_line(&format!("outbound calls: public addresses, and {private}"))?;
    if settings.clock.is_virtual {
        show::print_line("clock: VIRTUAL; timers fire only when it is advanced")?;
    }
    if settings.store.durability == StoreDurability::Process {
        show::print_line("durability: process; a power failure can lose the last commits")?;
    }
    Ok(())
}

/// Migrates a store to the schema of this release.
#[derive(Debug, clap::Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    flags: ServerFlags,
}

impl Migrate {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let settings = self.flags.settings(Layers::default())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Opening a store runs its migrations.
        drop(runtime.block_on(open_store(&settings))?);
        show::print_line(&format!("{} has the schema of this release", settings.db))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn sqlite_path(settings: &Settings) -> Result<PathBuf> {
    match &settings.db {
        Db::Sqlite(path) => Ok(path.clone()),
        other => bail!("{other} is not a SQLite file; use the tools of the database"),
    }
}

fn must_exist(path: &Path) -> Result<()> {
    std::fs::metadata(path).with_context(|| path.display().to_string()).map(drop)
}

/// The operating system user, as the actor of recorded operations.
fn current_user() -> String {
    std::env::var("USER").unwrap_or_else(|_| "operator".to_owned())
}
