//! How answers are shown: tables for people, JSON for programs.
#![expect(clippy::print_stdout, reason = "answers of a command line")]

use anyhow::Result;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::Value;

/// How answers are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// For programs
    Json,
}

/// A column: its title, and how to read it from an entry.
pub(crate) type Column = (&'static str, fn(&Value) -> String);

/// Shows a list.
pub(crate) fn list(format: Format, items: &[Value], columns: &[Column]) -> Result<()> {
    if format == Format::Json {
        return json(&Value::Array(items.to_vec()));
    }
    if items.is_empty() {
        println!("nothing");
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(columns.iter().map(|(title, _)| *title));
    for item in items {
        table.add_row(columns.iter().map(|(_, read)| read(item)));
    }
    println!("{table}");
    Ok(())
}

/// Shows names and values, one in a line.
pub(crate) fn pairs(pairs: &[(&str, String)]) {
    let mut table = Table::new();
    table.load_style(NOTHING);
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        table.add_row([(*name).to_owned(), value.clone()]);
    }
    println!("{table}");
}

/// Shows JSON.
pub(crate) fn json(value: &Value) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// Shows a line.
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// A member as text: strings without quotes, nothing for null.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
