//! `ps` and `stats`: searches and counts of instances.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::instance::waiting_of;
use crate::client::{Client, ServerOptions, percent_encode};
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
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

const PS_COLUMNS: &[Column] = &[
    ("INSTANCE", |it| text(&it["id"])),
    ("DEFINITION", |it| format!("{} {}", text(&it["definition"]), it["version"])),
    ("STATUS", |it| text(&it["status"])),
    ("WAITING FOR", waiting_of),
    ("STARTED", |it| text(&it["startedAt"])),
    ("KEY", |it| text(&it["key"])),
];

impl Ps {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let (is_count, limit) = (self.count, self.limit);
        let path = path_with_query("/instances", &self.filters());
        if is_count {
            let mark = if path.contains('?') { '&' } else { '?' };
            let answer = client.get(&format!("{path}{mark}count=true&limit=1"))?;
            show_count(target.format, &answer["count"])?;
            return Ok(ExitCode::SUCCESS);
        }
        show::list(target.format, &client.list(&path, limit)?, PS_COLUMNS)?;
        Ok(ExitCode::SUCCESS)
    }

    fn filters(self) -> Vec<(&'static str, Option<String>)> {
        let mut filters = vec![
            ("definition", self.definition),
            ("version", self.version.map(|version| version.to_string())),
            ("notation", self.notation),
            ("key", self.key),
            ("keyPrefix", self.key_prefix),
            ("parent", self.parent),
            ("root", self.root),
            ("startedAfter", self.started_after),
            ("startedBefore", self.started_before),
            ("endedAfter", self.ended_after),
            ("endedBefore", self.ended_before),
            ("waitingFor", self.waiting_for),
            ("element", self.element),
            ("hasIncident", self.incidents.then(|| "true".to_owned())),
            ("incidentCode", self.incident_code),
            ("errorCode", self.error_code),
            ("sort", self.sort),
            ("order", self.order),
        ];
        filters.extend(self.status.into_iter().map(|status| ("status", Some(status))));
        filters.extend(self.tag.into_iter().map(|tag| ("tag", Some(tag))));
        filters
    }
}

fn show_count(format: Format, count: &Value) -> Result<()> {
    if format == Format::Json {
        return show::json(count);
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
        if target.format == Format::Json {
            show::json(&answer)?;
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

/// Appends the filters that have a value as a query.
pub(super) fn path_with_query(path: &str, filters: &[(&str, Option<String>)]) -> String {
    let given = filters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let given: Vec<String> =
        given.map(|(name, it)| format!("{name}={}", percent_encode(it))).collect();
    if given.is_empty() { path.to_owned() } else { format!("{path}?{}", given.join("&")) }
}
