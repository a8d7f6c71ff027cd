//! The HTTP API of journeys, without HTTP: reads requests and builds answers.
//!
//! Everything here is a function of a definition and of a stored instance. The server loads both,
//! calls these functions and sends the result.

mod api;
mod fields;
mod guard;
mod http;
mod instance;
mod links;
mod outcome;
mod refer;
mod request;
mod status;

#[cfg(test)]
mod tests;

pub(crate) use api::problem_of;
pub use api::{ApiAnswer, Effort, RefusedStart, TooCostly, api_answer, api_refusal};
pub use guard::{guard_allows, guard_start};
pub use http::{
    DEADLINE_AT, HTTP_BODY, HTTP_DEADLINE, HTTP_TASK, HttpRequest, REQUEST_GONE, is_config_error,
};
pub use instance::{
    Instance, Kind, ROUTE_CODE, StartMode, declares_public, is_cancellable, is_guarded, kind,
    reads_inbound_request, route, route_position, start_mode,
};
pub use outcome::outcome;
pub use refer::references;
pub use request::{
    BoundRequest, Request, named_request, start_request_bindings, step_request_bindings,
};
pub use status::{is_compensation, labels, start_response, status, submitted_status};
