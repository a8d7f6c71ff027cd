//! The parts of a request besides its body: headers, query, baggage (`bindings.http`, metadata).

use meantime_core::{Definition, Json};
use serde_json::{Map, Value, json};

use super::instance::journey;
use crate::definition::{Journey, RequestBindings};

/// An inbound request, without its body.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The id under which the server keeps it while it lasts.
    pub name: String,
    /// Headers, with names in any case.
    pub headers: Vec<(String, String)>,
    /// Query parameters, decoded.
    pub query: Vec<(String, String)>,
}

/// The parts of a request that a run uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoundRequest {
    /// For the notation: passed with the start or submission, and stored.
    pub request_bindings: Option<Json>,
    /// Headers for outbound calls while this request lasts; never stored.
    pub passthrough: Vec<(String, String)>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A member of the `baggage` header (W3C).
    fn baggage(&self, name: &str) -> Option<String> {
        let members = self.headers.iter().filter(|(it, _)| it.eq_ignore_ascii_case("baggage"));
        let mut pairs = members.flat_map(|(_, value)| value.split(',')).filter_map(|member| {
            let member = member.split(';').next()?;
            let (key, value) = member.split_once('=')?;
            Some((key.trim(), value.trim()))
        });
        pairs.find(|(key, _)| *key == name).map(|(_, value)| percent_decode(value))
    }
}

/// The bindings of a start.
pub fn start_request_bindings(definition: &Definition, request: &Request) -> BoundRequest {
    let Some(journey) = journey(definition) else { return BoundRequest::default() };
    let (mut request_bindings, passthrough) = read_bindings(&journey.http.start, request);
    insert_labels(journey, request, &mut request_bindings);
    if let Some(traceparent) = request.header("traceparent") {
        request_bindings.insert("traceparent".to_owned(), traceparent.into());
    }
    insert_request_name(journey, request, &mut request_bindings);
    bound_request(&request_bindings, passthrough)
}

/// The bindings of a submission to a step.
pub fn step_request_bindings(
    definition: &Definition,
    step: &str,
    request: &Request,
) -> BoundRequest {
    let Some(journey) = journey(definition) else { return BoundRequest::default() };
    let none = RequestBindings::default();
    let bindings = journey.http.steps.get(step).map_or(&none, |(bindings, _)| bindings);
    let (mut request_bindings, passthrough) = read_bindings(bindings, request);
    insert_request_name(journey, request, &mut request_bindings);
    bound_request(&request_bindings, passthrough)
}

/// Only the id of a request, for runs that start without bindings.
pub fn named_request(request: &Request) -> Option<Json> {
    Json::of(&json!({ "request": request.name })).ok()
}

/// The request's id is passed only if a task uses the request later: to check credentials or to
/// pass headers through.
fn insert_request_name(
    journey: &Journey,
    request: &Request,
    request_bindings: &mut Map<String, Value>,
) {
    if journey.reads_inbound_request && !request.name.is_empty() {
        request_bindings.insert("request".to_owned(), request.name.as_str().into());
    }
}

fn read_bindings(
    bindings: &RequestBindings,
    request: &Request,
) -> (Map<String, Value>, Vec<(String, String)>) {
    let mut context = Map::new();
    for (header, field) in &bindings.headers_to_context {
        if let Some(value) = request.header(header) {
            context.insert(field.clone(), value.into());
        }
    }
    for (parameter, field) in &bindings.query_to_context {
        if let Some(value) = request.parameter(parameter) {
            context.insert(field.clone(), value.into());
        }
    }
    let passthrough = bindings
        .passthrough
        .iter()
        .filter_map(|pair| Some((pair.to.clone(), request.header(&pair.from)?.to_owned())));
    let passthrough = passthrough.collect();
    let mut request_bindings = Map::new();
    if !context.is_empty() {
        request_bindings.insert("context".to_owned(), context.into());
    }
    (request_bindings, passthrough)
}

/// Tags and attributes from headers and baggage; the notation reads those from the payload.
fn insert_labels(journey: &Journey, request: &Request, request_bindings: &mut Map<String, Value>) {
    let metadata = &journey.metadata;
    let from_headers = metadata.tags.headers.iter().filter_map(|it| request.header(it));
    let tags: Vec<String> = from_headers
        .map(str::to_owned)
        .chain(metadata.tags.baggage.iter().filter_map(|it| request.baggage(it)))
        .collect();
    let mut attributes = Map::new();
    for (name, header) in &metadata.attributes.headers {
        if let Some(value) = request.header(header) {
            attributes.insert(name.clone(), value.into());
        }
    }
    for (name, member) in &metadata.attributes.baggage {
        if let Some(value) = request.baggage(member) {
            attributes.insert(name.clone(), value.into());
        }
    }
    if !tags.is_empty() {
        request_bindings.insert("tags".to_owned(), json!(tags));
    }
    if !attributes.is_empty() {
        request_bindings.insert("attributes".to_owned(), attributes.into());
    }
}

fn bound_request(
    request_bindings: &Map<String, Value>,
    passthrough: Vec<(String, String)>,
) -> BoundRequest {
    let request_bindings =
        if request_bindings.is_empty() { None } else { Json::of(request_bindings).ok() };
    BoundRequest { request_bindings, passthrough }
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let decoded = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        match decoded.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
