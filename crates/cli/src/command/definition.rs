//! `definitions`: lists, shows, pauses and undeploys definitions.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use hyper::Method;
use serde_json::{Value, json};

use super::target::{ListOptions, Reason, act_on_each};
use crate::client::{Client, RequestBody, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

/// Lists definitions; its commands show and undeploy them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Definitions {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: ListOptions,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List definitions in their latest version
    List(ListOptions),
    /// Show the versions of a definition
    Show {
        /// Name of the definition
        name: String,
        #[command(flatten)]
        list: ListOptions,
    },
    /// Print the source of a definition
    Source {
        /// Name of the definition
        name: String,
        /// Version [default: the latest]
        #[arg(long)]
        version: Option<u32>,
    },
    /// Pause a definition: it starts no instances until it is resumed
    Pause(Which),
    /// Resume a paused definition
    Resume(Which),
    /// Undeploy a version; running instances go on
    Undeploy {
        /// Name of the definition
        name: String,
        /// The version
        #[arg(long)]
        version: u32,
    },
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Name of the definition
    name: String,
    #[command(flatten)]
    reason: Reason,
}

const COLUMNS: &[Column] = &[
    ("NAME", |it| text(&it["name"])),
    ("VERSION", |it| text(&it["version"])),
    ("LABEL", |it| text(&it["label"])),
    ("NOTATION", |it| text(&it["notation"])),
    ("DEPLOYED", |it| text(&it["deployedAt"])),
    ("STATE", state_of),
];

const WIDE_COLUMNS: &[Column] =
    &[("FILE", |it| text(&it["sourceName"])), ("HASH", |it| text(&it["hash"]))];

fn state_of(definition: &Value) -> String {
    if definition["retired"] == true {
        "undeployed".to_owned()
    } else if definition["paused"].is_null() {
        String::new()
    } else {
        "paused".to_owned()
    }
}

impl Definitions {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        match self.verb {
            None => self.list.show(target, "/definitions", COLUMNS, WIDE_COLUMNS),
            Some(Verb::List(list)) => list.show(target, "/definitions", COLUMNS, WIDE_COLUMNS),
            Some(Verb::Show { name, list }) => {
                list.show(target, &format!("{}/versions", path(&name)), COLUMNS, WIDE_COLUMNS)
            }
            Some(Verb::Source { name, version }) => {
                let client = Client::new(target)?;
                let version = match version {
                    Some(version) => u64::from(version),
                    None => client.get(&path(&name))?["version"].as_u64().context("no version")?,
                };
                let source = format!("{}/versions/{version}/source", path(&name));
                show::print_text(&client.get_text(&source)?)?;
                Ok(ExitCode::SUCCESS)
            }
            Some(Verb::Pause(which)) => which.act(target, "pause"),
            Some(Verb::Resume(which)) => which.act(target, "resume"),
            Some(Verb::Undeploy { name, version }) => {
                let path = format!("{}/versions/{version}", path(&name));
                let answer =
                    Client::new(target)?.call(Method::DELETE, &path, RequestBody::Empty)?;
                show::done(target.format, &answer)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl Which {
    fn act(self, target: &ServerOptions, verb: &str) -> Result<ExitCode> {
        let body = json!({ "reason": self.reason.reason });
        let path = |name: &str| format!("/definitions/{name}/{verb}");
        act_on_each(target, &Method::POST, &[self.name], path, Some(&body))
    }
}

fn path(name: &str) -> String {
    format!("/definitions/{}", percent_encode(name))
}
