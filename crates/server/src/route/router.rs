//! The router: all routes and their middleware.

use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, any, get};
use axum::{Extension, Router};
use utoipa_axum::router::OpenApiRouter;

use super::query_guard::{DeclaredQuery, check_query};
use super::table::Routes;
use super::{
    api_call, clock, definition, engine, event, forecast, health, incident, instance, journey,
    message, schedule, task, timer, why,
};
use crate::app::App;
use crate::auth::{
    Permission, authenticate, reject_multiple_hosts, require_permission,
    require_permission_or_public,
};
use crate::console;
use crate::observe;
use crate::openapi;
use crate::problem::{Problem, ProblemCode};

/// The base path of the API.
pub(crate) const BASE: &str = "/api/v1";

/// The routes of the API with their OpenAPI description.
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
    OpenApiRouter::with_openapi(openapi::base_document()).nest(BASE, all.into_router())
}

/// Who may use a route that is not in the OpenAPI document.
enum Access {
    /// Everybody: it exposes no data of instances.
    Open,
    /// Callers with the permission.
    Needs(Permission),
    /// Callers with the permission; everybody for public journeys and APIs.
    OnSurface(Permission),
}

/// All routes that are not in the OpenAPI document, with their access.
fn unlisted_routes() -> Vec<(String, Access, MethodRouter<App>)> {
    let route = |path: &str, access, router| (path.to_owned(), access, router);
    vec![
        route("/", Access::Open, get(console::page)),
        route("/assets/{name}", Access::Open, get(console::file)),
        route("/healthz", Access::Open, get(health::alive)),
        route("/readyz", Access::Open, get(health::ready)),
        route("/openapi.json", Access::Open, get(openapi::json)),
        route("/docs", Access::Open, get(openapi::page)),
        route("/metrics", Access::Needs(Permission::Read), get(health::metrics)),
        // The paths of APIs are known only when they are deployed.
        route(
            &format!("{BASE}/{{*path}}"),
            Access::OnSurface(Permission::Operate),
            any(api_call::call_routed_api),
        ),
    ]
}

/// The paths of all routes that are not in the OpenAPI document, for the authorization test.
pub fn unlisted_paths() -> Vec<String> {
    unlisted_routes().into_iter().map(|(path, _, _)| path).collect()
}

/// The complete router of the server.
pub(crate) fn router(app: &App) -> Router {
    let (mut guarded, _) = api().split_for_parts();
    let mut open = Router::new();
    for (path, access, router) in unlisted_routes() {
        // The query parameters of an API belong to its definition.
        let declared = match access {
            Access::OnSurface(_) => DeclaredQuery::default(),
            Access::Open | Access::Needs(_) => DeclaredQuery::none(),
        };
        let query = from_fn(move |request, next| check_query(declared.clone(), request, next));
        let router = router.layer(query);
        match access {
            Access::Open => open = open.route(&path, router),
            Access::Needs(permission) => {
                let guard =
                    from_fn(move |request, next| require_permission(permission, request, next));
                guarded = guarded.route(&path, router.layer(guard));
            }
            Access::OnSurface(permission) => {
                let guard = from_fn(move |request, next| {
                    require_permission_or_public(permission, request, next)
                });
                guarded = guarded.route(&path, router.layer(guard));
            }
        }
    }
    guarded
        .route_layer(from_fn_with_state(app.clone(), authenticate))
        .merge(open)
        .fallback(console_or_not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn(reject_multiple_hosts))
        .layer(Extension(app.background().clone()))
        .layer(from_fn_with_state(app.clone(), observe::observe_request))
        .with_state(app.clone())
}

/// Every path that is not a route belongs to the console, if a browser asks for it.
async fn console_or_not_found(State(app): State<App>, request: Request) -> Response {
    console::page_for(&app, &request).unwrap_or_else(|| {
        let text = format!("there is nothing at {}", request.uri().path());
        Problem::new(ProblemCode::NotFound, text).into_response()
    })
}

async fn not_allowed(request: Request) -> Problem {
    let (method, path) = (request.method(), request.uri().path());
    Problem::new(ProblemCode::MethodNotAllowed, format!("{path} does not support {method}"))
}
