//! The OpenAPI document and its HTML page.

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

/// The document without paths: info, security schemes, problem schema.
pub(crate) fn base_document() -> OpenApi {
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key or a token of the configured identity provider"))
        .build();
    let text = "The same in a separate header, which leaves `Authorization` to journeys";
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

/// The complete document.
pub fn document() -> OpenApi {
    let (_, document) = api().split_for_parts();
    document
}

/// The complete document as JSON, as committed and served.
pub fn document_text() -> String {
    // Serialising the document cannot fail: it has only string keys.
    let mut text = document().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// The document and its page, rendered once.
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
