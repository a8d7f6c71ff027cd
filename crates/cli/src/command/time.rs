//! `timers`, `schedules`, `forecast`, `why`, `incidents`: lists and explanations.

use std::process::ExitCode;

use anyhow::Result;

use super::search::path_with_query;
use crate::client::{Client, ServerOptions, percent_encode};
use crate::show::{self, Column, Format, text};

/// Lists armed timers and deadlines.
#[derive(Debug, clap::Args)]
pub(crate) struct Timers {
    /// Only of this instance
    #[arg(long)]
    instance: Option<String>,
    /// Only of this definition
    #[arg(long)]
    definition: Option<String>,
    /// Only due before this instant
    #[arg(long)]
    before: Option<String>,
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

const TIMER_COLUMNS: &[Column] = &[
    ("DUE", |it| text(&it["dueAt"])),
    ("KIND", |it| text(&it["kind"])),
    ("TIMER", |it| text(&it["id"])),
    ("DEFINITION", |it| text(&it["definition"])),
    ("ELEMENT", |it| text(&it["element"])),
    ("FROZEN", |it| if it["frozen"] == true { "yes".to_owned() } else { String::new() }),
];

impl Timers {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters = [
            ("instance", self.instance),
            ("definition", self.definition),
            ("dueBefore", self.before),
        ];
        let items = Client::new(target)?.list(&path_with_query("/timers", &filters), self.limit)?;
        show::list(target.format, &items, TIMER_COLUMNS)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Lists schedules.
#[derive(Debug, clap::Args)]
pub(crate) struct Schedules {
    /// Only schedules that start this definition
    #[arg(long)]
    definition: Option<String>,
    /// Only in this state: active, paused or completed
    #[arg(long)]
    state: Option<String>,
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

const SCHEDULE_COLUMNS: &[Column] = &[
    ("SCHEDULE", |it| text(&it["id"])),
    ("DEFINITION", |it| format!("{} {}", text(&it["definition"]), it["version"])),
    ("SUBJECT", |it| text(&it["subject"])),
    ("RULE", |it| format!("{}{}", text(&it["interval"]), text(&it["cron"]))),
    ("ZONE", |it| text(&it["zone"])),
    ("NEXT", |it| text(&it["nextAt"])),
    ("RUNS", |it| text(&it["runsExecuted"])),
    ("STATE", |it| text(&it["state"])),
];

impl Schedules {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters = [("definition", self.definition), ("state", self.state)];
        let items =
            Client::new(target)?.list(&path_with_query("/schedules", &filters), self.limit)?;
        show::list(target.format, &items, SCHEDULE_COLUMNS)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows everything that will fire.
#[derive(Debug, clap::Args)]
pub(crate) struct Forecast {
    /// Start of the window: an instant, or a duration from now [default: now]
    #[arg(long)]
    from: Option<String>,
    /// End of the window: an instant, or a duration from now
    #[arg(long, default_value = "P1D")]
    to: String,
    /// Count per time bucket of this length
    #[arg(long, value_name = "DURATION")]
    bucket: Option<String>,
    /// Only of this definition
    #[arg(long, value_name = "NAME")]
    definition: Option<String>,
    /// Cursor of the next page
    #[arg(long)]
    cursor: Option<String>,
}

const FORECAST_COLUMNS: &[Column] = &[
    ("AT", |it| text(&it["at"])),
    ("KIND", |it| text(&it["kind"])),
    ("DEFINITION", |it| text(&it["definition"])),
    ("ELEMENT", |it| text(&it["element"])),
    ("ID", |it| text(&it["id"])),
];

const BUCKET_COLUMNS: &[Column] =
    &[("FROM", |it| text(&it["at"])), ("COUNT", |it| text(&it["count"]))];

impl Forecast {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let is_counted = self.bucket.is_some();
        let filters = [
            ("from", self.from),
            ("to", Some(self.to)),
            ("bucket", self.bucket),
            ("definition", self.definition),
            ("cursor", self.cursor),
        ];
        let forecast = Client::new(target)?.get(&path_with_query("/forecast", &filters))?;
        if target.format == Format::Json {
            show::json(&forecast)?;
            return Ok(ExitCode::SUCCESS);
        }
        let (part, columns) =
            if is_counted { ("buckets", BUCKET_COLUMNS) } else { ("items", FORECAST_COLUMNS) };
        let items = forecast[part].as_array().cloned().unwrap_or_default();
        show::list(target.format, &items, columns)?;
        if let (false, Some(cursor)) = (is_counted, forecast["nextCursor"].as_str()) {
            show::print_line(&format!("more entries: --cursor {cursor}"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Explains an instance, timer, task, schedule or occurrence.
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// Id of an instance, timer, task, schedule or occurrence
    id: String,
}

impl Why {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let why = Client::new(target)?.get(&format!("/why/{}", percent_encode(&self.id)))?;
        if target.format == Format::Json {
            show::json(&why)?;
        } else {
            show::print_line(&text(&why["explanation"]))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Lists open incidents.
#[derive(Debug, clap::Args)]
pub(crate) struct Incidents {
    /// Only of this instance
    #[arg(long)]
    instance: Option<String>,
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

const INCIDENT_COLUMNS: &[Column] = &[
    ("INCIDENT", |it| text(&it["id"])),
    ("INSTANCE", |it| text(&it["instanceId"])),
    ("SINCE", |it| text(&it["raisedAt"])),
    ("CODE", |it| text(&it["code"])),
    ("MESSAGE", |it| text(&it["message"])),
    ("ELEMENT", |it| text(&it["element"])),
];

impl Incidents {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let filters = [("instance", self.instance)];
        let items =
            Client::new(target)?.list(&path_with_query("/incidents", &filters), self.limit)?;
        show::list(target.format, &items, INCIDENT_COLUMNS)?;
        Ok(ExitCode::SUCCESS)
    }
}
