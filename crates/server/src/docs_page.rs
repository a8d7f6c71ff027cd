//! Renders the OpenAPI document as a self-contained HTML page without scripts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use utoipa::openapi::OpenApi;

use crate::error_pages::{self, escape as text};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color:#1b1f24;background:#fff}h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}\
h3{font:600 1rem ui-monospace,monospace;margin-bottom:.2rem}code,pre{font-family:ui-monospace,\
monospace;background:#f6f8fa}pre{padding:.6rem;overflow:auto}table{border-collapse:collapse}\
td,th{text-align:left;vertical-align:top;padding:.15rem .8rem .15rem 0}\
.method{display:inline-block;min-width:4.5rem;color:#0550ae}.needs{color:#57606a}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}code,pre{background:#161b22}\
.method{color:#79c0ff}.needs{color:#8b949e}h2{border-color:#30363d}a{color:#79c0ff}}";

/// Renders the page.
pub(crate) fn render(document: &OpenApi) -> String {
    let document = serde_json::to_value(document).unwrap_or_default();
    let mut page = String::from("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width\">");
    page.push_str("<title>Meantime: HTTP API</title><style>");
    page.push_str(STYLE);
    page.push_str("</style></head><body><h1>Meantime: HTTP API</h1>");
    page.push_str("<p>The same as <a href=\"/openapi.json\">openapi.json</a>, for reading.</p>");
    let tags = by_tag(&document);
    page.push_str("<nav><p>");
    for tag in tags.keys() {
        put(&mut page, format_args!("<a href=\"#{tag}\">{tag}</a> "));
    }
    page.push_str("<a href=\"#schemas\">schemas</a> <a href=\"#errors\">errors</a></p></nav>");
    for (tag, operations) in &tags {
        put(&mut page, format_args!("<h2 id=\"{tag}\">{tag}</h2>"));
        for (path, method, operation) in operations {
            show_operation(&mut page, path, method, operation);
        }
    }
    show_schemas(&mut page, &document);
    show_errors(&mut page);
    page.push_str("</body></html>");
    page
}

type Operation<'a> = (&'a str, &'a str, &'a Value);

fn by_tag(document: &Value) -> BTreeMap<&str, Vec<Operation<'_>>> {
    let mut tags: BTreeMap<&str, Vec<Operation<'_>>> = BTreeMap::new();
    let paths = document["paths"].as_object().into_iter().flatten();
    for (path, item) in paths {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or("other");
            tags.entry(tag).or_default().push((path, method, operation));
        }
    }
    tags
}

fn show_operation(page: &mut String, path: &str, method: &str, operation: &Value) {
    let method = method.to_uppercase();
    put(page, format_args!("<h3><span class=\"method\">{method}</span> {}</h3>", text(path)));
    let summary = operation["summary"].as_str().unwrap_or_default();
    let permission = operation["x-required-permission"].as_str().unwrap_or_default();
    put(page, format_args!("<p>{} ", text(summary)));
    put(page, format_args!("<span class=\"needs\">Needs <code>{permission}</code>.</span></p>"));
    let parameters = operation["parameters"].as_array();
    if let Some(parameters) = parameters.filter(|it| !it.is_empty()) {
        page.push_str("<table>");
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap_or_default();
            let place = parameter["in"].as_str().unwrap_or_default();
            let about = parameter["description"].as_str().unwrap_or_default();
            put(page, format_args!("<tr><td><code>{}</code></td><td>{place}</td>", text(name)));
            put(page, format_args!("<td>{}</td></tr>", text(about)));
        }
        page.push_str("</table>");
    }
    for (kind, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        let schema = link(&content["schema"]);
        put(page, format_args!("<p>Body: {schema} as <code>{}</code></p>", text(kind)));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let about = response["description"].as_str().unwrap_or_default();
        let schemas = response["content"].as_object().into_iter().flatten();
        let schemas: Vec<String> = schemas.map(|(_, content)| link(&content["schema"])).collect();
        put(page, format_args!("<p>{status}: {} {}</p>", text(about), schemas.join(" ")));
    }
}

/// Links a named schema, or describes an inline one.
fn link(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()) {
        let name = text(name);
        return format!("<a href=\"#schema-{name}\"><code>{name}</code></a>");
    }
    for part in ["oneOf", "anyOf", "allOf"] {
        if let Some(parts) = schema[part].as_array() {
            let named: Vec<String> = parts.iter().map(link).filter(|it| it != "null").collect();
            return named.join(" or ");
        }
    }
    let kind = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => "any JSON".to_owned(),
    };
    match (kind.as_str(), &schema["items"]) {
        ("array", items) if !items.is_null() => format!("list of {}", link(items)),
        _ => text(&kind),
    }
}

fn show_schemas(page: &mut String, document: &Value) {
    page.push_str("<h2 id=\"schemas\">schemas</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        put(page, format_args!("<h3 id=\"schema-{0}\">{0}</h3>", text(name)));
        let about = schema["description"].as_str().unwrap_or_default();
        put(page, format_args!("<p>{}</p><table>", text(about)));
        let parts = schema["allOf"].as_array().into_iter().flatten().chain([schema]);
        for part in parts {
            if part["$ref"].is_string() {
                put(page, format_args!("<tr><td>all of {}</td></tr>", link(part)));
            }
            for (field, value) in part["properties"].as_object().into_iter().flatten() {
                let about = value["description"].as_str().unwrap_or_default();
                put(page, format_args!("<tr><td><code>{}</code></td>", text(field)));
                put(page, format_args!("<td>{}</td><td>{}</td></tr>", link(value), text(about)));
            }
            for value in part["enum"].as_array().into_iter().flatten() {
                let value = value.as_str().unwrap_or_default();
                put(page, format_args!("<tr><td><code>{}</code></td></tr>", text(value)));
            }
        }
        page.push_str("</table>");
    }
}

fn show_errors(page: &mut String) {
    page.push_str(
        "<h2 id=\"errors\">errors</h2><p>What the server and the engine refuse with, and ",
    );
    page.push_str(
        "what is wrong with definitions. Definitions and workers have codes of their own ",
    );
    page.push_str("besides.</p>");
    for (code, about) in error_pages::PAGES {
        put(
            page,
            format_args!("<h3 id=\"error-{code}\">{code}</h3>{}", error_pages::render_html(about)),
        );
    }
}

fn put(page: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = page.write_fmt(what);
}
