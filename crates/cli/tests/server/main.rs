//! Tests of the real binary: as a server, and as the client commands for it.

mod binary;
mod care;
mod crash;
mod everyday;
mod http;
mod journeys;
mod memory;
mod operate;
mod postgres;
mod request;
mod search;
mod tour;
mod traces;
