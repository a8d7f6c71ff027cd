//! What commands that act on a server share: lists, operations with a reason, ids and arguments.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use hyper::Method;
use serde_json::Value;

use crate::client::{Client, RequestBody, ServerOptions, percent_encode};
use crate::show::{self, Column, text};

/// Options of lists.
#[derive(Debug, clap::Args)]
pub(super) struct ListOptions {
    /// Maximum number of entries
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Show the list again every so many seconds, until Ctrl-C [default: 2]
    #[arg(
        short, long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
        require_equals = true, value_parser = clap::value_parser!(u64).range(1..=3_600)
    )]
    watch: Option<u64>,
}

impl ListOptions {
    /// Prints a list.
    pub(super) fn show(
        &self,
        target: &ServerOptions,
        path: &str,
        columns: &[Column],
        more: &[Column],
    ) -> Result<ExitCode> {
        let client = Client::new(target)?;
        loop {
            let items = client.list(path, self.limit)?;
            if self.watch.is_some() {
                show::clear()?;
            }
            show::list_with(target.format, &items, columns, more)?;
            let Some(seconds) = self.watch else { return Ok(ExitCode::SUCCESS) };
            client.pause(seconds);
        }
    }
}

/// The reason of an operation.
#[derive(Debug, clap::Args)]
pub(super) struct Reason {
    /// Why; recorded in the history
    #[arg(long)]
    pub(super) reason: Option<String>,
}

/// Sends an operation to each of several resources, and prints the answers for programs.
pub(super) fn act_on_each(
    target: &ServerOptions,
    method: &Method,
    ids: &[String],
    path: impl Fn(&str) -> String,
    body: Option<&Value>,
) -> Result<ExitCode> {
    let client = Client::new(target)?;
    for id in ids {
        let sent = match body {
            Some(body) => RequestBody::Json(body.to_string()),
            None => RequestBody::Empty,
        };
        let answer = client.call(method.clone(), &path(&percent_encode(id)), sent)?;
        show::done(target.format, &answer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Appends the filters that have a value as a query.
pub(super) fn path_with_query(path: &str, filters: &[(&str, Option<String>)]) -> String {
    let given = filters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let given: Vec<String> =
        given.map(|(name, it)| format!("{name}={}", percent_encode(it))).collect();
    if given.is_empty() { path.to_owned() } else { format!("{path}?{}", given.join("&")) }
}

/// The id of an instance: as it is given, or found by its business key, as in `key:order-7`. A
/// running instance comes before those that have ended.
pub(super) fn instance_id(client: &Client, given: &str) -> Result<String> {
    let Some(key) = given.strip_prefix("key:") else { return Ok(given.to_owned()) };
    for status in [Some("running"), None] {
        let filters = [("key", Some(key.to_owned())), ("status", status.map(str::to_owned))];
        let found = client.list(&path_with_query("/instances", &filters), 2)?;
        match found.as_slice() {
            [] => {}
            [instance] => return Ok(text(&instance["id"])),
            _ => bail!("several instances have the key {key:?}: `meantime ps --key` lists them"),
        }
    }
    bail!("no instance has the key {key:?}")
}

/// The instance of a filter, given by its id or as `key:KEY`.
pub(super) fn instance_filter(
    target: &ServerOptions,
    given: Option<String>,
) -> Result<Option<String>> {
    match given {
        Some(given) if given.starts_with("key:") => {
            instance_id(&Client::new(target)?, &given).map(Some)
        }
        given => Ok(given),
    }
}

/// The path of an instance, given by its id or as `key:KEY`.
pub(super) fn instance_path(client: &Client, given: &str) -> Result<String> {
    Ok(format!("/instances/{}", percent_encode(&instance_id(client, given)?)))
}

/// Reads JSON from the argument, from the file that `@FILE` names, or from stdin with `@-`.
pub(super) fn read_json_argument(argument: &str) -> Result<String> {
    let text = match argument.strip_prefix('@') {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("stdin")?;
            text
        }
        Some(path) => std::fs::read_to_string(Path::new(path)).with_context(|| path.to_owned())?,
        None => argument.to_owned(),
    };
    serde_json::from_str::<&serde_json::value::RawValue>(&text).context("not valid JSON")?;
    Ok(text)
}

/// An object of members that have a value. Values are JSON and keep their text, so that numbers
/// keep their digits.
pub(super) fn json_object(members: &[(&str, Option<String>)]) -> String {
    let given = members.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let given: Vec<String> =
        given.map(|(name, value)| format!("{}:{value}", Value::from(*name))).collect();
    format!("{{{}}}", given.join(","))
}

/// A text as JSON, for [`json_object`].
pub(super) fn quoted(text: Option<String>) -> Option<String> {
    text.map(|text| Value::from(text).to_string())
}
