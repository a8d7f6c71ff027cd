//! Extractors of path parameters.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use meantime_core::id::InvalidId;
use serde::de::DeserializeOwned;

use super::error_text;
use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// The only id in the path. An invalid id is answered with 404.
pub(crate) struct PathId<T>(pub(crate) T);

/// The parameters of the path.
pub(crate) struct PathParams<T>(pub(crate) T);

impl<T: FromStr<Err = InvalidId>> FromRequestParts<App> for PathId<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let PathParams(text): PathParams<String> =
            PathParams::from_request_parts(parts, app).await?;
        text.parse().map(Self).map_err(|error| Problem::from(error).into_not_found())
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<App> for PathParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, app).await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::new(
                ProblemCode::NotFound,
                error_text::describe_path_error(&error.body_text()),
            )),
        }
    }
}
