//! `messages`, `signals`: publishes messages and broadcasts signals.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::target::{json_object, quoted, read_json_argument};
use crate::client::{Client, ServerOptions, percent_encode};
use crate::show::{self, text};

/// Publishes messages.
#[derive(Debug, clap::Args)]
pub(crate) struct Messages {
    #[command(subcommand)]
    verb: MessageVerb,
}

#[derive(Debug, clap::Subcommand)]
enum MessageVerb {
    /// Publish a message
    Publish {
        /// Name of the message
        name: String,
        /// Correlation key
        #[arg(long)]
        key: Option<String>,
        /// Payload as JSON, or @FILE to read it from a file, @- from stdin
        #[arg(value_name = "JSON|@FILE|@-", default_value = "null")]
        payload: String,
        /// How long the message is kept without a receiver [default: PT1H]
        #[arg(long, value_name = "DURATION")]
        ttl: Option<String>,
        /// Id by which repeated messages are recognised
        #[arg(long)]
        id: Option<String>,
    },
}

impl Messages {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let MessageVerb::Publish { name, key, payload, ttl, id } = self.verb;
        let body = json_object(&[
            ("name", quoted(Some(name))),
            ("correlationKey", quoted(key)),
            ("payload", Some(read_json_argument(&payload)?)),
            ("ttl", quoted(ttl)),
            ("id", quoted(id)),
        ]);
        show_delivery(target, &Client::new(target)?.post("/messages", body)?)
    }
}

/// Broadcasts signals.
#[derive(Debug, clap::Args)]
pub(crate) struct Signals {
    #[command(subcommand)]
    verb: SignalVerb,
}

#[derive(Debug, clap::Subcommand)]
enum SignalVerb {
    /// Send a signal to all instances that wait for it
    Broadcast {
        /// Name of the signal
        name: String,
        /// Payload as JSON, or @FILE to read it from a file, @- from stdin
        #[arg(value_name = "JSON|@FILE|@-", default_value = "null")]
        payload: String,
    },
}

impl Signals {
    pub(crate) fn run(self, target: &ServerOptions) -> Result<ExitCode> {
        let SignalVerb::Broadcast { name, payload } = self.verb;
        let path = format!("/signals/{}", percent_encode(&name));
        show_delivery(target, &Client::new(target)?.post(&path, read_json_argument(&payload)?)?)
    }
}

/// Prints the instances that received a message or signal.
fn show_delivery(target: &ServerOptions, answer: &Value) -> Result<ExitCode> {
    if !show::is_for_people(target.format) {
        show::document(target.format, answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let delivered: Vec<String> =
        answer["delivered"].as_array().into_iter().flatten().map(text).collect();
    if delivered.is_empty() {
        show::print_line("no instance received it")?;
    }
    for instance in delivered {
        show::print_line(&format!("delivered to {instance}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
