//! Extractors for bodies, queries and path parameters, with problem responses for invalid ones.

mod body;
mod error_text;
mod multipart;
mod path;
mod query;

pub(crate) use body::{JsonBody, RawJson, SourceBody};
pub(crate) use error_text::describe_body_error;
pub(crate) use path::{PathId, PathParams};
pub(crate) use query::Query;

/// Reads a form, as [`crate::fuzz::read_form`] describes.
#[cfg(feature = "fuzz")]
pub(crate) fn read_form(content_type: &str, body: &str) -> Option<Result<Vec<String>, String>> {
    let boundary = multipart::boundary(content_type)?;
    Some(multipart::read(body, boundary).map(|upload| {
        let files = upload.files.into_iter().map(|file| file.text);
        std::iter::once(upload.text).chain(files).collect()
    }))
}
