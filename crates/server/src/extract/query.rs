//! Extractor of the query string. Unknown parameters are rejected: a misspelled filter would
//! otherwise be ignored.

use axum::extract::{FromRequestParts, Query as AxumQuery};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error_text;
use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// The parameters of the query.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        match AxumQuery::try_from_uri(&parts.uri) {
            Ok(AxumQuery(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::new(
                ProblemCode::InvalidQuery,
                error_text::describe_query_error(&error.body_text()),
            )),
        }
    }
}
