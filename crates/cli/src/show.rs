//! Output of commands: tables for people, JSON for programs.
//!
//! `println!` panics when the output pipe is closed, as in `meantime ps | head -1`. All output goes
//! through this module instead: a closed pipe ends the command silently.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use comfy_table::Table;
use comfy_table::presets::NOTHING;
/// `--format` of `bench` hides the global option, and clap requires the same type for both.
pub(crate) use meantime_bench::OutputFormat as Format;
use serde_json::Value;

use crate::yaml;

/// The output pipe was closed.
#[derive(Debug, thiserror::Error)]
#[error("the output was closed")]
pub(crate) struct OutputClosed;

/// A column: its title, and how to read its text from an item.
pub(crate) type Column = (&'static str, fn(&Value) -> String);

/// Prints a list.
pub(crate) fn list(format: Format, items: &[Value], columns: &[Column]) -> Result<()> {
    list_with(format, items, columns, &[])
}

/// Prints a list with more columns in the wide format.
pub(crate) fn list_with(
    format: Format,
    items: &[Value],
    columns: &[Column],
    more: &[Column],
) -> Result<()> {
    if !is_for_people(format) {
        return document(format, &Value::Array(items.to_vec()));
    }
    if items.is_empty() {
        return print_line("no entries");
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    let more = if format == Format::Wide { more } else { &[] };
    let columns = || columns.iter().chain(more);
    table.set_header(columns().map(|(title, _)| *title));
    for item in items {
        table.add_row(columns().map(|(_, read)| read(item)));
    }
    print_line(&table.to_string())
}

/// Prints names and values, one pair per line; empty values are left out.
pub(crate) fn pairs(pairs: &[(&str, String)]) -> Result<()> {
    let mut table = Table::new();
    table.load_style(NOTHING);
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        table.add_row([(*name).to_owned(), value.clone()]);
    }
    print_line(&table.to_string())
}

/// Whether the output is for people, not for programs.
pub(crate) const fn is_for_people(format: Format) -> bool {
    matches!(format, Format::Table | Format::Wide)
}

/// Prints a document for programs.
pub(crate) fn document(format: Format, value: &Value) -> Result<()> {
    match (format, value) {
        (Format::Jsonl, Value::Array(items)) => {
            items.iter().try_for_each(|item| print_line(&item.to_string()))
        }
        (Format::Jsonl, value) => print_line(&value.to_string()),
        (Format::Yaml, value) => print_line(yaml::render(value).trim_end()),
        (Format::Table | Format::Wide | Format::Json, value) => {
            print_line(&serde_json::to_string_pretty(value)?)
        }
    }
}

/// Prints one entry of a stream for programs: a line, or a document of YAML.
pub(crate) fn entry(format: Format, value: &Value) -> Result<()> {
    match format {
        Format::Yaml => print_line(&format!("---\n{}", yaml::render(value).trim_end())),
        _ => print_line(&value.to_string()),
    }
}

/// Prints the answer to an operation that has nothing to show to people.
pub(crate) fn done(format: Format, answer: &Value) -> Result<()> {
    if is_for_people(format) { Ok(()) } else { document(format, answer) }
}

/// Clears a terminal, so that a list is shown again in its place.
pub(crate) fn clear() -> Result<()> {
    if io::stdout().is_terminal() {
        let mut output = io::stdout().lock();
        output.write_all(b"\x1b[H\x1b[2J").and_then(|()| output.flush()).context("the terminal")?;
    }
    Ok(())
}

/// Prints a line to stdout.
pub(crate) fn print_line(text: &str) -> Result<()> {
    print_text(&format!("{text}\n"))
}

/// Prints a text as it is.
pub(crate) fn print_text(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        written => written.context("cannot write the output"),
    }
}

/// Prints a line to stderr. A closed stderr is ignored.
pub(crate) fn print_error(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Whether stderr may have colours: it is a terminal, and `NO_COLOR` (<https://no-color.org>) is
/// not set.
pub(crate) fn colors() -> bool {
    may_color(io::stderr().is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

fn may_color(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

/// A JSON value as text: strings without quotes, null as the empty text.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NO_COLOR` and an output that is no terminal turn colours off.
    #[test]
    fn no_color_means_no_colours() {
        assert!(may_color(true, None));
        assert!(may_color(true, Some(OsStr::new(""))), "set and empty is not set");
        assert!(!may_color(true, Some(OsStr::new("1"))));
        assert!(!may_color(false, None));
    }
}
