//! The console: one page with its files, served from memory.
//!
//! The page may run and load only what comes from this server. Names of files contain a hash of
//! their content, so browsers keep them for ever; the page itself is asked for every time.

use axum::extract::{Path, Request, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::problem::{Problem, ProblemCode};

/// No inline script or style, no other origin, no frame around the page; text becomes markup only
/// through the one policy of the framework.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types svelte-trusted-html";

/// The console that a binary contains.
#[derive(Debug, Clone, Copy)]
pub enum Console {
    /// None, and why.
    Missing(&'static str),
    /// A page with its files.
    Embedded(ConsoleBundle),
}

/// The page of the console with its files.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleBundle {
    /// The page.
    pub page: &'static str,
    /// A hash of the page.
    pub page_hash: &'static str,
    /// The file at a path below `/`, compressed with gzip.
    pub file: fn(&str) -> Option<&'static [u8]>,
}

/// `/`: the page, or one line that says why there is none.
pub(crate) async fn page(State(app): State<App>, headers: HeaderMap) -> Response {
    match app.console() {
        Console::Embedded(bundle) => bundle.answer(&headers),
        Console::Missing(reason) => {
            let text =
                format!("The console is missing: {reason}. The API is described at /docs.\n");
            ([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
        }
    }
}

/// `/assets/…`: a file of the page.
pub(crate) async fn file(State(app): State<App>, Path(path): Path<String>) -> Response {
    let path = format!("assets/{path}");
    let found = match app.console() {
        Console::Embedded(bundle) => (bundle.file)(&path),
        Console::Missing(_) => None,
    };
    let Some(gzip) = found else {
        let text = format!("there is nothing at /{path}");
        return Problem::new(ProblemCode::NotFound, text).into_response();
    };
    let headers = [
        (CONTENT_TYPE, content_type(&path)),
        (CONTENT_ENCODING, "gzip"),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, gzip).into_response()
}

/// The page, if a browser asks for one of its addresses: the page itself knows which of them exist.
pub(crate) fn page_for(app: &App, request: &Request) -> Option<Response> {
    let Console::Embedded(bundle) = app.console() else { return None };
    let path = request.uri().path();
    let accepts = request.headers().get(ACCEPT).and_then(|it| it.to_str().ok());
    let is_navigation = accepts.is_some_and(|it| it.contains("text/html"))
        && matches!(*request.method(), Method::GET | Method::HEAD)
        && !path.starts_with("/api/");
    is_navigation.then(|| bundle.answer(request.headers()))
}

impl ConsoleBundle {
    fn answer(&self, headers: &HeaderMap) -> Response {
        let tag = format!("\"{}\"", self.page_hash);
        let known = headers.get(IF_NONE_MATCH).and_then(|it| it.to_str().ok());
        let is_known = known
            .is_some_and(|it| it.split(',').any(|it| it.trim().trim_start_matches("W/") == tag));
        let headers = [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (ETAG, tag.as_str()),
            (CACHE_CONTROL, "no-cache"),
            (CONTENT_SECURITY_POLICY, POLICY),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        if is_known {
            return (StatusCode::NOT_MODIFIED, headers).into_response();
        }
        (headers, self.page).into_response()
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, kind)| kind) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
