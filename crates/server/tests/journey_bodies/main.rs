//! Journeys and their environment: outbound answers, secrets, routes, deadlines, mocks.

#[path = "../support/journeys.rs"]
mod journeys;
#[path = "../support/slow_call.rs"]
mod slow_call;

mod bodies;
mod mocks;
