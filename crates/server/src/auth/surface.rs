//! Public journeys and APIs: callers need no operator credentials, the journey authorises them.
//!
//! Nothing is public unless its definition or the settings say so. A caller without operator
//! credentials gets the same answer for a private target as for one that does not exist.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use meantime_core::InstanceId;
use meantime_journey::surface::Kind;

use crate::app::App;
use crate::journey;
use crate::problem::Problem;
use crate::route::BASE;

/// The target of a request to the API of journeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SurfaceTarget {
    /// The latest version of a journey or an API, by its name.
    Latest(Kind, String),
    /// An instance.
    Instance(Option<InstanceId>),
    /// An API, by the path it answers at.
    Path(String),
}

/// How a target is visible to callers without operator credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    /// The journey authorises them.
    Public,
    /// They need operator credentials.
    Private,
    /// A private or unknown instance: the answer does not tell which.
    Hidden(InstanceId),
}

/// The definition behind a name; an API is also found by a route below `/apis`.
async fn latest(app: &App, name: &str, kind: Kind) -> Result<journey::SurfaceDefinition, Problem> {
    match kind {
        Kind::Api => journey::api(app, name).await,
        Kind::Journey => journey::latest(app, name, kind).await,
    }
}

impl SurfaceTarget {
    /// The target of a request; `None` if its route is for operators only.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let route = request.extensions().get::<MatchedPath>()?.as_str().strip_prefix(BASE)?;
        let path = request.uri().path().strip_prefix(BASE)?;
        // Names and ids contain no characters that need encoding, so an encoded one is not public.
        let segment = path.split('/').nth(2).unwrap_or_default();
        Some(match route {
            "/journeys/{name}/start" => Self::Latest(Kind::Journey, segment.to_owned()),
            "/apis/{name}" => Self::Latest(Kind::Api, segment.to_owned()),
            "/journeys/{id}"
            | "/journeys/{id}/result"
            | "/journeys/{id}/steps/{step}"
            | "/journeys/{id}/steps/cancel" => Self::Instance(segment.parse().ok()),
            "/{*path}" if request.method() == Method::POST => Self::Path(path.to_owned()),
            _ => return None,
        })
    }

    pub(super) async fn visibility(&self, app: &App) -> Result<Visibility, Problem> {
        let is_public = match self {
            Self::Latest(kind, name) => match latest(app, name, *kind).await {
                Ok(named) => named.is_public(app),
                // An unknown name is treated as private; a store error is reported as such.
                Err(problem) if problem.status().is_server_error() => return Err(problem),
                Err(_) => false,
            },
            Self::Path(path) => {
                app.surface_index().public_api(app, path).await?.is_some_and(|it| it.is_public(app))
            }
            Self::Instance(None) => false,
            Self::Instance(Some(id)) => match journey::find(app, *id).await {
                Ok(instance_view) if instance_view.is_public(app) => true,
                Err(problem) if problem.status().is_server_error() => return Err(problem),
                Ok(_) | Err(_) if app.surface_index().has_public(app).await? => {
                    return Ok(Visibility::Hidden(*id));
                }
                Ok(_) | Err(_) => false,
            },
        };
        Ok(if is_public { Visibility::Public } else { Visibility::Private })
    }
}
