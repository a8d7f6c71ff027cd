//! Journeys and their environment: outbound answers, secrets, routes, deadlines, mocks.

#[path = "../support/journeys.rs"]
mod journeys;

mod bodies;
mod mocks;
