//! YAML as journeys use it: a strict JSON model with source positions.
//!
//! The only module that uses the parser. Aliases of journeys are never expanded, those of files
//! that others wrote within the limit on values, so a small text cannot become a large value;
//! anchors, aliases, tags, duplicate keys and tabs in indentation are problems of their own, each
//! at its place. A plain scalar is a null, a boolean or a number only where JSON would say so:
//! `yes`, `on`, `0x1F` and `1_000` are text.

mod node;
mod read;
mod scalar;

#[cfg(test)]
mod tests;

pub(crate) use node::{Content, Entry, Node, SourceLocation, Span, Text};
pub(crate) use read::{read, read_with_aliases};
