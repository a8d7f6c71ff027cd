//! `forecast`, `why`: what will fire, and explanations.

use std::process::ExitCode;

use anyhow::Result;

use super::target::{instance_id, path_with_query};
use crate::client::{Client, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

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
        if !show::is_for_people(target.format) {
            show::document(target.format, &forecast)?;
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
    /// Id of an instance, timer, task, schedule or occurrence; key:KEY for an instance
    id: String,
}

impl Why {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let id = instance_id(&client, &self.id)?;
        let why = client.get(&format!("/why/{}", percent_encode(&id)))?;
        if show::is_for_people(target.format) {
            show::print_line(&text(&why["explanation"]))?;
        } else {
            show::document(target.format, &why)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
