//! `incidents`: lists, retries and resolves incidents.

use std::process::ExitCode;

use anyhow::Result;
use hyper::Method;

use super::target::{
    ListOptions, Reason, act_on_each, instance_filter, json_object, path_with_query,
    read_json_argument,
};
use crate::client::{Client, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

/// Lists open incidents; its commands retry and resolve them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Incidents {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List open incidents
    List(List),
    /// Retry the elements of incidents
    Retry {
        /// Ids of incidents
        #[arg(required = true)]
        ids: Vec<String>,
        #[command(flatten)]
        reason: Reason,
    },
    /// Complete the element of an incident with variables
    Resolve {
        /// Id of the incident
        id: String,
        /// The variables as a JSON object, or @FILE to read it from a file, @- from stdin
        #[arg(long, value_name = "JSON|@FILE|@-")]
        variables: String,
        #[command(flatten)]
        reason: Reason,
    },
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only of this instance: its id, or key:KEY
    #[arg(long)]
    instance: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

const COLUMNS: &[Column] = &[
    ("INCIDENT", |it| text(&it["id"])),
    ("INSTANCE", |it| text(&it["instanceId"])),
    ("SINCE", |it| text(&it["raisedAt"])),
    ("CODE", |it| text(&it["code"])),
    ("MESSAGE", |it| text(&it["message"])),
    ("ELEMENT", |it| text(&it["element"])),
];

impl Incidents {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        match self.verb {
            None => self.list.run(target),
            Some(Verb::List(list)) => list.run(target),
            Some(Verb::Retry { ids, reason }) => {
                let reason = [("reason", reason.reason)];
                let path = |id: &str| path_with_query(&format!("/incidents/{id}/retry"), &reason);
                act_on_each(target, &Method::POST, &ids, path, None)
            }
            Some(Verb::Resolve { id, variables, reason }) => {
                let path = format!("/incidents/{}/resolve", percent_encode(&id));
                let path = path_with_query(&path, &[("reason", reason.reason)]);
                let body = json_object(&[("variables", Some(read_json_argument(&variables)?))]);
                show::done(target.format, &Client::new(target)?.post(&path, body)?)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

impl List {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let path =
            path_with_query("/incidents", &[("instance", instance_filter(target, self.instance)?)]);
        self.options.show(target, &path, COLUMNS, &[])
    }
}
