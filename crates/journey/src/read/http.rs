//! `httpCall:v1` (rule 45).

use super::fields::MappingReader;
use super::reader::Reader;
use crate::code::Code;
use crate::definition::{Binding, BodyPart, Destination, Expression, HttpBody, HttpCall, Template};
use crate::openapi::Operation;
use crate::yaml::{Content, Node, Span};

/// The default timeout of a call.
const DEFAULT_TIMEOUT_MS: u64 = 10_000;

/// Method and URL of a call.
struct RequestLine {
    method: String,
    url: Template,
    /// The operation that gave them, if any.
    operation: Option<Operation>,
}

/// `params`.
#[derive(Default)]
struct HttpParams<'n> {
    path: Vec<(String, Template)>,
    query: Vec<(String, Template)>,
    headers: Vec<(String, Template)>,
    body: Option<&'n Node>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallMode {
    RequestResponse,
    Notify,
}

impl Reader<'_> {
    pub(super) fn http_call(&mut self, fields: &mut MappingReader<'_>) -> Option<HttpCall> {
        const CALL_MODES: [(&str, CallMode); 2] =
            [("requestResponse", CallMode::RequestResponse), ("notify", CallMode::Notify)];
        let code = Code::Http;
        let line = self.request_line(fields);
        let mode = match fields.get("mode") {
            Some(node) => self.one_of(node, &fields.name("mode"), code, &CALL_MODES),
            None => Some(CallMode::RequestResponse),
        };
        let params = self.params(fields);
        let headers = match fields.get("headers") {
            Some(node) => self.templates(node, &fields.name("headers"), code),
            None => Some(Vec::new()),
        };
        let accept = self.optional_text(fields, "accept", code);
        let body = self.body(fields, params.as_ref().and_then(|it| it.body), line.as_ref());
        let timeout_ms = match fields.get("timeoutMs") {
            Some(node) => self.milliseconds(node, &fields.name("timeoutMs"), code),
            None => Some(self.defaults.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)),
        };
        let (result_var, error_mapping) = self.result_mapping(fields, mode);
        let resilience = self.resilience_of(fields);
        let auth = self.auth_of(fields);
        let (line, params) = (line?, params?);
        self.check_params(&line, &params, fields.span);
        let mut all = vec![accept_header("application/json")];
        merge(&mut all, self.defaults.headers.clone());
        merge(&mut all, accept.as_deref().map(accept_header).into_iter().collect());
        merge(&mut all, params.headers);
        merge(&mut all, headers?);
        Some(HttpCall {
            method: line.method,
            url: line.url,
            path_params: params.path,
            query: params.query,
            headers: all,
            body: body?,
            timeout_ms: timeout_ms?,
            result_var: result_var?,
            resilience: resilience?,
            auth: auth?,
            error_mapping: error_mapping?,
        })
    }

    fn request_line(&mut self, fields: &mut MappingReader<'_>) -> Option<RequestLine> {
        const HTTP_METHODS: [(&str, &str); 6] = [
            ("GET", "GET"),
            ("POST", "POST"),
            ("PUT", "PUT"),
            ("DELETE", "DELETE"),
            ("PATCH", "PATCH"),
            ("HEAD", "HEAD"),
        ];
        let code = Code::Http;
        let operation = fields.get("operationRef");
        let (method, url) = (fields.get("method"), fields.get("url"));
        match (operation, method, url) {
            (Some(node), None, None) => self.operation(node, &fields.name("operationRef")),
            (None, Some(method), Some(url)) => {
                let method = self.one_of(method, &fields.name("method"), code, &HTTP_METHODS);
                let what = fields.name("url");
                let template = self.template(url, &what, code)?;
                // A URL that begins with a placeholder is checked when it is filled in (D16).
                let begins = url.text().unwrap_or_default();
                if !begins.starts_with("${") && !is_absolute(begins) {
                    self.report
                        .error(code, url.span, format!("`{what}` is not absolute"))
                        .help("begin with `http://` or `https://`");
                }
                Some(RequestLine { method: method?.to_owned(), url: template, operation: None })
            }
            (Some(node), _, _) => {
                let message = "both `operationRef` and `method` or `url`";
                self.report.error(code, node.span, message).help("keep one form");
                None
            }
            (None, _, _) => {
                let message = "neither `operationRef` nor `method` with `url`";
                self.report.error(code, fields.span, message);
                None
            }
        }
    }

    fn operation(&mut self, node: &Node, what: &str) -> Option<RequestLine> {
        let code = Code::Http;
        let text = self.text(node, what, code)?;
        let Some((api, id)) = text.split_once('.') else {
            let message = format!("`{what}` is `{text}`, not an API and an operation");
            self.report.error(code, node.span, message).help("write `api.operationId`");
            return None;
        };
        let Some(found) = self.apis.get(api) else {
            let message = format!("`{what}` names the API `{api}`, which is not in `spec.apis`");
            self.report.error(code, node.span, message);
            return None;
        };
        match found.operation(id) {
            Ok(operation) => {
                let operation = operation.clone();
                let url = Template::parse(&operation.url).ok()?;
                Some(RequestLine {
                    method: operation.method.clone(),
                    url,
                    operation: Some(operation),
                })
            }
            Err(problem) => {
                self.report.error(code, node.span, format!("`{what}`: {problem}"));
                None
            }
        }
    }

    fn params<'n>(&mut self, fields: &mut MappingReader<'n>) -> Option<HttpParams<'n>> {
        let Some(node) = fields.get("params") else { return Some(HttpParams::default()) };
        let mut inner = self.open(node, &fields.name("params"), Code::Http)?;
        let mut group = |reader: &mut Self, key: &'static str| match inner.get(key) {
            Some(node) => reader.templates(node, &inner.name(key), Code::Http),
            None => Some(Vec::new()),
        };
        let (path, query) = (group(self, "path"), group(self, "query"));
        let headers = group(self, "headers");
        let body = inner.get("body");
        if let Some(body) = body {
            self.report
                .warn(Code::ParamsBody, body.span, "`params.body` is read as `body`")
                .help("move it out of `params`");
        }
        inner.finish(&mut self.report);
        Some(HttpParams { path: path?, query: query?, headers: headers?, body })
    }

    /// A mapping of names to texts; numbers and booleans are read as text.
    pub(super) fn templates(
        &mut self,
        node: &Node,
        what: &str,
        code: Code,
    ) -> Option<Vec<(String, Template)>> {
        let mut read = Vec::new();
        for entry in self.entries(node, what, code)? {
            let name = format!("{what}.{}", entry.key);
            let template = match &entry.value.content {
                Content::Number(_) | Content::Bool(_) => {
                    Template::parse(&entry.value.to_json().to_string()).ok()
                }
                _ => self.template(&entry.value, &name, code),
            };
            read.push((entry.key.clone(), template?));
        }
        Some(read)
    }

    #[expect(clippy::option_option, reason = "none is an error, none inside is no body")]
    fn body(
        &mut self,
        fields: &mut MappingReader<'_>,
        in_params: Option<&Node>,
        line: Option<&RequestLine>,
    ) -> Option<Option<HttpBody>> {
        let Some(node) = fields.get("body").or(in_params) else { return Some(None) };
        if let Some(line) = line.filter(|line| matches!(line.method.as_str(), "GET" | "HEAD")) {
            let message = format!("a {} has no body", line.method);
            self.report.error(Code::Http, node.span, message);
            return None;
        }
        let what = fields.name("body");
        match &node.content {
            Content::Text(_) => {
                Some(Some(HttpBody::Text(self.template(node, &what, Code::Http)?)))
            }
            Content::Map(_) if node.get("mapper").or(node.get("mapperRef")).is_some() => {
                let bindings = self.bindings();
                let mapper = self.mapper_object(node, &what, Code::Http, &bindings)?;
                Some(Some(HttpBody::Mapper(mapper)))
            }
            _ => Some(Some(HttpBody::Document(self.body_part(node, &what)?))),
        }
    }

    fn body_part(&mut self, node: &Node, what: &str) -> Option<BodyPart> {
        match &node.content {
            Content::Text(text) if text.value.contains("${") => {
                self.template(node, what, Code::Http).map(BodyPart::Text)
            }
            Content::List(items) => {
                let parts = items.iter().map(|item| self.body_part(item, what));
                parts.collect::<Option<Vec<_>>>().map(BodyPart::List)
            }
            Content::Map(entries) => {
                let part = |entry: &crate::yaml::Entry| {
                    Some((entry.key.clone(), self.body_part(&entry.value, what)?))
                };
                entries.iter().map(part).collect::<Option<Vec<_>>>().map(BodyPart::Map)
            }
            _ => Some(BodyPart::Fixed(node.to_json())),
        }
    }

    /// `resultVar` and `errorMapping`, which a notification does not have.
    #[expect(clippy::type_complexity, reason = "two parts, each possibly wrong, possibly absent")]
    fn result_mapping(
        &mut self,
        fields: &mut MappingReader<'_>,
        mode: Option<CallMode>,
    ) -> (Option<Option<String>>, Option<Option<(Expression, Destination)>>) {
        let code = Code::Http;
        let (var, mapping) = (fields.get("resultVar"), fields.get("errorMapping"));
        if mode == Some(CallMode::Notify) {
            for (key, node) in [("resultVar", var), ("errorMapping", mapping)] {
                if let Some(node) = node {
                    let message = format!("a notification has no `{key}`");
                    self.report
                        .error(code, node.span, message)
                        .help("no client waits for its answer; use `mode: requestResponse`");
                }
            }
            return (Some(None), Some(None));
        }
        let result_var = match var {
            Some(node) => self.identifier(node, &fields.name("resultVar"), code),
            None => {
                let name = fields.name("resultVar");
                self.report
                    .error(code, fields.span, format!("`{name}` is missing"))
                    .help("name the field of the context that gets the result");
                None
            }
        };
        let mapping = match mapping {
            Some(node) => self.error_mapping(node, &fields.name("errorMapping")).map(Some),
            None => Some(None),
        };
        (result_var.map(Some), mapping)
    }

    fn error_mapping(&mut self, node: &Node, what: &str) -> Option<(Expression, Destination)> {
        let mut fields = self.open(node, what, Code::Http)?;
        if let Some(node) = self.required(&mut fields, "when", Code::Http) {
            self.one_of(node, &fields.name("when"), Code::Http, &[("nonOk", ())]);
        }
        let mut bindings = self.bindings();
        bindings.push(Binding::Error);
        let read = self.mapper_to_destination(&mut fields, None, Code::Http, &bindings);
        fields.finish(&mut self.report);
        read
    }

    /// Checks that every required parameter of the operation has a value.
    fn check_params(&mut self, line: &RequestLine, params: &HttpParams<'_>, span: Span) {
        let Some(operation) = &line.operation else { return };
        for required in &operation.required {
            let given = match required.location.as_str() {
                "path" => &params.path,
                "query" => &params.query,
                _ => &params.headers,
            };
            if !given.iter().any(|(name, _)| name.eq_ignore_ascii_case(&required.name)) {
                let (location, name) = (&required.location, &required.name);
                let message =
                    format!("`params.{location}.{name}` is missing: the operation needs it");
                self.report.error(Code::Http, span, message);
            }
        }
    }
}

fn accept_header(media_type: &str) -> (String, Template) {
    ("Accept".to_owned(), Template::literal_text(media_type))
}

/// A later entry replaces an earlier one of the same name in any case.
fn merge(all: &mut Vec<(String, Template)>, more: Vec<(String, Template)>) {
    for (name, value) in more {
        all.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        all.push((name, value));
    }
}

/// Whether a URL has a scheme and a host.
pub(crate) fn is_absolute(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']))
}
