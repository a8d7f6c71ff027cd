//! YAML as journeys use it: a strict JSON model with source positions.
//!
//! The only module that uses the parser. In journeys, aliases are problems and never expanded; in
//! other files they are expanded up to the limit on values, so that a small text cannot become a
//! large value. Anchors, aliases, tags, duplicate keys and tabs in indentation are reported with
//! their positions. A plain scalar is a null, a boolean or a number only if it is one in JSON:
//! `yes`, `on`, `0x1F` and `1_000` are text.

mod node;
mod read;
mod scalar;

#[cfg(test)]
mod tests;

pub(crate) use node::{Content, Entry, Node, SourceLocation, Span, Text};
pub(crate) use read::{read, read_with_aliases};
