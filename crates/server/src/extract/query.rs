//! The query. A parameter that nobody knows is refused: a filter with a typing error would
//! otherwise filter nothing.

use axum::extract::{FromRequestParts, Query as AxumQuery};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::wording;
use crate::app::App;
use crate::problem::{Problem, Reason};

/// The parameters of the query.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        match AxumQuery::try_from_uri(&parts.uri) {
            Ok(AxumQuery(value)) => Ok(Self(value)),
            Err(error) => {
                Err(Problem::new(Reason::InvalidQuery, wording::of_query(&error.body_text())))
            }
        }
    }
}
