//! `start`, `ps`, `show`, `cancel`, `signal`, `logs`: commands for instances; `instances` has them
//! too.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};

use super::target::{Reason, instance_id, instance_path, read_json_argument};
use crate::client::{Client, ServerOptions, percent_encode};
use crate::exit;
use crate::show::{self, Column, Format, text};

/// The wait of one long poll for the result of an instance.
const RESULT_POLL_WAIT: &str = "PT20S";

/// Starts an instance.
#[derive(Debug, clap::Args)]
pub(crate) struct Start {
    /// Name of the definition
    name: String,
    /// Input as JSON, or @FILE to read it from a file, @- from stdin
    #[arg(long, value_name = "JSON|@FILE|@-")]
    input: Option<String>,
    /// Business key, unique among running instances of the definition
    #[arg(long)]
    key: Option<String>,
    /// Version of the definition [default: the latest]
    #[arg(long)]
    version: Option<u32>,
    /// Deadline: an instant, or a duration from now
    #[arg(long)]
    deadline: Option<String>,
    /// Tag to find the instance by; can be repeated
    #[arg(long)]
    tag: Vec<String>,
    /// Wait until the instance has ended
    #[arg(long)]
    wait: bool,
}

impl Start {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let input = self.input.as_deref().map(read_json_argument).transpose()?;
        let mut members = vec![format!("\"definition\":{}", json!(self.name))];
        // The input is passed on as text, so that numbers keep their digits.
        members.extend(input.map(|input| format!("\"input\":{input}")));
        let others = [
            ("key", self.key.map(Value::from)),
            ("version", self.version.map(Value::from)),
            ("deadline", self.deadline.map(Value::from)),
            ("tags", Some(self.tag).filter(|tags| !tags.is_empty()).map(Value::from)),
        ];
        for (name, value) in others {
            members.extend(value.map(|value| format!("{}:{value}", json!(name))));
        }
        let started = client.post("/instances", format!("{{{}}}", members.join(",")))?;
        if !self.wait || has_ended(&started) {
            return show_instance(target.format, &started);
        }
        let path = format!("/instances/{}", percent_encode(&text(&started["id"])));
        while !has_ended(&client.get(&format!("{path}/result?wait={RESULT_POLL_WAIT}"))?) {}
        show_instance(target.format, &client.get(&path)?)
    }
}

fn has_ended(instance: &Value) -> bool {
    instance["status"] != "running"
}

/// Prints an instance. The exit code is 1 if the instance has failed.
pub(super) fn show_instance(format: Format, instance: &Value) -> Result<ExitCode> {
    if show::is_for_people(format) {
        show::pairs(&[
            ("instance", text(&instance["id"])),
            ("definition", format!("{} {}", text(&instance["definition"]), instance["version"])),
            ("status", status_of(instance)),
            ("suspended", suspension_of(instance)),
            ("error", error_of(instance)),
            ("waiting for", waiting_of(instance)),
            ("started", text(&instance["startedAt"])),
            ("ended", text(&instance["endedAt"])),
            ("deadline", text(&instance["deadlineAt"])),
            ("key", text(&instance["key"])),
            ("restart of", text(&instance["restartOf"])),
            ("input", instance["input"].to_string()),
            ("variables", pretty(&instance["variables"])),
            ("output", pretty(&instance["output"])),
        ])?;
    } else {
        show::document(format, instance)?;
    }
    let failed = instance["status"] == "failed";
    Ok(if failed { ExitCode::from(exit::FAILURE) } else { ExitCode::SUCCESS })
}

fn suspension_of(instance: &Value) -> String {
    let it = &instance["suspended"];
    if it.is_null() {
        return String::new();
    }
    let reason = text(&it["by"]["reason"]);
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let timers = if it["timers"] == "run" { "; its timers run" } else { "; its timers are frozen" };
    format!("since {} by {}{reason}{timers}", text(&it["since"]), text(&it["by"]["actor"]))
}

fn pretty(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    serde_json::to_string_pretty(value).unwrap_or_default()
}

pub(super) fn error_of(instance: &Value) -> String {
    let error = &instance["error"];
    if error.is_null() {
        return text(&instance["reason"]);
    }
    format!("{}: {}", text(&error["code"]), text(&error["message"]))
}

pub(super) fn waiting_of(instance: &Value) -> String {
    let incidents = instance["incidents"].as_array().into_iter().flatten();
    let incidents = incidents.map(|it| format!("incident {}", text(&it["code"])));
    let waits = instance["waitingFor"].as_array().into_iter().flatten().map(|it| {
        let due = it["dueAt"].as_str().map_or_else(String::new, |due| format!(" at {due}"));
        format!("{} {}{due}", text(&it["kind"]), text(&it["name"]))
    });
    incidents.chain(waits).collect::<Vec<_>>().join(", ")
}

/// The status of an instance, and whether it is suspended.
pub(super) fn status_of(instance: &Value) -> String {
    let status = text(&instance["status"]);
    if instance["suspended"].is_null() { status } else { format!("{status}, suspended") }
}

/// Shows an instance.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// Id of the instance, or key:KEY
    id: String,
}

impl Show {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let instance = client.get(&instance_path(&client, &self.id)?)?;
        show_instance(target.format, &instance)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Cancels an instance.
#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    /// Id of the instance, or key:KEY
    id: String,
    #[command(flatten)]
    reason: Reason,
}

impl Cancel {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let body = json!({ "reason": self.reason.reason }).to_string();
        let client = Client::new(target)?;
        let path = format!("{}/cancel", instance_path(&client, &self.id)?);
        let instance = client.post(&path, body)?;
        show_instance(target.format, &instance)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Sends a signal to an instance.
#[derive(Debug, clap::Args)]
pub(crate) struct Signal {
    /// Id of the instance, or key:KEY
    id: String,
    /// Name of the signal
    name: String,
    /// Payload as JSON, or @FILE to read it from a file, @- from stdin
    #[arg(value_name = "JSON|@FILE|@-", default_value = "null")]
    payload: String,
}

impl Signal {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let instance = instance_path(&client, &self.id)?;
        let path = format!("{instance}/signals/{}", percent_encode(&self.name));
        let answer = client.post(&path, read_json_argument(&self.payload)?)?;
        show::done(target.format, &answer)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows the history of an instance.
#[derive(Debug, clap::Args)]
pub(crate) struct Logs {
    /// Id of the instance, or key:KEY
    id: String,
    /// Keep printing new events until the instance ends
    #[arg(short, long)]
    follow: bool,
    /// Maximum number of entries without --follow
    #[arg(long, default_value_t = 1_000)]
    limit: usize,
}

const LOG_COLUMNS: &[Column] =
    &[("AT", |it| text(&it["at"])), ("EVENT", |it| text(&it["type"])), ("DETAILS", describe_event)];

impl Logs {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let client = Client::new(target)?;
        let id = percent_encode(&instance_id(&client, &self.id)?);
        if !self.follow {
            let items = client.list(&format!("/instances/{id}/history"), self.limit)?;
            show::list(target.format, &items, LOG_COLUMNS)?;
            return Ok(ExitCode::SUCCESS);
        }
        // An unknown instance is an error now; its event stream would stay empty for ever.
        client.get(&format!("/instances/{id}"))?;
        client.follow(&format!("/events?instance={id}&after=0"), |event| {
            let mut goes_on = true;
            for record in event["records"].as_array().into_iter().flatten() {
                goes_on &= record["type"] != "ended";
                if show::is_for_people(target.format) {
                    let parts =
                        [text(&record["at"]), text(&record["type"]), describe_event(record)];
                    show::print_line(&parts.join("  "))?;
                } else {
                    show::entry(target.format, record)?;
                }
            }
            Ok(goes_on)
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Describes a history event in one line.
pub(super) fn describe_event(entry: &Value) -> String {
    let members = ["name", "element", "dueAt", "cause", "code", "message"];
    let members = members.iter().map(|name| text(&entry[*name])).filter(|it| !it.is_empty());
    let by = entry["by"]["actor"].as_str().map(|actor| {
        let reason = text(&entry["by"]["reason"]);
        if reason.is_empty() { format!("by {actor}") } else { format!("by {actor}: {reason}") }
    });
    let data = Some(&entry["data"]).filter(|data| !data.is_null()).map(ToString::to_string);
    members.chain(by).chain(data).collect::<Vec<_>>().join(" ")
}
