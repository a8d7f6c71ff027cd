//! The only module that uses the YAML library.

use serde::de::DeserializeOwned;

/// A value with its position in the source.
pub(crate) type Spanned<T> = serde_saphyr::Spanned<T>;

/// The problem of a text and its position; line and column count from 1.
#[derive(Debug)]
pub(crate) struct YamlProblem {
    pub(crate) message: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Reads a small document: no aliases, limited depth and length.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, YamlProblem> {
    let budget = serde_saphyr::budget! {
        max_depth: 8,
        max_nodes: 1_000,
        max_events: 4_000,
        max_aliases: 0,
        max_anchors: 0,
    };
    let options = serde_saphyr::options! { budget: budget, with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| line_and_column(&at));
        YamlProblem { message: plain(&error.to_string()), line, column }
    })
}

/// Line and column of a placed value.
pub(crate) fn position_of<T>(value: &Spanned<T>) -> (u32, u32) {
    line_and_column(&value.defined)
}

fn line_and_column(at: &serde_saphyr::Location) -> (u32, u32) {
    let number = |value: u64| u32::try_from(value).unwrap_or(1).max(1);
    (number(at.line()), number(at.column()))
}

/// The message without the position, which the diagnostic has.
fn plain(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("not valid YAML");
    let line = line.trim_start_matches("error: ");
    line.split(" at line ").next().unwrap_or(line).trim_end_matches(',').to_owned()
}
