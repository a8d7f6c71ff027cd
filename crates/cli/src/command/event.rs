//! `events`, `clock`: follows what happens, shows and moves a virtual clock.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::instance::describe_event;
use super::target::{instance_id, json_object, path_with_query, quoted};
use crate::client::{Client, ServerOptions};
use crate::show::{self, text};

/// Prints what happens, turn by turn.
#[derive(Debug, clap::Args)]
pub(crate) struct Events {
    /// Keep printing new events until Ctrl-C
    #[arg(short, long, required = true)]
    follow: bool,
    /// Only of this instance: its id, or key:KEY
    #[arg(long)]
    instance: Option<String>,
    /// Only of instances of this definition
    #[arg(long)]
    definition: Option<String>,
    /// Begin after this number; 0 begins with the oldest event [default: only new events]
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
}

impl Events {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        debug_assert!(self.follow, "it is required");
        let client = Client::new(target)?;
        let instance = self.instance.map(|given| instance_id(&client, &given)).transpose()?;
        let filters = [
            ("instance", instance),
            ("definition", self.definition),
            ("after", self.after.map(|number| number.to_string())),
        ];
        client.follow(&path_with_query("/events", &filters), |turn| {
            if show::is_for_people(target.format) {
                for record in turn["records"].as_array().into_iter().flatten() {
                    show::print_line(&describe(turn, record))?;
                }
            } else {
                show::entry(target.format, turn)?;
            }
            Ok(true)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn describe(turn: &Value, record: &Value) -> String {
    let parts = [
        text(&record["at"]),
        text(&turn["instanceId"]),
        text(&turn["definition"]),
        text(&record["type"]),
        describe_event(record),
    ];
    parts.join("  ").trim_end().to_owned()
}

/// Shows a virtual clock, and moves it.
#[derive(Debug, clap::Args)]
pub(crate) struct Clock {
    #[command(subcommand)]
    verb: Option<ClockVerb>,
}

#[derive(Debug, clap::Subcommand)]
enum ClockVerb {
    /// Move a virtual clock forward; everything that becomes due is done
    Advance {
        /// By this duration
        #[arg(long, value_name = "DURATION", required_unless_present = "to")]
        by: Option<String>,
        /// To this instant
        #[arg(long, value_name = "INSTANT", conflicts_with = "by")]
        to: Option<String>,
    },
}

impl Clock {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let clock = match self.verb {
            None => client.get("/clock")?,
            Some(ClockVerb::Advance { by, to }) => {
                let body = json_object(&[("by", quoted(by)), ("to", quoted(to))]);
                client.post("/clock/advance", body)?
            }
        };
        if show::is_for_people(target.format) {
            show::pairs(&[("now", text(&clock["now"])), ("fired", text(&clock["fired"]))])?;
        } else {
            show::document(target.format, &clock)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
