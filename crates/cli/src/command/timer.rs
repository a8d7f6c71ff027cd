//! `timers`: lists, moves, fires, freezes and releases timers and deadlines.

use std::process::ExitCode;

use anyhow::Result;
use hyper::Method;
use serde_json::json;

use super::target::{ListOptions, Reason, act_on_each, instance_filter, path_with_query};
use crate::client::ServerOptions;
use crate::show::{Column, text};

/// Lists armed timers and deadlines; its commands move, fire, freeze and release them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Timers {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List armed timers and deadlines
    List(List),
    /// Move timers to another instant
    Move {
        /// When they are due, such as 2026-03-01T09:00:00Z
        #[arg(long, value_name = "INSTANT")]
        to: String,
        #[command(flatten)]
        which: Which,
    },
    /// Fire timers now
    Fire(Which),
    /// Freeze timers: they do not fire until they are released
    Freeze(Which),
    /// Release frozen timers; those that are overdue fire at once
    Release(Which),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Ids of timers
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    reason: Reason,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only of this instance: its id, or key:KEY
    #[arg(long)]
    instance: Option<String>,
    /// Only of this definition
    #[arg(long)]
    definition: Option<String>,
    /// Only due before this instant
    #[arg(long)]
    before: Option<String>,
    /// Only due at or after this instant
    #[arg(long)]
    after: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

const COLUMNS: &[Column] = &[
    ("DUE", |it| text(&it["dueAt"])),
    ("KIND", |it| text(&it["kind"])),
    ("TIMER", |it| text(&it["id"])),
    ("DEFINITION", |it| text(&it["definition"])),
    ("ELEMENT", |it| text(&it["element"])),
    ("FROZEN", |it| if it["frozen"] == true { "yes".to_owned() } else { String::new() }),
];

const WIDE_COLUMNS: &[Column] = &[("INSTANCE", |it| text(&it["instanceId"]))];

impl Timers {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        match self.verb {
            None => self.list.run(target),
            Some(Verb::List(list)) => list.run(target),
            Some(Verb::Move { to, which }) => {
                let body = json!({ "dueAt": to, "reason": which.reason.reason });
                let path = |id: &str| format!("/timers/{id}");
                act_on_each(target, &Method::PATCH, &which.ids, path, Some(&body))
            }
            Some(Verb::Fire(which)) => which.act(target, "fire"),
            Some(Verb::Freeze(which)) => which.act(target, "freeze"),
            Some(Verb::Release(which)) => which.act(target, "release"),
        }
    }
}

impl Which {
    fn act(self, target: &ServerOptions, verb: &str) -> Result<ExitCode> {
        let reason = [("reason", self.reason.reason)];
        let path = |id: &str| path_with_query(&format!("/timers/{id}/{verb}"), &reason);
        act_on_each(target, &Method::POST, &self.ids, path, None)
    }
}

impl List {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters = [
            ("instance", instance_filter(target, self.instance)?),
            ("definition", self.definition),
            ("dueBefore", self.before),
            ("dueAfter", self.after),
        ];
        let path = path_with_query("/timers", &filters);
        self.options.show(target, &path, COLUMNS, WIDE_COLUMNS)
    }
}
