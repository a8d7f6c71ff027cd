//! `schedules`: creates, lists, pauses, resumes, triggers, backfills and deletes schedules.

use std::process::ExitCode;

use anyhow::Result;
use hyper::Method;
use serde_json::{Value, json};

use super::target::{
    ListOptions, Reason, act_on_each, json_object, path_with_query, quoted, read_json_argument,
};
use crate::client::{Client, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

/// Lists schedules; its commands create and change them.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Schedules {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List schedules
    List(List),
    /// Show a schedule
    Show {
        /// Id of the schedule
        id: String,
    },
    /// Create a schedule
    Create(Box<Create>),
    /// Pause schedules: no occurrences until they are resumed
    Pause(Which),
    /// Resume paused schedules
    Resume(Which),
    /// Start a run of schedules now; it counts as a run
    Trigger(Which),
    /// Start a run for every occurrence of a range that had none
    Backfill {
        /// Id of the schedule
        id: String,
        /// First instant of the range
        #[arg(long)]
        from: String,
        /// End of the range, not included
        #[arg(long)]
        to: String,
        #[command(flatten)]
        reason: Reason,
    },
    /// Show the next occurrences of a schedule
    Next {
        /// Id of the schedule
        id: String,
        /// How many
        #[arg(long, default_value_t = 10)]
        count: u32,
    },
    /// List past occurrences of a schedule with their outcomes
    Occurrences {
        /// Id of the schedule
        id: String,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Delete schedules
    Delete(Which),
}

#[derive(Debug, clap::Args)]
struct Which {
    /// Ids of schedules
    #[arg(required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    reason: Reason,
}

#[derive(Debug, clap::Args)]
struct List {
    /// Only schedules that start this definition
    #[arg(long)]
    definition: Option<String>,
    /// Only in this state: active, paused or completed
    #[arg(long)]
    state: Option<String>,
    /// Only of this subject
    #[arg(long)]
    subject: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

#[derive(Debug, clap::Args)]
struct Create {
    /// Name of the definition to start
    definition: String,
    /// Interval between occurrences, such as PT15M or P1M
    #[arg(long, value_name = "DURATION", conflicts_with = "cron")]
    every: Option<String>,
    /// Cron expression
    #[arg(long)]
    cron: Option<String>,
    /// Time zone of the rule [default: UTC]
    #[arg(long)]
    zone: Option<String>,
    /// Version of the definition [default: the latest]
    #[arg(long)]
    version: Option<u32>,
    /// Input of the runs as JSON, or @FILE to read it from a file, @- from stdin
    #[arg(long, value_name = "JSON|@FILE|@-")]
    input: Option<String>,
    /// Earliest instant of an occurrence [default: now]
    #[arg(long, value_name = "INSTANT")]
    start_at: Option<String>,
    /// Element at which the runs begin
    #[arg(long, value_name = "ELEMENT")]
    start: Option<String>,
    /// Largest number of runs
    #[arg(long)]
    max_runs: Option<u64>,
    /// What to do while the previous run is running
    #[arg(long)]
    overlap: Option<String>,
    /// What to do with missed occurrences
    #[arg(long)]
    catch_up: Option<String>,
    /// Subject, which tells schedules of one definition apart
    #[arg(long)]
    subject: Option<String>,
    /// What to do if an active schedule has the same definition, version, subject and start:
    /// `fail`, `upsert` or `addAnother`
    #[arg(long)]
    on_existing: Option<String>,
}

const COLUMNS: &[Column] = &[
    ("SCHEDULE", |it| text(&it["id"])),
    ("DEFINITION", |it| format!("{} {}", text(&it["definition"]), it["version"])),
    ("SUBJECT", |it| text(&it["subject"])),
    ("RULE", |it| format!("{}{}", text(&it["interval"]), text(&it["cron"]))),
    ("ZONE", |it| text(&it["zone"])),
    ("NEXT", |it| text(&it["nextAt"])),
    ("RUNS", |it| text(&it["runsExecuted"])),
    ("STATE", |it| text(&it["state"])),
];

const WIDE_COLUMNS: &[Column] = &[
    ("RUNNING", |it| text(&it["running"])),
    ("WAITING", |it| text(&it["waiting"])),
    ("OVERLAP", |it| text(&it["overlap"])),
    ("CATCH-UP", |it| text(&it["catchUp"])),
    ("INPUT", |it| text(&it["input"])),
];

const OCCURRENCE_COLUMNS: &[Column] = &[
    ("SCHEDULED", |it| text(&it["scheduledAt"])),
    ("OUTCOME", |it| text(&it["outcome"])),
    ("COUNT", |it| text(&it["count"])),
    ("INSTANCE", |it| text(&it["instanceId"])),
    ("REASON", |it| text(&it["reason"])),
];

const NEXT_COLUMNS: &[Column] = &[("SCHEDULED", text)];

impl Schedules {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let Some(verb) = self.verb else { return self.list.run(target) };
        match verb {
            Verb::List(list) => list.run(target),
            Verb::Show { id } => {
                let schedule = Client::new(target)?.get(&path(&id))?;
                show_schedule(target, &schedule)?;
                Ok(ExitCode::SUCCESS)
            }
            Verb::Create(create) => create.run(target),
            Verb::Pause(which) => which.act(target, "pause"),
            Verb::Resume(which) => which.act(target, "resume"),
            Verb::Trigger(which) => which.act(target, "trigger"),
            Verb::Delete(which) => which.delete(target),
            Verb::Backfill { id, from, to, reason } => {
                let body = json!({ "from": from, "to": to });
                let reason = [("reason", reason.reason)];
                let path =
                    |id: &str| path_with_query(&format!("/schedules/{id}/backfill"), &reason);
                act_on_each(target, &Method::POST, &[id], path, Some(&body))
            }
            Verb::Next { id, count } => {
                let next =
                    Client::new(target)?.get(&format!("{}/next?count={count}", path(&id)))?;
                let items = next["items"].as_array().cloned().unwrap_or_default();
                show::list(target.format, &items, NEXT_COLUMNS)?;
                Ok(ExitCode::SUCCESS)
            }
            Verb::Occurrences { id, options } => {
                let path = format!("{}/occurrences", path(&id));
                options.show(target, &path, OCCURRENCE_COLUMNS, &[])
            }
        }
    }
}

fn show_schedule(target: &ServerOptions, schedule: &Value) -> Result<()> {
    if show::is_for_people(target.format) {
        show::list_with(target.format, std::slice::from_ref(schedule), COLUMNS, WIDE_COLUMNS)
    } else {
        show::document(target.format, schedule)
    }
}

fn path(id: &str) -> String {
    format!("/schedules/{}", percent_encode(id))
}

impl Which {
    fn act(self, target: &ServerOptions, verb: &str) -> Result<ExitCode> {
        let reason = [("reason", self.reason.reason)];
        let path = |id: &str| path_with_query(&format!("/schedules/{id}/{verb}"), &reason);
        act_on_each(target, &Method::POST, &self.ids, path, None)
    }

    fn delete(self, target: &ServerOptions) -> Result<ExitCode> {
        let reason = [("reason", self.reason.reason)];
        let path = |id: &str| path_with_query(&format!("/schedules/{id}"), &reason);
        act_on_each(target, &Method::DELETE, &self.ids, path, None)
    }
}

impl List {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters =
            [("definition", self.definition), ("state", self.state), ("subject", self.subject)];
        let path = path_with_query("/schedules", &filters);
        self.options.show(target, &path, COLUMNS, WIDE_COLUMNS)
    }
}

impl Create {
    fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let input = self.input.as_deref().map(read_json_argument).transpose()?;
        let body = json_object(&[
            ("definition", quoted(Some(self.definition))),
            ("interval", quoted(self.every)),
            ("cron", quoted(self.cron)),
            ("zone", quoted(self.zone)),
            ("version", self.version.map(|version| version.to_string())),
            ("input", input),
            ("startAt", quoted(self.start_at)),
            ("start", quoted(self.start)),
            ("maxRuns", self.max_runs.map(|runs| runs.to_string())),
            ("overlap", quoted(self.overlap)),
            ("catchUp", quoted(self.catch_up)),
            ("subject", quoted(self.subject)),
            ("onExisting", quoted(self.on_existing)),
        ]);
        let schedule: Value = Client::new(target)?.post("/schedules", body)?;
        show_schedule(target, &schedule)?;
        Ok(ExitCode::SUCCESS)
    }
}
