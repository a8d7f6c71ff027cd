//! Script lines that only read.

use meantime_core::{Outcome, SCHEDULE_DEFINITION, TimerId, View};
use meantime_kernel::explain::{
    explain_instance, explain_occurrence, explain_schedule, explain_task, explain_timer,
};
use meantime_kernel::history::Record;
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{Page, TaskFilter, TimerFilter};

use super::player::Player;
use super::trace::describe_state;
use crate::harness::block_on;

impl Player<'_> {
    pub(super) fn show(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten();
        row.as_ref().map_or_else(|| "not there".to_owned(), describe_state)
    }

    /// The view that the notation gives of a running instance.
    fn view(&mut self, name: &str) -> Option<View> {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten()?;
        let definition = block_on(self.sim.store.definition(row.definition)).ok().flatten()?;
        let notation = self.notations.get(&definition.notation)?;
        let loaded = self.notations.load(&definition, &self.scenario.limits)?;
        Some(notation.inspect(&loaded.definition, &row.state))
    }

    /// The variables of an instance, also after its end.
    pub(super) fn variables(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten();
        let outcome = row.and_then(|row| row.meta.outcome);
        match outcome {
            Some(
                Outcome::Completed { context, .. }
                | Outcome::Failed { context, .. }
                | Outcome::Cancelled { context, .. },
            ) => context.to_string(),
            None => self.view(name).map_or_else(String::new, |view| view.variables.to_string()),
        }
    }

    /// The scopes of a running instance with their own variables.
    pub(super) fn scopes(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let store = &self.sim.store;
        let Some(row) = block_on(store.instance(id)).ok().flatten() else { return String::new() };
        let definition = block_on(store.definition(row.definition)).ok().flatten();
        let loaded = definition.and_then(|definition| {
            let notation = self.notations.get(&definition.notation)?.clone();
            Some((notation, self.notations.load(&definition, &self.scenario.limits)?))
        });
        let Some((notation, loaded)) = loaded else { return String::new() };
        let lines = notation.scopes(&loaded.definition, &row.state).into_iter().map(|scope| {
            let parent = scope.parent.map_or_else(String::new, |it| format!(" in {it}"));
            format!("{}{parent} {} {}", scope.id, scope.element, scope.variables)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What a running instance waits for.
    pub(super) fn waiting(&mut self, name: &str) -> String {
        let waiting = self.view(name).map(|view| view.waiting).unwrap_or_default();
        let lines = waiting.iter().map(|it| {
            let key = it.key.map_or_else(String::new, |key| format!(" {}", self.tracer.key(key)));
            format!("{:?}{key} {} at {} since {}", it.kind, it.name, it.element, it.since)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The failure of an instance with all details.
    pub(super) fn failure(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten();
        let Some(Outcome::Failed { failure, .. }) = row.and_then(|row| row.meta.outcome) else {
            return "it did not fail".to_owned();
        };
        let mut lines = vec![format!("{}: {}", failure.code, failure.message)];
        lines.extend(failure.data.map(|data| format!("data {data}")));
        lines.extend(failure.trace.map(|trace| format!("trace {trace}")));
        lines.join("\n")
    }

    /// Engine tasks without a report, with their inputs.
    pub(super) fn dispatched(&mut self) -> String {
        let tasks = self.sim.dispatched.iter();
        let lines = tasks.map(|task| format!("{} {}", task.spec.name, task.spec.input));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The number of turns of an instance.
    pub(super) fn turns(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten();
        row.map_or_else(String::new, |row| row.turn_no.to_string())
    }

    /// The size of the state of an instance in bytes.
    pub(super) fn state_bytes(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten();
        row.map_or_else(String::new, |row| format!("{} bytes", row.state.bytes.len()))
    }

    pub(super) fn list_timers(&mut self) -> String {
        let rows = block_on(self.sim.store.timers(TimerFilter::default(), Page::first(1_000)));
        let rows = rows.unwrap_or_default();
        let lines = rows.iter().map(|row| {
            let frozen = if row.frozen { " frozen" } else { "" };
            let key = self.tracer.key(row.id.0);
            format!("{key} {} {} due {}{frozen}", row.kind.name(), row.element, row.due_at)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn list_tasks(&mut self) -> String {
        let rows = block_on(self.sim.store.tasks(TaskFilter::default(), Page::first(1_000)));
        let rows = rows.unwrap_or_default();
        let lines = rows.iter().map(|row| {
            let detached = if row.spec.detached { " detached" } else { "" };
            let assignee = row.assignee.as_ref().map_or_else(String::new, |it| format!(" {it}"));
            let key = self.tracer.key(row.id.0);
            format!("{key} {} {}{detached}{assignee}", row.spec.name, row.state.name())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Explains what an instance waits for.
    pub(super) fn why_instance(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let store = self.sim.store.clone();
        let Some(row) = block_on(store.instance(id)).ok().flatten() else {
            return "not there".to_owned();
        };
        let definition = block_on(store.definition(row.definition)).ok().flatten();
        if definition.is_some_and(|it| it.name == SCHEDULE_DEFINITION)
            && let Some(view) = ScheduleView::of_instance(&row)
        {
            return explain_schedule(&row, &view, None);
        }
        let incidents = block_on(store.incidents(Some(id), Page::first(10))).unwrap_or_default();
        let filter = TaskFilter { instance: Some(id), ..TaskFilter::default() };
        let tasks = block_on(store.tasks(filter, Page::first(100))).unwrap_or_default();
        let view = self.view(name).unwrap_or_default();
        explain_instance(&row, &view, &tasks, &incidents, self.sim.now().engine)
    }

    /// Explains every task of an instance.
    pub(super) fn why_tasks(&mut self, name: &str) -> String {
        let instance = Some(self.instance(name));
        let (store, now) = (self.sim.store.clone(), self.sim.now().engine);
        let filter = TaskFilter { instance, ..TaskFilter::default() };
        let rows = block_on(store.tasks(filter, Page::first(100))).unwrap_or_default();
        rows.iter().map(|row| explain_task(row, now)).collect::<Vec<_>>().join("\n")
    }

    /// Explains why each occurrence of a schedule ran or did not, oldest first. Runs are named by
    /// the ledger.
    pub(super) fn why_occurrences(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let rows = block_on(self.sim.store.occurrences(id, Page::first(100)));
        let rows = rows.unwrap_or_default().into_iter().rev().map(|mut row| {
            // Ids differ between runs of the rigs.
            row.instance = None;
            row
        });
        rows.map(|row| explain_occurrence(&row)).collect::<Vec<_>>().join("\n")
    }

    /// Explains the first timer that the instance armed for an element.
    pub(super) fn why_timer(&mut self, name: &str, element: &str) -> String {
        let id = self.instance(name);
        let store = self.sim.store.clone();
        let Some(row) = block_on(store.instance(id)).ok().flatten() else {
            return "not there".to_owned();
        };
        let history = block_on(store.history(row.last_history, usize::MAX)).unwrap_or_default();
        let armed = history.iter().flat_map(|it| &it.records).find_map(|record| match record {
            Record::TimerArmed { key, element: at, .. } if at == element => Some(TimerId(*key)),
            _ => None,
        });
        armed.map_or_else(
            || "there is no record of this timer".to_owned(),
            |timer| explain_timer(&row, &history, timer).sentence(),
        )
    }
}
