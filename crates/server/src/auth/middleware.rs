//! Middleware of every route: authentication, rate limit, permission.

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use meantime_kernel::command::Error;

use super::caller::AuthError;
use super::surface::{SurfaceTarget, Visibility};
use super::{Authenticator, Caller, Permission, origin};
use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// Marks a request to a public journey or API, which authorises callers itself.
#[derive(Debug, Clone, Copy)]
struct PublicTarget;

/// Rejects requests with two `Host` headers: a proxy in front may have checked the other one.
pub(crate) async fn reject_multiple_hosts(request: Request, next: Next) -> Response {
    if request.headers().get_all(HOST).iter().nth(1).is_some() {
        return Problem::new(ProblemCode::InvalidHost, "the request has more than one `Host`")
            .into_response();
    }
    next.run(request).await
}

/// Identifies the caller. Unknown callers are rejected, except on public journeys and APIs.
pub(crate) async fn authenticate(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    match authenticate_request(&app, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn authenticate_request(app: &App, request: &mut Request) -> Result<(), Problem> {
    let headers = request.headers();
    if origin::is_cross_origin_write(request.method(), headers) {
        let text = "this request comes from the page of another site";
        return Err(Problem::new(ProblemCode::ForeignOrigin, text));
    }
    if !app.auth().is_configured() && !app.settings().insecure && !origin::is_loopback_host(headers)
    {
        let text = "without keys the server answers only to names of this machine";
        return Err(Problem::new(ProblemCode::ForeignOrigin, text));
    }
    let now = app.kernel().now().real;
    let target = SurfaceTarget::of(request).filter(|_| app.auth().is_configured());
    let visibility = match target {
        Some(target) => target.visibility(app).await?,
        // Not the API of journeys: operators only.
        None => Visibility::Private,
    };
    let headers = request.headers();
    let caller = if visibility == Visibility::Public && !Authenticator::has_operator_header(headers)
    {
        // An operator's key identifies the operator; any other credential is for the journey.
        app.auth().operator_of_bearer(headers, now).unwrap_or_else(Caller::public)
    } else {
        require_caller(app, request, visibility).await?
    };
    app.limiter().check_rate(&caller, request)?;
    request.extensions_mut().insert(caller);
    if visibility == Visibility::Public {
        request.extensions_mut().insert(PublicTarget);
    }
    Ok(())
}

/// Identifies a caller who needs operator credentials.
async fn require_caller(
    app: &App,
    request: &mut Request,
    visibility: Visibility,
) -> Result<Caller, Problem> {
    let (headers, now) = (request.headers(), app.kernel().now().real);
    let is_tried =
        Authenticator::has_operator_header(headers) || headers.contains_key(AUTHORIZATION);
    if let Visibility::Hidden(id) = visibility
        && !is_tried
    {
        return Err(Error::UnknownInstance(id).into());
    }
    let error = match app.auth().identify(headers, now).await {
        Ok(caller) => return Ok(caller),
        Err(error) => error,
    };
    let refused = app.limiter().record_auth_failure(
        app.auth().presented_key_id(headers),
        request,
        &error.detail(),
    );
    Err(match (visibility, error) {
        // Answer as for an unknown instance, also when the rate limit is exceeded: otherwise the
        // difference would reveal that the instance exists.
        (Visibility::Hidden(id), AuthError::InvalidCredentials)
            if !Authenticator::has_operator_header(headers) =>
        {
            Error::UnknownInstance(id).into()
        }
        _ => refused,
    })
}

/// Rejects callers without the permission.
pub(crate) async fn require_permission(
    permission: Permission,
    request: Request,
    next: Next,
) -> Response {
    if has_permission(permission, &request) {
        return next.run(request).await;
    }
    forbidden(permission)
}

/// Rejects callers without the permission, unless the target is public.
pub(crate) async fn require_permission_or_public(
    permission: Permission,
    request: Request,
    next: Next,
) -> Response {
    let is_public = request.extensions().get::<PublicTarget>().is_some();
    if is_public || has_permission(permission, &request) {
        return next.run(request).await;
    }
    forbidden(permission)
}

fn has_permission(permission: Permission, request: &Request) -> bool {
    let role = request.extensions().get::<Caller>().and_then(|caller| caller.role);
    role.is_some_and(|role| permission.is_granted_to(role))
}

fn forbidden(permission: Permission) -> Response {
    let text = format!("this needs the permission `{}`", permission.name());
    Problem::new(ProblemCode::Forbidden, text).into_response()
}
