//! Parsers of what callers send, for generated input (`crates/fuzz`). Never part of a release.

use crate::extract;
use crate::route::{rewrite_forecast_cursor, rewrite_timer_cursor};
use crate::wire::{occurrence_cursor, read_occurrence_key};

/// Reads a form with a source and its files. `None` if the content type is another one; otherwise
/// the texts of source and files, or why it is refused.
pub fn read_form(content_type: &str, body: &str) -> Option<Result<Vec<String>, String>> {
    extract::read_form(content_type, body)
}

/// Reads a text as a cursor of each list whose cursors are no ids, and writes what was read.
pub fn read_cursors(text: &str) -> Vec<String> {
    let occurrence = read_occurrence_key(text).map(occurrence_cursor);
    let others = [rewrite_timer_cursor(text), rewrite_forecast_cursor(text)];
    occurrence.into_iter().chain(others.into_iter().flatten()).collect()
}
