//! All routes, and what stands in front of them.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get};
use utoipa_axum::router::OpenApiRouter;

use super::table::Routes;
use super::{
    api_call, clock, definition, engine, event, forecast, health, incident, instance, journey,
    message, schedule, task, timer, why,
};
use crate::app::App;
use crate::auth::{Permission, authenticate, require};
use crate::observe;
use crate::openapi;
use crate::problem::{Problem, Reason};

/// Where the API begins.
pub(super) const BASE: &str = "/api/v1";

/// The API itself, with its description.
pub(crate) fn api() -> OpenApiRouter<App> {
    let routes = [
        definition::routes(),
        instance::routes(),
        journey::routes(),
        api_call::routes(),
        message::routes(),
        task::routes(),
        timer::routes(),
        schedule::routes(),
        forecast::routes(),
        why::routes(),
        incident::routes(),
        event::routes(),
        clock::routes(),
        engine::routes(),
    ];
    let all = routes.into_iter().fold(Routes::new(), Routes::merge);
    OpenApiRouter::with_openapi(openapi::base()).nest(BASE, all.into_router())
}

/// Everything the server answers.
pub(crate) fn router(app: &App) -> Router {
    let (api, _) = api().split_for_parts();
    // APIs have paths of their own, which are known only when they are deployed.
    let routed = any(api_call::routed)
        .layer(from_fn(|request, next| require(Permission::Operate, request, next)));
    let guarded = api
        .route("/metrics", get(health::metrics))
        .route(&format!("{BASE}/{{*path}}"), routed)
        .route_layer(from_fn_with_state(app.clone(), authenticate));
    let open = Router::new()
        .route("/", get(|| async { Redirect::temporary("/docs") }))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/openapi.json", get(openapi::json))
        .route("/docs", get(openapi::page));
    guarded
        .merge(open)
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(app.clone(), observe::observe))
        .with_state(app.clone())
}

async fn not_found(request: Request) -> Problem {
    Problem::new(Reason::NotFound, format!("there is nothing at {}", request.uri().path()))
}

async fn not_allowed(request: Request) -> Problem {
    let (method, path) = (request.method(), request.uri().path());
    Problem::new(Reason::MethodNotAllowed, format!("{path} knows no {method}"))
}
