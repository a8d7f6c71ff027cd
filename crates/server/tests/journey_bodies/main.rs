//! What journeys and the world outside come to terms about: answers, secrets, routes, deadlines,
//! mocks.

#[path = "../support/journeys.rs"]
mod journeys;

mod bodies;
mod mocks;
