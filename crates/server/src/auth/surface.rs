//! The public surface: journeys and APIs that anybody may call who satisfies the journey itself.
//!
//! Nothing is public unless its definition or the settings say so. Whoever has no credential of
//! ours hears the same about what is not public as about what is not there.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use meantime_core::InstanceId;
use meantime_journey::surface::Kind;

use crate::app::App;
use crate::journey;
use crate::problem::Problem;
use crate::route::BASE;

/// What a request to the surface of journeys is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SurfaceTarget {
    /// The latest version of a journey or an API, by its name.
    Latest(Kind, String),
    /// An instance.
    Instance(Option<InstanceId>),
    /// An API, by the path it answers at.
    Path(String),
}

/// How a subject stands towards callers whom nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    /// The journey decides about them.
    Public,
    /// They need a credential of ours.
    Private,
    /// An instance that is not public, or not there: which of both stays unsaid.
    Hidden(InstanceId),
}

/// What the route calls: an API also by a route of its own below `/apis`.
async fn latest(app: &App, name: &str, kind: Kind) -> Result<journey::SurfaceDefinition, Problem> {
    match kind {
        Kind::Api => journey::api(app, name).await,
        Kind::Journey => journey::latest(app, name, kind).await,
    }
}

impl SurfaceTarget {
    /// The subject of a request; nothing when its route belongs to operators alone.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let route = request.extensions().get::<MatchedPath>()?.as_str().strip_prefix(BASE)?;
        let path = request.uri().path().strip_prefix(BASE)?;
        // Names and ids have no characters that would be encoded; what is, is not public.
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
                // Unknown names are like private ones; a store that does not answer is not.
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
