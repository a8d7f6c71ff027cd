//! `instances`: everything about instances; the everyday verbs are commands of their own, too.

use std::process::ExitCode;

use anyhow::Result;
use hyper::Method;
use serde_json::json;

use super::instance::{Cancel, Logs, Show, Signal, show_instance};
use super::search::Ps;
use super::target::{
    Reason, instance_path, json_object, path_with_query, quoted, read_json_argument,
};
use crate::client::{Client, RequestBody, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

/// Everything about instances.
#[derive(Debug, clap::Args)]
pub(crate) struct Instances {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List instances
    List(Box<Ps>),
    /// Show an instance
    Show(Show),
    /// Show the history of an instance
    Logs(Logs),
    /// Suspend an instance: its events wait until it is resumed
    Suspend(Suspend),
    /// Resume a suspended instance
    Resume(Resume),
    /// Start an instance that has ended again, as a new one
    Restart(Restart),
    /// Cancel an instance
    Cancel(Cancel),
    /// Send a signal to an instance
    Signal(Signal),
}

impl Instances {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        match self.verb {
            Verb::List(list) => list.run(target),
            Verb::Show(show) => show.run(target),
            Verb::Logs(logs) => logs.run(target),
            Verb::Suspend(suspend) => suspend.run(target),
            Verb::Resume(resume) => resume.run(target),
            Verb::Restart(restart) => restart.run(target),
            Verb::Cancel(cancel) => cancel.run(target),
            Verb::Signal(signal) => signal.run(target),
        }
    }
}

#[derive(Debug, clap::Args)]
struct Suspend {
    /// Id of the instance, or key:KEY
    id: String,
    /// Let its timers and its deadline run, instead of freezing them
    #[arg(long)]
    run_timers: bool,
    #[command(flatten)]
    reason: Reason,
}

impl Suspend {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let timers = if self.run_timers { "run" } else { "freeze" };
        let body = json!({ "reason": self.reason.reason, "timers": timers }).to_string();
        change(target, &self.id, "suspend", body)
    }
}

#[derive(Debug, clap::Args)]
struct Resume {
    /// Id of the instance, or key:KEY
    id: String,
    #[command(flatten)]
    reason: Reason,
}

impl Resume {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let body = json!({ "reason": self.reason.reason }).to_string();
        change(target, &self.id, "resume", body)
    }
}

#[derive(Debug, clap::Args)]
struct Restart {
    /// Id of the instance, or key:KEY; it must have ended
    id: String,
    /// Version to run [default: the latest]
    #[arg(long)]
    version: Option<u32>,
    /// Deadline: an instant, or a duration from now
    #[arg(long)]
    deadline: Option<String>,
    #[command(flatten)]
    reason: Reason,
}

impl Restart {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let body = json_object(&[
            ("reason", quoted(self.reason.reason)),
            ("version", self.version.map(|version| version.to_string())),
            ("deadline", quoted(self.deadline)),
        ]);
        change(target, &self.id, "restart", body)
    }
}

/// Sends an operation to an instance, and shows the instance in the answer.
fn change(target: &ServerOptions, id: &str, verb: &str, body: String) -> Result<ExitCode> {
    let client = Client::new(target)?;
    let path = format!("{}/{verb}", instance_path(&client, id)?);
    show_instance(target.format, &client.post(&path, body)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Variables of an instance, scope by scope.
#[derive(Debug, clap::Args)]
pub(crate) struct Vars {
    #[command(subcommand)]
    verb: VarsVerb,
}

#[derive(Debug, clap::Subcommand)]
enum VarsVerb {
    /// List the scopes of an instance with their variables
    List {
        /// Id of the instance, or key:KEY
        id: String,
    },
    /// Correct variables of an instance
    Set {
        /// Id of the instance, or key:KEY
        id: String,
        /// The new values as a JSON object, or @FILE to read it from a file, @- from stdin
        #[arg(value_name = "JSON|@FILE|@-")]
        values: String,
        /// Id of the scope [default: the root]
        #[arg(long)]
        scope: Option<String>,
        #[command(flatten)]
        reason: Reason,
    },
}

const SCOPE_COLUMNS: &[Column] = &[
    ("SCOPE", |it| text(&it["id"])),
    ("IN", |it| text(&it["parent"])),
    ("ELEMENT", |it| text(&it["element"])),
    ("VARIABLES", |it| text(&it["variables"])),
];

impl Vars {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        match self.verb {
            VarsVerb::List { id } => {
                let scopes = client.get(&format!("{}/scopes", instance_path(&client, &id)?))?;
                let scopes = scopes["items"].as_array().cloned().unwrap_or_default();
                show::list(target.format, &scopes, SCOPE_COLUMNS)?;
            }
            VarsVerb::Set { id, values, scope, reason } => {
                let instance = instance_path(&client, &id)?;
                let path = match &scope {
                    Some(scope) => format!("{instance}/scopes/{}/variables", percent_encode(scope)),
                    None => format!("{instance}/variables"),
                };
                let path = path_with_query(&path, &[("reason", reason.reason)]);
                let sent = RequestBody::Json(read_json_argument(&values)?);
                let answer = client.call(Method::PATCH, &path, sent)?;
                show::done(target.format, &answer)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
