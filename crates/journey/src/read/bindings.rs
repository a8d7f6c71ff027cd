//! `spec.metadata` and `spec.bindings` (rules 52 to 55).

use std::collections::BTreeMap;

use super::blocks::OUTCOME_PHASES;
use super::fields::MappingReader;
use super::reader::{Reader, is_identifier};
use crate::code::Code;
use crate::definition::{
    ApiResponse, ApiResponses, Binding, HttpBindings, Kind, MetadataBindings, Passthrough, Phase,
    RequestBindings, Route, Status, ValueSources,
};
use crate::yaml::{Content, Node};

impl Reader<'_> {
    /// `spec.metadata.bindings`.
    pub(super) fn metadata(&mut self, fields: &mut MappingReader<'_>) -> MetadataBindings {
        let mut bindings = MetadataBindings::default();
        let code = Code::Shape;
        let Some(node) = fields.get("metadata") else { return bindings };
        let Some(mut outer) = self.open(node, "spec.metadata", code) else { return bindings };
        if let Some(node) = outer.get("bindings")
            && let Some(mut inner) = self.open(node, "spec.metadata.bindings", code)
        {
            if let Some(node) = inner.get("tags")
                && let Some(mut tags) = self.open(node, "spec.metadata.bindings.tags", code)
            {
                let mut read = |reader: &mut Self, key: &'static str, field: &'static str| {
                    let node = tags.get(key)?;
                    let what = tags.name(key);
                    let items = reader.list(node, &what, code)?;
                    let read = items.iter().enumerate().filter_map(|(index, item)| {
                        reader.source(item, &format!("{what}[{index}]"), field)
                    });
                    Some(read.collect::<Vec<String>>())
                };
                bindings.tags = ValueSources {
                    payload: read(self, "fromPayload", "path").unwrap_or_default(),
                    headers: read(self, "fromHeaders", "header").unwrap_or_default(),
                    baggage: read(self, "fromBaggage", "key").unwrap_or_default(),
                };
                tags.finish(&mut self.report);
            }
            if let Some(node) = inner.get("attributes") {
                bindings.attributes = self.attribute_sources(node);
            }
            inner.finish(&mut self.report);
        }
        outer.finish(&mut self.report);
        bindings
    }

    fn attribute_sources(&mut self, node: &Node) -> ValueSources<BTreeMap<String, String>> {
        let what = "spec.metadata.bindings.attributes";
        let mut sources = ValueSources::<BTreeMap<String, String>>::default();
        for entry in self.entries(node, what, Code::Shape).unwrap_or_default() {
            let name = format!("{what}.{}", entry.key);
            match entry.key.as_str() {
                "fromPayload" => sources.payload.extend(self.sources(&entry.value, &name, "path")),
                "fromHeaders" => {
                    sources.headers.extend(self.sources(&entry.value, &name, "header"));
                }
                "fromBaggage" => sources.baggage.extend(self.sources(&entry.value, &name, "key")),
                _ => match entry.value.get("path").and_then(Node::text) {
                    Some(path) => {
                        self.report
                            .warn(Code::AttributePath, entry.key_span, format!("`{name}.path`"))
                            .help(format!("write `{what}.fromPayload.{}`", entry.key));
                        sources.payload.insert(entry.key.clone(), path.to_owned());
                    }
                    None => {
                        self.report
                            .error(Code::Shape, entry.key_span, format!("unknown key `{name}`"))
                            .help("known here: fromPayload, fromHeaders, fromBaggage");
                    }
                },
            }
        }
        sources
    }

    /// The source of a value: `{path: x}` with the field of its kind, or the text alone.
    fn source(&mut self, node: &Node, what: &str, field: &'static str) -> Option<String> {
        if node.entries().is_none() {
            return self.text(node, what, Code::Shape);
        }
        let mut fields = self.open(node, what, Code::Shape)?;
        let source = self.required_text(&mut fields, field, Code::Shape);
        fields.finish(&mut self.report);
        source
    }

    /// A mapping of names to sources of values.
    fn sources(
        &mut self,
        node: &Node,
        what: &str,
        field: &'static str,
    ) -> BTreeMap<String, String> {
        self.map_of(node, what, |reader, value, name| reader.source(value, name, field))
    }

    /// A mapping of names to texts.
    fn text_map(&mut self, node: &Node, what: &str) -> BTreeMap<String, String> {
        self.map_of(node, what, |reader, value, name| reader.text(value, name, Code::Shape))
    }

    /// A mapping whose values are read one by one; invalid ones are left out.
    fn map_of(
        &mut self,
        node: &Node,
        what: &str,
        mut read: impl FnMut(&mut Self, &Node, &str) -> Option<String>,
    ) -> BTreeMap<String, String> {
        let entries = self.entries(node, what, Code::Shape).unwrap_or_default().iter();
        let read = entries.filter_map(|entry| {
            let name = format!("{what}.{}", entry.key);
            Some((entry.key.clone(), read(self, &entry.value, &name)?))
        });
        read.collect()
    }

    /// `spec.bindings`.
    pub(super) fn transports(&mut self, node: &Node) -> HttpBindings {
        let mut http = HttpBindings::default();
        let Some(mut fields) = self.open(node, "spec.bindings", Code::Transports) else {
            return http;
        };
        if let Some(node) = fields.get("http") {
            http = self.http_bindings(node).unwrap_or_default();
        }
        let others = [
            ("websocket", Some(Kind::Journey)),
            ("queue", Some(Kind::Journey)),
            ("grpc", Some(Kind::Api)),
            ("cli", None),
            ("function", None),
        ];
        for (key, only) in others {
            let Some(entry) = fields.entry(key) else { continue };
            if only.is_some_and(|kind| kind != self.kind) {
                let message =
                    format!("a `kind: {}` has no `spec.bindings.{key}`", self.kind.name());
                self.report.error(Code::Transports, entry.key_span, message);
            } else {
                let what = format!("the transport `spec.bindings.{key}`");
                self.unsupported(entry.key_span, &what, "HTTP is the transport of this engine");
            }
        }
        fields.finish(&mut self.report);
        http
    }

    fn http_bindings(&mut self, node: &Node) -> Option<HttpBindings> {
        let mut fields = self.open(node, "spec.bindings.http", Code::StepBindings)?;
        let mut http = HttpBindings::default();
        if let Some(node) = fields.get("route") {
            http.route = self.route(node);
        }
        if let Some(node) = fields.get("start") {
            http.start =
                self.request_bindings(node, "spec.bindings.http.start").unwrap_or_default();
        }
        if let Some(node) = fields.get("steps") {
            let what = fields.name("steps");
            for entry in self.entries(node, &what, Code::StepBindings).unwrap_or_default() {
                if let Some(bindings) =
                    self.request_bindings(&entry.value, &format!("{what}.{}", entry.key))
                {
                    http.steps.insert(entry.key.clone(), (bindings, entry.key_span));
                }
            }
        }
        if let Some(node) = fields.get("apiResponses") {
            http.responses = self.api_responses(node).unwrap_or_default();
        }
        fields.finish(&mut self.report);
        Some(http)
    }

    /// Rule 52.
    fn route(&mut self, node: &Node) -> Option<Route> {
        let code = Code::ApiBindings;
        if self.kind != Kind::Api {
            self.report.error(code, node.span, "only an API has a `route`");
        }
        let mut fields = self.open(node, "spec.bindings.http.route", code)?;
        let path = fields.get("path").and_then(|node| {
            let path = self.text(node, "spec.bindings.http.route.path", code)?;
            if !path.starts_with('/') {
                let message = format!("the route `{path}` is not absolute");
                self.report.error(code, node.span, message).help("begin with `/`");
            } else if let Some(problem) = route_problem(&path) {
                let message = format!("the route `{path}` {problem}");
                self.report.error(code, node.span, message).help("such as `/orders/quote`");
            }
            Some((path, node.span))
        });
        if let Some(node) = fields.get("method") {
            self.one_of(node, "spec.bindings.http.route.method", code, &[("POST", ())]);
        }
        fields.finish(&mut self.report);
        // Without a path it is served at the default route of APIs.
        let (path, span) = path?;
        Some(Route { path, span })
    }

    /// Rule 54.
    fn request_bindings(&mut self, node: &Node, what: &str) -> Option<RequestBindings> {
        let code = Code::StepBindings;
        let mut fields = self.open(node, what, code)?;
        let mut bindings = RequestBindings::default();
        for (key, into) in [
            ("headersToContext", &mut bindings.headers_to_context),
            ("queryToContext", &mut bindings.query_to_context),
        ] {
            let Some(node) = fields.get(key) else { continue };
            let name = fields.name(key);
            for (from, to) in self.text_map(node, &name) {
                if to.split('.').all(is_identifier) {
                    into.insert(from, to);
                } else {
                    let message = format!("`{name}.{from}` cannot be `{to}`");
                    self.report.error(code, node.span, message).help("a field of the context");
                }
            }
        }
        if let Some(node) = fields.get("headersPassthrough") {
            let name = fields.name("headersPassthrough");
            for item in self.list(node, &name, code).unwrap_or_default() {
                let Some(mut pair) = self.open(item, &name, code) else { continue };
                let from = self.required_text(&mut pair, "from", code);
                let to = self.required_text(&mut pair, "to", code);
                pair.finish(&mut self.report);
                if let (Some(from), Some(to)) = (from, to) {
                    bindings.passthrough.push(Passthrough { from, to });
                }
            }
        }
        fields.finish(&mut self.report);
        Some(bindings)
    }

    /// Rule 53.
    fn api_responses(&mut self, node: &Node) -> Option<ApiResponses> {
        let code = Code::ApiResponses;
        if self.kind != Kind::Api {
            let message = "only an API has `apiResponses`";
            self.report.error(Code::ApiBindings, node.span, message);
        }
        let mut fields = self.open(node, "spec.bindings.http.apiResponses", code)?;
        let mut responses = ApiResponses::default();
        if let Some(node) = fields.get("default") {
            self.default_statuses(node, &fields.name("default"), &mut responses);
        }
        let rules = fields.get("rules");
        let what = fields.name("rules");
        let items = rules.and_then(|rules| self.list(rules, &what, code)).unwrap_or_default();
        if items.len() > MAX_RESPONSE_RULES {
            let count = items.len();
            let message = format!("`{what}` has {count} rules, the limit is {MAX_RESPONSE_RULES}");
            self.report.error(Code::TooLarge, node.span, message);
        }
        let read = items.iter().enumerate();
        let read =
            read.filter_map(|(index, item)| self.response_rule(item, &format!("{what}[{index}]")));
        responses.rules = read.collect();
        fields.finish(&mut self.report);
        Some(responses)
    }

    /// Default statuses: a number; for a failure also the status of its problem.
    fn default_statuses(&mut self, node: &Node, what: &str, responses: &mut ApiResponses) {
        let Some(mut fields) = self.open(node, what, Code::ApiResponses) else { return };
        if let Some(node) = fields.get("SUCCEEDED") {
            responses.succeeded = self.status_code(node, &fields.name("SUCCEEDED"));
        }
        if let Some(node) = fields.get("FAILED").filter(|it| it.text() != Some("fromProblemStatus"))
        {
            responses.failed = self.status_code(node, &fields.name("FAILED"));
        }
        fields.finish(&mut self.report);
    }

    fn response_rule(&mut self, node: &Node, what: &str) -> Option<ApiResponse> {
        let code = Code::ApiResponses;
        let mut fields = self.open(node, what, code)?;
        let mut bindings = self.bindings();
        bindings.push(Binding::Error);
        let when = self.required(&mut fields, "when", code)?;
        let mut inner = self.open(when, &fields.name("when"), code)?;
        let phase = self.required(&mut inner, "phase", code);
        let phase =
            phase.and_then(|node| self.one_of(node, &inner.name("phase"), code, &OUTCOME_PHASES));
        let error_type = self.optional_text(&mut inner, "errorType", code);
        let predicate = match inner.get("predicate") {
            Some(node) => Some(self.expression(node, &inner.name("predicate"), &bindings)?),
            None => None,
        };
        inner.finish(&mut self.report);
        if error_type.is_some() && phase == Some(Phase::Succeeded) {
            let message = format!("`{what}.when.errorType` with a success");
            self.report.error(code, when.span, message);
        }
        let status = match (fields.get("status"), fields.get("statusExpr")) {
            (Some(node), None) => self.status_code(node, &fields.name("status")).map(Status::Fixed),
            (None, Some(node)) => {
                self.expression(node, &fields.name("statusExpr"), &bindings).map(Status::Computed)
            }
            _ => {
                let message = format!("`{what}` has not exactly one of `status` and `statusExpr`");
                self.report.error(code, node.span, message);
                None
            }
        };
        fields.finish(&mut self.report);
        Some(ApiResponse { phase: phase?, error_type, predicate, status: status? })
    }

    fn status_code(&mut self, node: &Node, what: &str) -> Option<u16> {
        let number = match &node.content {
            Content::Number(digits) => digits.parse::<u16>().ok(),
            _ => None,
        };
        let status = number.filter(|status| (100..=599).contains(status));
        if status.is_none() {
            let message = format!("`{what}` is not a status between 100 and 599");
            self.report.error(Code::ApiResponses, node.span, message);
        }
        status
    }
}

/// Rules of one API: each answer tries them one after another.
const MAX_RESPONSE_RULES: usize = 100;

/// Path segments below the base that the engine uses itself.
const RESERVED_ROUTES: [&str; 29] = [
    "definitions",
    "instances",
    "messages",
    "signals",
    "tasks",
    "timers",
    "schedules",
    "forecast",
    "forecast.ics",
    "why",
    "incidents",
    "events",
    "clock",
    "engine",
    "journeys",
    "batches",
    "workers",
    "queues",
    "webhooks",
    "keys",
    "audit",
    "nodes",
    "timeseries",
    "simulations",
    "calendars",
    "windows",
    "health",
    "metrics",
    "openapi.json",
];

/// Why a route cannot be served.
fn route_problem(path: &str) -> Option<&'static str> {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    if RESERVED_ROUTES.contains(&first) {
        return Some("belongs to the API of the engine");
    }
    if !path.chars().all(is_plain) {
        return Some("has other characters than letters, digits, `-`, `.`, `_`, `~` and `/`");
    }
    let parts = path.trim_start_matches('/').split('/');
    let is_dots = |part: &str| part.is_empty() || part == "." || part == "..";
    parts.into_iter().any(is_dots).then_some("has an empty part, or one of dots")
}
