//! The `reason` parameter of operations that are recorded with their actor.

use serde::Deserialize;
use utoipa::IntoParams;

/// The query of operations whose body carries something else, or nothing.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ReasonQuery {
    /// Why the operator does this; recorded in the history.
    #[serde(default)]
    pub(super) reason: Option<String>,
}
