//! The real binary: as a server, and as what people and workers do to it.

mod binary;
mod care;
mod crash;
mod everyday;
mod http;
mod journeys;
mod postgres;
mod request;
mod tour;
mod traces;
