//! `bench journey`: journeys that run to their end at once, and journeys that wait.

use anyhow::Result;

use super::super::session::Session;
use super::caller::RepeatedCalls;
use super::measure::{MANY_CONNECTIONS, Rate, calls_per_second, starts};
use super::parked;
use super::server::{ClockKind, Server};
use super::sources::JOURNEYS;

/// An order as a shop would send it.
pub(super) const ORDER: &str = r#"{"customer":"c-1042","items":[{"sku":"tea-1","price":12.5,"quantity":4},{"sku":"cup-7","price":8.9,"quantity":6},{"sku":"pot-2","price":39.0,"quantity":1}]}"#;

pub(crate) async fn run(session: &mut Session) -> Result<()> {
    session.appended().await?;
    let server = Server::start(&session.common.db, ClockKind::Real, JOURNEYS).await?;
    let calls = starts(&server, "/journeys/decide/start", ORDER, MANY_CONNECTIONS);
    let calls = RepeatedCalls { status: 200, ..calls };
    let name = format!("journeys of three transforms and a choice, {MANY_CONNECTIONS} connections");
    let rate = Rate { scenario: "decide", name, at_least: Some(0.15) };
    calls_per_second(session, &server, calls, rate).await?;
    server.end()?;
    parked::run(session).await
}
