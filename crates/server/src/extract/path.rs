//! Parts of the path: ids and names.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use meantime_core::id::InvalidId;
use serde::de::DeserializeOwned;

use super::wording;
use crate::app::App;
use crate::problem::{Problem, Reason};

/// The one id in the path. What cannot be an id names nothing that is there.
pub(crate) struct Id<T>(pub(crate) T);

/// The names in the path.
pub(crate) struct Name<T>(pub(crate) T);

impl<T: FromStr<Err = InvalidId>> FromRequestParts<App> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Name(text): Name<String> = Name::from_request_parts(parts, app).await?;
        text.parse().map(Self).map_err(|error| Problem::from(error).not_there())
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Name<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, app).await {
            Ok(Path(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::new(Reason::NotFound, wording::of_path(&error.body_text()))),
        }
    }
}
