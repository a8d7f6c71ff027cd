//! Looks up definitions and instances for the API of journeys, and applies read guards.

use std::sync::Arc;

use axum::http::HeaderMap;
use meantime_core::{Definition, DefinitionId, InstanceId};
use meantime_journey::JOURNEY_NOTATION;
use meantime_journey::surface::{self, Instance, Kind, Request};
use meantime_kernel::command::{Error, StartCommand};
use meantime_kernel::store::{InstanceRow, Phase};

use super::ephemeral::EphemeralEnd;
use super::request::{InboundRequest, RequestGuard};
use crate::app::App;
use crate::concurrency::RequestPermit;
use crate::definition_cache::CachedDefinition;
use crate::problem::Problem;
use crate::show;

/// A journey or API by its name. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SurfaceDefinition {
    pub(crate) id: DefinitionId,
    entry: Arc<CachedDefinition>,
}

/// An instance of a journey with its definition.
pub(crate) struct SurfaceInstance {
    pub(crate) row: InstanceRow,
    entry: Arc<CachedDefinition>,
    id: String,
}

/// The latest version of a journey or API.
pub(crate) async fn latest(
    app: &App,
    name: &str,
    kind: Kind,
) -> Result<SurfaceDefinition, Problem> {
    let unknown = || Error::UnknownDefinition { name: name.to_owned(), version: None };
    let id = app.kernel().latest(name).await?.ok_or_else(unknown)?;
    let named = SurfaceDefinition { id, entry: app.definitions().get(id).await? };
    let is_journey = named.entry.notation == JOURNEY_NOTATION;
    if !is_journey || named.definition().and_then(surface::kind) != Some(kind) {
        return Err(unknown().into());
    }
    Ok(named)
}

/// The latest version of the API that answers at `/apis/<name>`: the API of that name, or the one
/// with that route. A deployment that would make this ambiguous is refused.
pub(crate) async fn api(app: &App, name: &str) -> Result<SurfaceDefinition, Problem> {
    let unknown = match latest(app, name, Kind::Api).await {
        Ok(named) => return Ok(named),
        Err(problem) if problem.status().is_server_error() => return Err(problem),
        Err(problem) => problem,
    };
    let routed = app.surface_index().public_api(app, &format!("/apis/{name}")).await?;
    routed.ok_or(unknown)
}

/// An instance of a journey; other instances are unknown here.
pub(crate) async fn find(app: &App, id: InstanceId) -> Result<SurfaceInstance, Problem> {
    let row = app.store().instance(id).await?;
    let row = row.ok_or(Error::UnknownInstance(id))?;
    SurfaceInstance::new(app, show::require_undamaged(row)?).await
}

impl SurfaceDefinition {
    pub(crate) fn name(&self) -> &str {
        &self.entry.name
    }

    /// Whether it is public.
    pub(crate) fn is_public(&self, app: &App) -> bool {
        is_public(app, &self.entry)
    }

    /// The compiled definition; none if this release cannot read it.
    pub(crate) fn definition(&self) -> Option<&Definition> {
        self.entry.compiled().map(|(_, definition)| definition)
    }
}

impl SurfaceInstance {
    /// Looks up the definition of a row.
    pub(crate) async fn new(app: &App, row: InstanceRow) -> Result<Self, Problem> {
        let entry = app.definitions().get(row.definition).await?;
        let is_journey = entry.notation == JOURNEY_NOTATION && entry.compiled().is_some();
        if !is_journey {
            return Err(Error::UnknownInstance(row.id).into());
        }
        let id = row.id.to_string();
        Ok(Self { row, entry, id })
    }

    /// Whether it is public; the version that it runs decides.
    pub(crate) fn is_public(&self, app: &App) -> bool {
        is_public(app, &self.entry)
    }

    /// The definition and the instance, for building responses.
    pub(crate) fn definition_and_instance(&self) -> Option<(&Definition, Instance<'_>)> {
        let (_, definition) = self.entry.compiled()?;
        let extra = &self.row.meta;
        let outcome = extra.outcome.as_ref().filter(|_| self.row.phase.is_ended());
        let (state, summary) = (&self.row.state, extra.summary.as_ref());
        let deadline_at = self.row.deadline_at;
        Some((definition, Instance { id: &self.id, state, outcome, summary, deadline_at }))
    }

    /// Whether its outcome is fixed: it has ended, or only compensations are running.
    pub(crate) fn is_closing_or_ended(&self) -> bool {
        self.row.phase == Phase::Closing || self.row.phase.is_ended()
    }

    /// Runs the read guard of the journey; a rejected caller gets the answer for an unknown
    /// instance.
    pub(crate) async fn check_read_guard(
        self,
        app: &App,
        permit: &RequestPermit,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let unknown = Error::UnknownInstance(self.row.id);
        let Some((definition, instance)) = self.definition_and_instance() else {
            return Err(unknown.into());
        };
        let Some(start) = surface::guard_start(definition, &instance) else { return Ok(self) };
        let (request, _guard) = register_request(app, headers, None);
        let request_bindings = surface::named_request(&request);
        let command = StartCommand {
            input: start.input,
            at: start.at,
            request_bindings,
            ..StartCommand::default()
        };
        let patience = app.timeout_or_drain(app.settings().http.max_wait.into());
        let outcome = app.ephemeral().run(app.store(), self.row.definition, command, patience);
        match permit.release_while(outcome).await? {
            Ok(EphemeralEnd::Ended(outcome)) if surface::guard_allows(&outcome) => Ok(self),
            Err(error @ (Error::Overloaded | Error::Stopping)) => Err(error.into()),
            Ok(_) | Err(_) => Err(unknown.into()),
        }
    }
}

fn is_public(app: &App, entry: &CachedDefinition) -> bool {
    let declared =
        entry.compiled().and_then(|(_, definition)| surface::declares_public(definition));
    app.settings().journeys.public.is_public(&entry.name, declared)
}

/// Registers a request without bindings.
fn register_request(
    app: &App,
    headers: &HeaderMap,
    query: Option<&str>,
) -> (Request, RequestGuard) {
    let request = visible_request(app, headers, query);
    let inbound = InboundRequest { request: request.clone(), passthrough: Vec::new() };
    (request, app.requests().register(inbound))
}

/// The headers and the query that a journey may read: everything except operators' keys.
pub(crate) fn visible_request(app: &App, headers: &HeaderMap, query: Option<&str>) -> Request {
    let texts = headers.iter().filter(|(name, value)| !app.auth().is_operators(name, value));
    let texts = texts.filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(
        &format!("/?{}", query.unwrap_or_default()).parse().unwrap_or_default(),
    );
    let query = query.map(|it| it.0).unwrap_or_default();
    Request { name: app.requests().new_id(), headers: texts.collect(), query }
}
