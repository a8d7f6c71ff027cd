//! The OpenAPI document, and a page about it that needs nothing from elsewhere.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::app::App;
use crate::problem::ProblemBody;
use crate::route::api;

/// What all of the document begins with.
pub(crate) fn base_document() -> OpenApi {
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key, or a token of the configured identity provider"))
        .build();
    let text = "The same, in a header of its own: `Authorization` is then free for a journey";
    let operator = ApiKeyValue::with_description("X-Meantime-Key", text);
    let components = ComponentsBuilder::new()
        .schema(ProblemBody::name(), ProblemBody::schema())
        .security_scheme("bearer", SecurityScheme::Http(bearer))
        .security_scheme("operatorKey", SecurityScheme::ApiKey(ApiKey::Header(operator)))
        .build();
    let info = InfoBuilder::new()
        .title("Meantime")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("A durable workflow engine that owns time."))
        .build();
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// The whole document.
pub fn document() -> OpenApi {
    let (_, document) = api().split_for_parts();
    document
}

/// The whole document as it is committed and served.
pub fn document_text() -> String {
    // The document holds nothing that could fail to become JSON.
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// The document and the page, made once.
pub(crate) struct OpenApiPages {
    json: Arc<str>,
    page: Arc<str>,
}

impl OpenApiPages {
    pub(crate) fn new() -> Self {
        let document = document();
        let page = crate::docs_page::render(&document);
        Self { json: document_text().into(), page: page.into() }
    }
}

pub(crate) async fn json(State(app): State<App>) -> Response {
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, app.openapi().json.to_string()).into_response()
}

pub(crate) async fn page(State(app): State<App>) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (headers, app.openapi().page.to_string()).into_response()
}
