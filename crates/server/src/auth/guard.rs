//! In front of every route: who is it, and may they?

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use meantime_kernel::command::Error;

use super::caller::Unknown;
use super::surface::{Standing, Subject};
use super::{Auth, Caller, Permission, origin};
use crate::app::App;
use crate::problem::{Problem, Reason};

/// Says that a request is about something public: the journey decides who may do it.
#[derive(Debug, Clone, Copy)]
struct OnPublicSurface;

/// Refuses requests that name two hosts: whoever stands in front may have looked at the other one.
pub(crate) async fn one_host(request: Request, next: Next) -> Response {
    if request.headers().get_all(HOST).iter().nth(1).is_some() {
        return Problem::new(Reason::InvalidHost, "the request has more than one `Host`")
            .into_response();
    }
    next.run(request).await
}

/// Finds out who calls. Nobody unknown gets any further, but to what is public.
pub(crate) async fn authenticate(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Response {
    match admit(&app, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn admit(app: &App, request: &mut Request) -> Result<(), Problem> {
    let headers = request.headers();
    if origin::is_foreign(request.method(), headers) {
        let text = "this request comes from the page of another site";
        return Err(Problem::new(Reason::ForeignOrigin, text));
    }
    if !app.auth().is_configured() && !app.settings().insecure && !origin::is_local(headers) {
        let text = "without keys the server answers only to names of this machine";
        return Err(Problem::new(Reason::ForeignOrigin, text));
    }
    let now = app.kernel().now().real;
    let subject = Subject::of(request).filter(|_| app.auth().is_configured());
    let standing = match subject {
        Some(subject) => subject.standing(app).await?,
        // What belongs to operators alone.
        None => Standing::Private,
    };
    let headers = request.headers();
    let caller = if standing == Standing::Public && !Auth::has_operator_header(headers) {
        // Whoever shows an operator's key is that operator; anything else is for the journey.
        app.auth().operator_by_bearer(headers, now).unwrap_or_else(Caller::public)
    } else {
        known_caller(app, request, standing).await?
    };
    app.limiter().check_rate(&caller, request)?;
    request.extensions_mut().insert(caller);
    if standing == Standing::Public {
        request.extensions_mut().insert(OnPublicSurface);
    }
    Ok(())
}

/// A caller who must have a credential of ours.
async fn known_caller(
    app: &App,
    request: &mut Request,
    standing: Standing,
) -> Result<Caller, Problem> {
    let (headers, now) = (request.headers(), app.kernel().now().real);
    let is_tried = Auth::has_operator_header(headers) || headers.contains_key(AUTHORIZATION);
    if let Standing::Hidden(id) = standing
        && !is_tried
    {
        return Err(Error::UnknownInstance(id).into());
    }
    let unknown = match app.auth().caller(headers, now).await {
        Ok(caller) => return Ok(caller),
        Err(unknown) => unknown,
    };
    let refused = app.limiter().failed(app.auth().named_key(headers), request, &unknown.detail());
    Err(match (standing, unknown) {
        // Not even how often somebody tried tells what is there.
        (Standing::Hidden(id), Unknown::Credential) if !Auth::has_operator_header(headers) => {
            Error::UnknownInstance(id).into()
        }
        _ => refused,
    })
}

/// Lets only those through who have a permission.
pub(crate) async fn require(permission: Permission, request: Request, next: Next) -> Response {
    if has(permission, &request) {
        return next.run(request).await;
    }
    forbidden(permission)
}

/// Lets those through who have a permission, and everybody to what is public.
pub(crate) async fn require_on_surface(
    permission: Permission,
    request: Request,
    next: Next,
) -> Response {
    let is_public = request.extensions().get::<OnPublicSurface>().is_some();
    if is_public || has(permission, &request) {
        return next.run(request).await;
    }
    forbidden(permission)
}

fn has(permission: Permission, request: &Request) -> bool {
    let role = request.extensions().get::<Caller>().and_then(|caller| caller.role);
    role.is_some_and(|role| permission.is_of(role))
}

fn forbidden(permission: Permission) -> Response {
    let text = format!("this needs the permission `{}`", permission.name());
    Problem::new(Reason::Forbidden, text).into_response()
}
