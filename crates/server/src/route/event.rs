//! `/events`: the history of all instances as server-sent events.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use meantime_core::{DefinitionId, InstanceId};
use meantime_kernel::store::HistoryRow;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::table::Routes;
use crate::app::App;
use crate::audit;
use crate::auth::{Caller, Permission};
use crate::concurrency::{RequestPermit, WaitPermit};
use crate::extract::Query;
use crate::feed::FeedSubscriber;
use crate::pagination;
use crate::problem::Problem;
use crate::wire::{TurnEvent, history_events};

pub(super) fn routes() -> Routes {
    Routes::new().add(Permission::Read, routes!(events))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// Only events of this instance.
    #[serde(default)]
    instance: Option<String>,
    /// Only events of instances of this definition.
    #[serde(default)]
    definition: Option<String>,
    /// Start after this event, like the header `Last-Event-ID`; 0 starts at the beginning.
    #[serde(default)]
    after: Option<String>,
}

/// Streams server-sent events: one for each turn of an instance, resumable by its id.
#[utoipa::path(
    get, path = "/events", operation_id = "streamEvents", tag = "events",
    params(
        EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event that was received"),
    ),
    responses((status = 200, description = "Events", content_type = "text/event-stream", body = TurnEvent))
)]
async fn events(
    State(app): State<App>,
    permit: RequestPermit,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after: Option<u64> = pagination::parse_cursor(header.or(query.after.as_deref()))?;
    let instance = query.instance.map(|id| id.parse()).transpose()?;
    let follower = app.feed().subscribe(after);
    let waiting = permit.acquire_wait()?;
    let (definition, audited) = (query.definition, BTreeSet::new());
    let stream =
        EventStream { app, caller, follower, instance, definition, audited, _waiting: waiting };
    let stream = unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()).into_response())
}

/// The state of one event stream.
struct EventStream {
    app: App,
    caller: Caller,
    follower: FeedSubscriber,
    instance: Option<InstanceId>,
    definition: Option<String>,
    /// The stream counts as a waiting request until it ends.
    _waiting: WaitPermit,
    /// Guarded definitions of which events were sent: each is logged once.
    audited: BTreeSet<DefinitionId>,
}

impl EventStream {
    /// The next event; none when the server or the engine stops.
    async fn next(&mut self) -> Option<SseEvent> {
        loop {
            let row = tokio::select! {
                row = self.follower.next() => row.ok()??,
                () = self.app.drain_started() => return None,
            };
            if let Some(event) = self.event(&row).await {
                return Some(event);
            }
        }
    }

    async fn event(&mut self, row: &Arc<HistoryRow>) -> Option<SseEvent> {
        if self.instance.is_some_and(|wanted| wanted != row.instance) {
            return None;
        }
        // Retention may have deleted the instance; its events are skipped.
        let id = self.app.feed().definition_of(row.instance).await.ok()??;
        let definition = self.app.definitions().get(id).await.ok()?;
        if self.definition.as_ref().is_some_and(|wanted| *wanted != definition.name) {
            return None;
        }
        if self.audited.insert(id) {
            audit::log_guarded_read(
                &self.app,
                &self.caller,
                "streamEvents",
                vec![(row.instance, id)],
            )
            .await;
        }
        let event = TurnEvent {
            instance_id: row.instance.to_string(),
            definition: definition.name.clone(),
            version: definition.version,
            turn: row.turn_no,
            at: row.at,
            records: history_events(row),
        };
        let data = serde_json::to_string(&event).ok()?;
        Some(SseEvent::default().id(row.seq.to_string()).event("turn").data(data))
    }
}
