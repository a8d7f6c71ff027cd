//! Rejects query parameters that an operation does not declare: a misspelled filter would otherwise
//! be ignored.
//!
//! The declared parameters come from the OpenAPI document, so document, check and error message
//! cannot disagree.

use std::sync::Arc;

use axum::extract::{Query, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem, Paths};

use crate::problem::{Problem, ProblemCode};

/// Operations whose query belongs to a definition: its bindings name the parameters, and callers of
/// a webhook may add others.
const UNCHECKED_QUERY: [&str; 3] = ["startJourney", "submitJourneyStep", "callApi"];

/// The query parameters of the operations of a path.
#[derive(Debug, Clone, Default)]
pub(super) struct DeclaredQuery(Arc<Vec<(Method, Vec<String>)>>);

impl DeclaredQuery {
    /// Reads the parameters from a document.
    pub(super) fn of(paths: &Paths) -> Self {
        let operations = paths.paths.values().flat_map(operations);
        let is_checked = |operation: &Operation| {
            let name = operation.operation_id.as_deref().unwrap_or_default();
            !UNCHECKED_QUERY.contains(&name)
        };
        let checked = operations.filter(|(_, operation)| is_checked(operation));
        Self(Arc::new(checked.map(|(method, operation)| (method, names(operation))).collect()))
    }

    /// A path with GET only, and no parameters.
    pub(super) fn none() -> Self {
        Self(Arc::new(vec![(Method::GET, Vec::new())]))
    }

    fn check(&self, request: &Request) -> Result<(), Problem> {
        let refused = |text: String| Problem::new(ProblemCode::InvalidQuery, text);
        if request.uri().query().is_none_or(str::is_empty) {
            return Ok(());
        }
        let is_head = request.method() == Method::HEAD;
        let method = if is_head { &Method::GET } else { request.method() };
        let Some((_, known)) = self.0.iter().find(|(it, _)| it == method) else { return Ok(()) };
        let Ok(Query(given)) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()) else {
            return Err(refused("the query is not of the form `name=value&name=value`".to_owned()));
        };
        let unknown = given.iter().map(|(name, _)| name).find(|name| !known.contains(name));
        let Some(unknown) = unknown else { return Ok(()) };
        let known = match known.as_slice() {
            [] => "it has none".to_owned(),
            known => format!("it has {}", known.join(", ")),
        };
        Err(refused(format!("this operation has no query parameter `{unknown}`; {known}")))
    }
}

/// Middleware of the operations of a path.
pub(super) async fn check_query(declared: DeclaredQuery, request: Request, next: Next) -> Response {
    match declared.check(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

fn names(operation: &Operation) -> Vec<String> {
    let parameters = operation.parameters.iter().flatten().filter_map(|it| match it {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    });
    let of_query = parameters.filter(|it| matches!(it.parameter_in, ParameterIn::Query));
    of_query.map(|it| it.name.clone()).collect()
}
