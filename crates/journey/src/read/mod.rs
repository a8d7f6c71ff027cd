//! Reads the tree of a document to a definition, with every problem at its position.
//!
//! One file per part of the language. An invalid part is left out and reading continues, so that
//! all problems are reported at once. Rules that need the whole definition are in `check`.

mod bindings;
mod blocks;
mod builtin;
mod document;
mod expression;
mod fields;
mod flow;
mod http;
mod limits;
mod nested;
mod policy;
mod reader;
mod schedule;
mod scope;
mod spec;
mod task;
mod waiting;

pub(crate) use document::{Document, document};
pub(crate) use http::is_absolute;
