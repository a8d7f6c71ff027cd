//! In front of every route: who is it, and may they?

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::{Caller, Permission, origin};
use crate::app::App;
use crate::problem::{Problem, Reason};

/// Finds out who calls. Nobody unknown gets any further.
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
    let Some(caller) = app.auth().caller(headers, now).await else {
        return Err(app.limiter().failed(app.auth().named_key(headers), request));
    };
    app.limiter().check_rate(&caller, request)?;
    request.extensions_mut().insert(caller);
    Ok(())
}

/// Lets only those through who have a permission.
pub(crate) async fn require(permission: Permission, request: Request, next: Next) -> Response {
    let role = request.extensions().get::<Caller>().map(|caller| caller.role);
    if role.is_some_and(|role| permission.is_of(role)) {
        return next.run(request).await;
    }
    let text = format!("this needs the permission `{}`", permission.name());
    Problem::new(Reason::Forbidden, text).into_response()
}
