//! `tasks`: lists tasks, claims them like a worker, completes and fails them.

use std::process::ExitCode;

use anyhow::Result;
use hyper::Method;
use serde_json::json;

use super::target::{
    ListOptions, act_on_each, instance_filter, json_object, path_with_query, quoted,
    read_json_argument,
};
use crate::client::{Client, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

/// Lists open tasks; its commands claim, complete and fail them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Tasks {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List open tasks
    List(List),
    /// Show a task
    Show {
        /// Id of the task
        id: String,
    },
    /// Claim tasks like a worker; the answer has the tokens for reports
    Claim(Claim),
    /// Complete a task: with the token of a claim, or a reason in place of its worker
    Complete {
        /// Id of the task
        id: String,
        /// The result as JSON, or @FILE to read it from a file, @- from stdin
        #[arg(long, value_name = "JSON|@FILE|@-")]
        output: Option<String>,
        #[command(flatten)]
        by: Reporter,
    },
    /// Fail an attempt of a task: with the token of a claim, or a reason in place of its worker
    Fail {
        /// Id of the task
        id: String,
        /// Code of the failure
        #[arg(long, default_value = "TASK_FAILED")]
        code: String,
        /// Message of the failure
        #[arg(long, default_value = "")]
        message: String,
        /// Do not retry the task
        #[arg(long = "final")]
        is_final: bool,
        /// How long to wait before the next attempt
        #[arg(long, value_name = "DURATION", conflicts_with = "is_final")]
        retry_after: Option<String>,
        #[command(flatten)]
        by: Reporter,
    },
    /// Extend the lease of a claimed task
    Extend {
        /// Id of the task
        id: String,
        /// Token of the claim
        #[arg(long)]
        lease_token: String,
        /// Duration of the lease from now, in milliseconds
        #[arg(long, default_value_t = 60_000)]
        lease_ms: u64,
    },
    /// Assign a user task to a person
    Assign {
        /// Id of the task
        id: String,
        /// The person
        assignee: String,
    },
    /// Remove the assignee of user tasks
    Unassign {
        /// Ids of tasks
        #[arg(required = true)]
        ids: Vec<String>,
    },
}

/// Who reports on a task. A user task needs neither.
#[derive(Debug, clap::Args)]
struct Reporter {
    /// Token of the claim
    #[arg(long, conflicts_with = "reason")]
    lease_token: Option<String>,
    /// Why an operator reports in place of the worker; recorded in the history
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only of this kind: worker, engine or user
    #[arg(long)]
    kind: Option<String>,
    /// Only in this state: ready, leased, held or done
    #[arg(long)]
    state: Option<String>,
    /// Only of this instance: its id, or key:KEY
    #[arg(long)]
    instance: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

#[derive(Debug, clap::Args)]
struct Claim {
    /// Name of the worker, for people
    #[arg(long, default_value = "meantime tasks claim")]
    worker: String,
    /// Type of tasks to claim; can be repeated [default: all types]
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Queue to claim from; can be repeated [default: the default queue]
    #[arg(long = "queue", value_name = "QUEUE")]
    queues: Vec<String>,
    /// Maximum number of tasks
    #[arg(long, default_value_t = 1)]
    max: usize,
    /// Duration of the lease, in milliseconds
    #[arg(long, default_value_t = 60_000)]
    lease_ms: u64,
    /// How long to wait for a task if there is none, in milliseconds
    #[arg(long, default_value_t = 0)]
    wait_ms: u64,
}

const COLUMNS: &[Column] = &[
    ("TASK", |it| text(&it["id"])),
    ("TYPE", |it| text(&it["type"])),
    ("KIND", |it| text(&it["kind"])),
    ("STATE", |it| text(&it["state"])),
    ("ATTEMPT", |it| format!("{} of {}", it["attempt"], it["maxAttempts"])),
    ("CREATED", |it| text(&it["createdAt"])),
    ("BY", |it| format!("{}{}", text(&it["worker"]), text(&it["assignee"]))),
];

const WIDE_COLUMNS: &[Column] = &[
    ("INSTANCE", |it| text(&it["instanceId"])),
    ("DEFINITION", |it| text(&it["definition"])),
    ("ELEMENT", |it| text(&it["element"])),
    ("QUEUE", |it| text(&it["queue"])),
    ("PRIORITY", |it| text(&it["priority"])),
    ("DEADLINE", |it| text(&it["deadlineAt"])),
    ("LAST ERROR", |it| text(&it["lastError"]["code"])),
];

const CLAIMED_COLUMNS: &[Column] = &[
    ("TASK", |it| text(&it["id"])),
    ("TYPE", |it| text(&it["type"])),
    ("LEASE TOKEN", |it| text(&it["leaseToken"])),
    ("LEASE UNTIL", |it| text(&it["leaseUntil"])),
    ("INPUT", |it| text(&it["input"])),
];

impl Tasks {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let Some(verb) = self.verb else { return self.list.run(target) };
        match verb {
            Verb::List(list) => list.run(target),
            Verb::Show { id } => {
                let task = Client::new(target)?.get(&path(&id, ""))?;
                if show::is_for_people(target.format) {
                    show::list_with(target.format, &[task], COLUMNS, WIDE_COLUMNS)?;
                } else {
                    show::document(target.format, &task)?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Verb::Claim(claim) => claim.run(target),
            Verb::Complete { id, output, by } => {
                let output = output.as_deref().map(read_json_argument).transpose()?;
                let Reporter { lease_token, reason } = by;
                let body = json_object(&[
                    ("output", output),
                    ("leaseToken", quoted(lease_token)),
                    ("reason", quoted(reason)),
                ]);
                send(target, &path(&id, "/complete"), body)
            }
            Verb::Fail { id, code, message, is_final, retry_after, by } => {
                let error = json!({ "code": code, "message": message }).to_string();
                let Reporter { lease_token, reason } = by;
                let body = json_object(&[
                    ("error", Some(error)),
                    ("retryable", Some((!is_final).to_string())),
                    ("retryAfter", quoted(retry_after)),
                    ("leaseToken", quoted(lease_token)),
                    ("reason", quoted(reason)),
                ]);
                send(target, &path(&id, "/fail"), body)
            }
            Verb::Extend { id, lease_token, lease_ms } => {
                let body = json!({ "leaseToken": lease_token, "leaseMs": lease_ms });
                send(target, &path(&id, "/extend"), body.to_string())
            }
            Verb::Assign { id, assignee } => {
                let body = json!({ "assignee": assignee }).to_string();
                send(target, &path(&id, "/assign"), body)
            }
            Verb::Unassign { ids } => {
                let path = |id: &str| format!("/tasks/{id}/unassign");
                act_on_each(target, &Method::POST, &ids, path, None)
            }
        }
    }
}

fn path(id: &str, verb: &str) -> String {
    format!("/tasks/{}{verb}", percent_encode(id))
}

fn send(target: &ServerOptions, path: &str, body: String) -> Result<ExitCode> {
    show::done(target.format, &Client::new(target)?.post(path, body)?)?;
    Ok(ExitCode::SUCCESS)
}

impl List {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters = [
            ("kind", self.kind),
            ("state", self.state),
            ("instance", instance_filter(target, self.instance)?),
        ];
        self.options.show(target, &path_with_query("/tasks", &filters), COLUMNS, WIDE_COLUMNS)
    }
}

impl Claim {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let Self { worker, types, queues, max, lease_ms, wait_ms } = self;
        let body = json!({
            "worker": worker, "types": types, "queues": queues, "max": max,
            "leaseMs": lease_ms, "waitMs": wait_ms,
        });
        let answer = Client::new(target)?.post("/tasks/claim", body.to_string())?;
        let tasks = answer["tasks"].as_array().cloned().unwrap_or_default();
        show::list(target.format, &tasks, CLAIMED_COLUMNS)?;
        Ok(ExitCode::SUCCESS)
    }
}
