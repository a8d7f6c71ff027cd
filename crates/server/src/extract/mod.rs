//! What handlers get out of a request: bodies, queries and ids, each with a problem of its own
//! when it is wrong.

mod body;
mod depth;
mod multipart;
mod path;
mod query;
mod wording;

pub(crate) use body::{Body, Payload, Text};
pub(crate) use depth::depth;
pub(crate) use path::{Id, Name};
pub(crate) use query::Query;
