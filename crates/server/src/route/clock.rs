//! `/clock`: reads and advances the virtual clock.

use axum::extract::State;
use meantime_kernel::command::Error;
use utoipa_axum::routes;

use super::reply::{Result, ok};
use super::table::Routes;
use crate::app::App;
use crate::auth::Permission;
use crate::extract::JsonBody;
use crate::problem::{Problem, ProblemCode};
use crate::wire::{Clock, ClockAdvance, ClockAdvanceResult};

pub(super) fn routes() -> Routes {
    Routes::new().add(Permission::Read, routes!(get)).add(Permission::Administer, routes!(advance))
}

/// Returns the time of the virtual clock.
#[utoipa::path(
    get, path = "/clock", operation_id = "getClock", tag = "clock",
    responses((status = 200, description = "The time of the clock", body = Clock))
)]
async fn get(State(app): State<App>) -> Result<Clock> {
    if !app.kernel().has_virtual_clock() {
        return Err(Error::ClockNotVirtual.into());
    }
    ok(Clock { now: app.kernel().now().engine })
}

/// Advances the virtual clock from due instant to due instant. When this answers, everything that
/// was due has run and is committed.
#[utoipa::path(
    post, path = "/clock/advance", operation_id = "advanceClock", tag = "clock", request_body = ClockAdvance,
    responses((status = 200, description = "The new time of the clock", body = ClockAdvanceResult))
)]
async fn advance(
    State(app): State<App>,
    JsonBody(body): JsonBody<ClockAdvance>,
) -> Result<ClockAdvanceResult> {
    if !app.kernel().has_virtual_clock() {
        return Err(Error::ClockNotVirtual.into());
    }
    let to = match (body.by, body.to) {
        (Some(by), None) => by.after(app.kernel().now().engine)?,
        (None, Some(to)) => to,
        _ => return Err(Problem::new(ProblemCode::InvalidBody, "give either `by` or `to`")),
    };
    let moved = app.kernel().advance(to, app.settings().clock.max_firings).await?;
    ok(ClockAdvanceResult { now: moved.now, fired: moved.fired })
}
