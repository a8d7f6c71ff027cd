//! Extractors for bodies, queries and path parameters, with problem responses for invalid ones.

mod body;
mod error_text;
mod multi_query;
mod multipart;
mod path;
mod query;

pub(crate) use body::{JsonBody, RawJson, SourceBody};
pub(crate) use error_text::describe_body_error;
pub(crate) use multi_query::MultiQuery;
#[cfg(feature = "fuzz")]
pub(crate) use multipart::read_form;
pub(crate) use path::{PathId, PathParams};
pub(crate) use query::Query;
