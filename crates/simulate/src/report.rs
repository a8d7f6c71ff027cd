//! What a simulation shows: its instances, and everything as data.

use meantime_core::{EffectKey, InstanceId, Json, Outcome, Timestamp, View, WaitingKind};
use meantime_kernel::open::Key;
use meantime_kernel::store::{InstanceRow, Page, TimerFilter};
use serde::Serialize;

use crate::run::{Choice, Simulation, SimulationEnd, SimulationError, has_view};
use crate::trace::TraceEvent;

/// Rows of a list that are read.
const PAGE_ROWS: usize = 1_000;

/// What an instance waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// `task`, `userTask`, `timer`, `signal`, `message`, `step`, `child` or `condition`.
    pub kind: &'static str,
    /// A type or name.
    pub name: String,
    /// The element of the definition.
    pub element: String,
    /// When it is due, if it is a timer or has a timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
}

/// An instance at the end of a simulation.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceReport {
    /// As in the trace.
    pub instance: String,
    /// The name of its definition.
    pub definition: String,
    /// `running`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// The output of a completed instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The error of a failed instance: code and message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureReport>,
    /// The variables of its outermost scope.
    pub variables: Json,
    /// What it waits for.
    pub waiting_for: Vec<Waits>,
    /// The codes of its open incidents.
    pub incidents: Vec<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// The error of an instance.
#[derive(Debug, Clone, Serialize)]
pub struct FailureReport {
    /// The stable code.
    pub code: String,
    /// For people.
    pub message: String,
    /// Additional data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

/// What a simulation showed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SimulationReport {
    /// When it started.
    pub from: Timestamp,
    /// The time of the clock at its end.
    pub now: Timestamp,
    /// Why it stopped.
    pub stopped: SimulationEnd,
    /// The alternatives that were chosen.
    pub choices: Vec<Choice>,
    /// The instances, in the order of their start.
    pub instances: Vec<InstanceReport>,
    /// What happened, in order.
    pub trace: Vec<TraceEvent>,
    /// What waits for somebody without a stub.
    pub unanswered: Vec<String>,
}

impl Simulation {
    /// Armed timers: the element and when it is due.
    pub(crate) async fn timers(&self) -> Result<Vec<(String, Timestamp)>, SimulationError> {
        let rows = self.store.timers(TimerFilter::default(), Page::first(PAGE_ROWS)).await?;
        Ok(rows.into_iter().map(|row| (row.element, row.due_at)).collect())
    }

    /// An instance as it is now.
    pub(crate) async fn instance(
        &mut self,
        id: InstanceId,
    ) -> Result<Option<InstanceReport>, SimulationError> {
        let Some(row) = self.store.instance(id).await? else { return Ok(None) };
        let instance = self.labels.of(id);
        let incidents = self.store.incidents(Some(id), Page::first(PAGE_ROWS)).await?;
        let incidents = incidents.into_iter().map(|it| it.failure.code).collect();
        let loaded = self.load(row.definition).await?;
        let definition = loaded.name.clone();
        let view = if has_view(&row) {
            loaded.notation.inspect(&loaded.definition, &row.state)
        } else {
            View::default()
        };
        let due = |key: Option<EffectKey>| {
            key.and_then(|key| row.open.timers.get(&Key::from(key))).map(|timer| timer.due_at)
        };
        let waits = view.waiting.iter().map(|wait| Waits {
            kind: kind_name(wait.kind),
            name: wait.name.clone(),
            element: wait.element.clone(),
            due_at: due(wait.key),
        });
        let waiting_for = waits.collect();
        let (status, output, error, variables) = standing(&row, view.variables);
        let (started_at, ended_at) = (row.started_at, row.ended_at);
        Ok(Some(InstanceReport {
            instance,
            definition,
            status,
            output,
            error,
            variables,
            waiting_for,
            incidents,
            started_at,
            ended_at,
        }))
    }

    /// The report at the current instant.
    pub async fn report(
        &mut self,
        stopped: SimulationEnd,
    ) -> Result<SimulationReport, SimulationError> {
        let mut instances = Vec::new();
        for id in self.labels.instances.clone() {
            instances.extend(self.instance(id).await?);
        }
        let from = self.spec.from;
        Ok(SimulationReport {
            from,
            now: self.now(),
            stopped,
            choices: self.choices.clone(),
            instances,
            trace: self.trace.clone(),
            unanswered: self.unanswered.iter().cloned().collect(),
        })
    }
}

/// Status, output, error and variables of an instance.
fn standing(
    row: &InstanceRow,
    variables: Json,
) -> (&'static str, Option<Json>, Option<FailureReport>, Json) {
    match row.meta.outcome.as_ref().filter(|_| row.phase.is_ended()) {
        Some(Outcome::Completed { output, context }) => {
            ("completed", Some(output.clone()), None, context.clone())
        }
        Some(Outcome::Failed { failure, context, .. }) => {
            let (code, message) = (failure.code.clone(), failure.message.clone());
            let error = FailureReport { code, message, data: failure.data.clone() };
            ("failed", None, Some(error), context.clone())
        }
        Some(Outcome::Cancelled { context, .. }) => ("cancelled", None, None, context.clone()),
        None => ("running", None, None, variables),
    }
}

/// The name of a kind of wait, as in the API.
pub(crate) fn kind_name(kind: WaitingKind) -> &'static str {
    match kind {
        WaitingKind::Task => "task",
        WaitingKind::UserTask => "userTask",
        WaitingKind::Timer => "timer",
        WaitingKind::Signal => "signal",
        WaitingKind::Message => "message",
        WaitingKind::Step => "step",
        WaitingKind::Child => "child",
        WaitingKind::Condition => "condition",
    }
}
