//! What handlers get out of a request: bodies, queries and ids, each with a problem of its own
//! when it is wrong.

mod body;
mod depth;
mod error_text;
mod multipart;
mod path;
mod query;

pub(crate) use body::{JsonBody, RawJson, SourceBody};
pub(crate) use depth::json_depth;
pub(crate) use path::{PathId, PathParams};
pub(crate) use query::Query;
