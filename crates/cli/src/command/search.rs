//! `ps` and `stats`: searches and counts of instances.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::instance::{error_of, status_of, waiting_of};
use super::target::{ListOptions, path_with_query};
use crate::client::{Client, ServerOptions};
use crate::show::{self, Column, Format, text};

/// Lists instances.
#[derive(Debug, clap::Args)]
pub(crate) struct Ps {
    /// Only instances of this definition
    #[arg(long)]
    definition: Option<String>,
    /// Only of this version of the definition
    #[arg(long, requires = "definition")]
    version: Option<u32>,
    /// Only of this notation: journey, bpmn or flow
    #[arg(long)]
    notation: Option<String>,
    /// Only with this status: running, completed, failed or cancelled; can be repeated
    #[arg(long)]
    status: Vec<String>,
    /// Only with this business key
    #[arg(long)]
    key: Option<String>,
    /// Only with a business key that begins like this
    #[arg(long)]
    key_prefix: Option<String>,
    /// Only with this tag; repeat it for instances that have all of several tags
    #[arg(long)]
    tag: Vec<String>,
    /// Only children that this instance has started
    #[arg(long)]
    parent: Option<String>,
    /// Only this instance and everything below it
    #[arg(long)]
    root: Option<String>,
    /// Only started at or after this instant
    #[arg(long, value_name = "INSTANT")]
    started_after: Option<String>,
    /// Only started before this instant
    #[arg(long, value_name = "INSTANT")]
    started_before: Option<String>,
    /// Only ended at or after this instant
    #[arg(long, value_name = "INSTANT")]
    ended_after: Option<String>,
    /// Only ended before this instant
    #[arg(long, value_name = "INSTANT")]
    ended_before: Option<String>,
    /// Only with a wait of this kind, such as timer or userTask
    #[arg(long, value_name = "KIND")]
    waiting_for: Option<String>,
    /// Only with a wait at this element
    #[arg(long)]
    element: Option<String>,
    /// Only with an open incident
    #[arg(long)]
    incidents: bool,
    /// Only with an open incident of this code
    #[arg(long, value_name = "CODE")]
    incident_code: Option<String>,
    /// Only failed with this code
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// Sort by start, end, key or due
    #[arg(long)]
    sort: Option<String>,
    /// Direction: asc or desc
    #[arg(long)]
    order: Option<String>,
    /// Print only the number of instances that match
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    list: ListOptions,
}

const PS_COLUMNS: &[Column] = &[
    ("INSTANCE", |it| text(&it["id"])),
    ("DEFINITION", |it| format!("{} {}", text(&it["definition"]), it["version"])),
    ("STATUS", status_of),
    ("WAITING FOR", waiting_of),
    ("STARTED", |it| text(&it["startedAt"])),
    ("KEY", |it| text(&it["key"])),
];

const PS_WIDE_COLUMNS: &[Column] = &[
    ("NOTATION", |it| text(&it["notation"])),
    ("ENDED", |it| text(&it["endedAt"])),
    ("DEADLINE", |it| text(&it["deadlineAt"])),
    ("ERROR", error_of),
    ("PARENT", |it| text(&it["parent"])),
    ("TAGS", |it| {
        it["tags"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(" ")
    }),
];

impl Ps {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let path = path_with_query("/instances", &self.filters());
        if self.count {
            let mark = if path.contains('?') { '&' } else { '?' };
            let path = format!("{path}{mark}count=true&limit=1");
            let answer = Client::new(target)?.get(&path)?;
            show_count(target.format, &answer["count"])?;
            return Ok(ExitCode::SUCCESS);
        }
        self.list.show(target, &path, PS_COLUMNS, PS_WIDE_COLUMNS)
    }

    fn filters(&self) -> Vec<(&'static str, Option<String>)> {
        let mut filters = vec![
            ("definition", self.definition.clone()),
            ("version", self.version.map(|version| version.to_string())),
            ("notation", self.notation.clone()),
            ("key", self.key.clone()),
            ("keyPrefix", self.key_prefix.clone()),
            ("parent", self.parent.clone()),
            ("root", self.root.clone()),
            ("startedAfter", self.started_after.clone()),
            ("startedBefore", self.started_before.clone()),
            ("endedAfter", self.ended_after.clone()),
            ("endedBefore", self.ended_before.clone()),
            ("waitingFor", self.waiting_for.clone()),
            ("element", self.element.clone()),
            ("hasIncident", self.incidents.then(|| "true".to_owned())),
            ("incidentCode", self.incident_code.clone()),
            ("errorCode", self.error_code.clone()),
            ("sort", self.sort.clone()),
            ("order", self.order.clone()),
        ];
        filters.extend(self.status.iter().map(|status| ("status", Some(status.clone()))));
        filters.extend(self.tag.iter().map(|tag| ("tag", Some(tag.clone()))));
        filters
    }
}

fn show_count(format: Format, count: &Value) -> Result<()> {
    if !show::is_for_people(format) {
        return show::document(format, count);
    }
    let more = if count["atLeast"] == json!(true) { "at least " } else { "" };
    show::print_line(&format!("{more}{}", count["value"]))
}

/// Counts instances in groups.
#[derive(Debug, clap::Args)]
pub(crate) struct CountGroups {
    /// What to group by: status, definition, version, element or incidentCode
    #[arg(long, default_value = "status")]
    by: String,
    /// Only instances of this definition
    #[arg(long)]
    definition: Option<String>,
    /// Only of this version of the definition
    #[arg(long, requires = "definition")]
    version: Option<u32>,
    /// Only of this notation: journey, bpmn or flow
    #[arg(long)]
    notation: Option<String>,
}

const STATS_COLUMNS: &[Column] = &[
    ("GROUP", |it| {
        let members = ["status", "definition", "version", "element", "incidentCode"];
        let members = members.iter().map(|name| text(&it[*name])).filter(|it| !it.is_empty());
        members.collect::<Vec<_>>().join(" ")
    }),
    ("COUNT", |it| text(&it["count"])),
    ("RUNNING", |it| text(&it["byStatus"]["running"])),
    ("COMPLETED", |it| text(&it["byStatus"]["completed"])),
    ("FAILED", |it| text(&it["byStatus"]["failed"])),
    ("CANCELLED", |it| text(&it["byStatus"]["cancelled"])),
];

impl CountGroups {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters = [
            ("groupBy", Some(self.by)),
            ("definition", self.definition),
            ("version", self.version.map(|version| version.to_string())),
            ("notation", self.notation),
        ];
        let answer = Client::new(target)?.get(&path_with_query("/instances/stats", &filters))?;
        if !show::is_for_people(target.format) {
            show::document(target.format, &answer)?;
            return Ok(ExitCode::SUCCESS);
        }
        let groups = answer["groups"].as_array().cloned().unwrap_or_default();
        // Only groups of definitions are split by status.
        let is_split = groups.iter().any(|group| group["byStatus"].is_object());
        let columns = if is_split { STATS_COLUMNS } else { &STATS_COLUMNS[..2] };
        show::list(target.format, &groups, columns)?;
        if answer["atLeast"] == json!(true) {
            show::print_line("counting was cut off: there may be more")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
