//! Builds the wire form of instances from rows, definitions, views and incidents.

use std::collections::BTreeMap;

use meantime_core::{
    EffectKey, Json, ScopeView, TaskId, TimerId, Timestamp, View, WaitingKind as Kind, pause_point,
};
use meantime_kernel::command::Error;
use meantime_kernel::history::Record;
use meantime_kernel::open::{Key, Open};
use meantime_kernel::store::{InstanceRow, Page, Phase};

use crate::app::App;
use crate::definition_cache::CachedDefinition;
use crate::problem::Problem;
use crate::wire::{
    Incident, Instance, InstanceStatus, InstanceSummary, OutcomeView, SuspensionState,
    VariableScope, WaitingFor,
};

/// Maximum number of incidents that an instance shows.
const MAX_INCIDENTS: usize = 1_000;

/// An instance with its data. `input` saves reading it from the history.
pub(crate) async fn instance(
    app: &App,
    row: &InstanceRow,
    input: Option<Json>,
) -> Result<Instance, Problem> {
    if let Some(damaged) = &row.meta.damaged {
        let summary = damaged_summary(app, row, damaged).await;
        let variables = object_or_empty(Json::null());
        return Ok(Instance { summary, input: Json::null(), output: None, variables });
    }
    let definition = app.definitions().get(row.definition).await?;
    let view = view(&definition, row);
    let is_unreadable = is_unreadable(row, &view);
    let waiting = waiting(app, row, &view).await?;
    let input = match input {
        Some(input) => input,
        None => input_of(app, row).await?,
    };
    let ending = row.meta.outcome.as_ref().filter(|_| row.phase.is_ended()).map(OutcomeView::of);
    let (output, variables) = match &ending {
        Some(ending) => (ending.output.clone(), ending.variables.clone()),
        None => (None, view.variables),
    };
    let mut summary = build_summary(app, row, &definition, waiting, ending).await?;
    summary.damaged = is_unreadable.then(undecodable_message);
    Ok(Instance { summary, input, output, variables: object_or_empty(variables) })
}

/// An instance as lists show it.
pub(crate) async fn summary(app: &App, row: &InstanceRow) -> Result<InstanceSummary, Problem> {
    // A list has up to a thousand of them.
    pause_point::here();
    if let Some(damaged) = &row.meta.damaged {
        return Ok(damaged_summary(app, row, damaged).await);
    }
    let definition = app.definitions().get(row.definition).await?;
    let view = view(&definition, row);
    let waiting = waiting(app, row, &view).await?;
    let ending = row.meta.outcome.as_ref().filter(|_| row.phase.is_ended()).map(OutcomeView::of);
    let mut summary = build_summary(app, row, &definition, waiting, ending).await?;
    summary.damaged = is_unreadable(row, &view).then(undecodable_message);
    Ok(summary)
}

/// The row; a problem if it is damaged.
pub(crate) fn require_undamaged(row: InstanceRow) -> Result<InstanceRow, Problem> {
    if row.meta.damaged.is_some() { Err(Error::InstanceDamaged(row.id).into()) } else { Ok(row) }
}

/// Whether the notation could not decode the state.
fn is_unreadable(row: &InstanceRow, view: &View) -> bool {
    let has_state = matches!(row.phase, Phase::Running | Phase::Yielding | Phase::Closing);
    has_state && view.variables.is_null() && view.waiting.is_empty()
}

fn undecodable_message() -> String {
    "its state cannot be decoded".to_owned()
}

/// What can be read of a damaged row, so that it does not break the list that contains it.
async fn damaged_summary(app: &App, row: &InstanceRow, damaged: &str) -> InstanceSummary {
    let definition = app.definitions().get(row.definition).await.ok();
    let (name, version, notation) = definition
        .map_or_else(Default::default, |it| (it.name.clone(), it.version, it.notation.clone()));
    InstanceSummary {
        id: row.id.to_string(),
        definition: name,
        version,
        notation,
        status: InstanceStatus::from(row.phase),
        error: None,
        reason: None,
        waiting_for: Vec::new(),
        incidents: open_incidents(app, row).await.unwrap_or_default(),
        deadline_at: row.deadline_at,
        started_at: row.started_at,
        ended_at: row.ended_at,
        parent: None,
        key: row.key.clone(),
        tags: row.meta.tags.clone(),
        suspended: row.meta.suspended.as_deref().map(SuspensionState::from),
        restart_of: row.meta.restart_of.map(|it| it.to_string()),
        damaged: Some(damaged.to_owned()),
    }
}

async fn build_summary(
    app: &App,
    row: &InstanceRow,
    definition: &CachedDefinition,
    waiting_for: Vec<WaitingFor>,
    ending: Option<OutcomeView>,
) -> Result<InstanceSummary, Problem> {
    let (error, reason) = ending.map_or((None, None), |ending| (ending.error, ending.reason));
    Ok(InstanceSummary {
        id: row.id.to_string(),
        definition: definition.name.clone(),
        version: definition.version,
        notation: definition.notation.clone(),
        status: InstanceStatus::from(row.phase),
        error,
        reason,
        waiting_for,
        incidents: incidents(app, row).await?,
        deadline_at: row.open.timers.get(&Key::DEADLINE).map(|it| it.due_at).or(row.deadline_at),
        started_at: row.started_at,
        ended_at: row.ended_at,
        parent: row.meta.lineage.as_ref().map(|it| it.parent.instance.to_string()),
        key: row.key.clone(),
        tags: row.meta.tags.clone(),
        suspended: row.meta.suspended.as_deref().map(SuspensionState::from),
        restart_of: row.meta.restart_of.map(|it| it.to_string()),
        damaged: None,
    })
}

/// The scopes of a running instance.
pub(crate) async fn scopes(app: &App, row: &InstanceRow) -> Result<Vec<VariableScope>, Problem> {
    if !matches!(row.phase, Phase::Running | Phase::Yielding | Phase::Closing) {
        return Ok(Vec::new());
    }
    let definition = app.definitions().get(row.definition).await?;
    let scopes = definition.compiled().map(|(notation, it)| notation.scopes(it, &row.state));
    let show = |scope: ScopeView| VariableScope {
        id: scope.id,
        parent: scope.parent,
        element: scope.element,
        variables: object_or_empty(scope.variables),
    };
    Ok(scopes.unwrap_or_default().into_iter().map(show).collect())
}

/// The view of the notation on an instance.
pub(crate) fn view(definition: &CachedDefinition, row: &InstanceRow) -> View {
    match row.phase {
        // Before the first turn the state holds the start command; an ended instance has no view.
        Phase::Starting | Phase::Completed | Phase::Failed | Phase::Cancelled => View::default(),
        Phase::Running | Phase::Yielding | Phase::Closing => definition.inspect(&row.state),
    }
}

/// What an instance waits for.
async fn waiting(app: &App, row: &InstanceRow, view: &View) -> Result<Vec<WaitingFor>, Problem> {
    let has_children = view.waiting.iter().any(|it| it.kind == Kind::Child);
    let children: BTreeMap<EffectKey, String> = if has_children {
        let children = app.store().children(row.id).await?;
        children.into_iter().map(|child| (child.key, child.id.to_string())).collect()
    } else {
        BTreeMap::new()
    };
    let show = |it: &meantime_core::Waiting| WaitingFor {
        kind: it.kind.into(),
        id: match (it.key, it.kind) {
            (Some(key), Kind::Task | Kind::UserTask) => TaskId(key).to_string(),
            (Some(key), Kind::Timer) => TimerId(key).to_string(),
            (Some(key), Kind::Child) => {
                children.get(&key).cloned().unwrap_or_else(|| key.to_string())
            }
            (None, _) | (_, Kind::Step) => it.name.clone(),
            (Some(key), _) => key.to_string(),
        },
        name: it.name.clone(),
        element: it.element.clone(),
        due_at: it.key.and_then(|key| due_at(&row.open, Key::from(key), it.kind)),
        frozen: it.key.is_some_and(|key| {
            row.open.timers.get(&Key::from(key)).is_some_and(|timer| timer.frozen)
        }),
        since: it.since,
    };
    Ok(view.waiting.iter().map(show).collect())
}

/// When a timer is due, or a step times out; a step at the latest at the deadline (D3).
fn due_at(open: &Open, key: Key, kind: Kind) -> Option<Timestamp> {
    let due_at = open.timers.get(&key)?.due_at;
    let deadline = open.deadline().filter(|_| kind == Kind::Step);
    Some(deadline.map_or(due_at, |deadline| deadline.min(due_at)))
}

async fn incidents(app: &App, row: &InstanceRow) -> Result<Vec<Incident>, Problem> {
    // The incident of a damaged row is not included in the count.
    if row.meta.incidents == 0 && !app.kernel().damaged().borrow().contains_key(&row.id) {
        return Ok(Vec::new());
    }
    open_incidents(app, row).await
}

async fn open_incidents(app: &App, row: &InstanceRow) -> Result<Vec<Incident>, Problem> {
    let rows = app.store().incidents(Some(row.id), Page::first(MAX_INCIDENTS)).await?;
    Ok(rows.iter().map(Incident::from).collect())
}

/// The input of an instance: in its state before the first turn, in its history afterwards.
async fn input_of(app: &App, row: &InstanceRow) -> Result<Json, Problem> {
    Ok(recorded_input(app, row).await?.unwrap_or_default())
}

/// The input of an instance; none if it was not recorded, because its start faulted.
pub(crate) async fn recorded_input(app: &App, row: &InstanceRow) -> Result<Option<Json>, Problem> {
    if row.phase == Phase::Starting {
        return Ok(row.start().map(|start| start.input));
    }
    let Some(place) = row.meta.started_in else { return Ok(None) };
    let rows = app.store().history(place, 1).await?;
    Ok(rows.into_iter().flat_map(|row| row.records).find_map(|record| match record {
        Record::Started { input, .. } => Some(input),
        _ => None,
    }))
}

/// Variables as an object, also if there are none.
fn object_or_empty(variables: Json) -> Json {
    if variables.is_null() { Json::object([]) } else { variables }
}
