//! Operators: cancels, variables, timers, incidents, and people's own tasks.

use meantime_core::{TaskId, TaskKind, TimerId};
use meantime_kernel::command::{Command, Report, TimerEdit};
use meantime_kernel::store::Page;

use crate::harness::block_on;
use crate::simulation::run::Run;

impl Run {
    pub(super) fn cancel(&mut self) {
        let Some(instance) = self.some_instance() else { return };
        let audit = self.load.audit();
        self.ask("cancel", Command::Cancel { instance, audit });
    }

    pub(super) fn set_variables(&mut self) {
        let Some(instance) = self.some_instance() else { return };
        let (values, audit) = (self.load.object(), self.load.audit());
        self.ask("set variables", Command::SetVariables { instance, values, scope: None, audit });
    }

    /// Moves, fires, freezes or releases some timer that is open.
    pub(super) fn edit_timer(&mut self) {
        let Some(instance) = self.some_live() else { return };
        let Some(row) = self.journal.rows.get(&instance) else { return };
        let keys: Vec<_> = row.open.timers.keys().copied().collect();
        let Some(key) = self.load.chance.pick_any(&keys) else { return };
        let timer = TimerId(key.of(instance));
        let now = self.now();
        let chance = &mut self.load.chance;
        let (name, edit) = match chance.below(4) {
            0 => {
                let ms = chance.pick(&[-5_000, 0, 10, 2_000, 600_000]);
                ("move timer", TimerEdit::Move(now.saturating_add_millis(ms)))
            }
            1 => ("fire timer", TimerEdit::Fire),
            2 => ("freeze timer", TimerEdit::Freeze),
            _ => ("release timer", TimerEdit::Release),
        };
        let audit = self.load.audit();
        self.ask(name, Command::EditTimer { timer, edit, audit });
    }

    pub(super) fn answer_incident(&mut self) {
        let rows = block_on(self.store.incidents(None, Page::first(30))).unwrap_or_default();
        let Some(row) = self.load.chance.pick_any(&rows) else { return };
        let (incident, audit) = (row.id, self.load.audit());
        if self.load.chance.percent(70) {
            self.ask("retry incident", Command::RetryIncident { incident, audit });
        } else {
            let variables = self.load.object();
            self.ask("resolve incident", Command::ResolveIncident { incident, variables, audit });
        }
    }

    /// A person takes a task, or finishes it.
    pub(super) fn person(&mut self) {
        let Some(instance) = self.some_live() else { return };
        let Some(row) = self.journal.rows.get(&instance) else { return };
        let open = row.open.tasks.iter().find(|(_, task)| task.kind == TaskKind::User);
        let Some(task) = open.map(|(key, _)| TaskId(key.of(instance))) else { return };
        if self.load.chance.percent(30) {
            let assignee = Some("cleo".to_owned());
            self.ask("assign", Command::Assign { task, assignee });
        } else {
            let report = Report::Completed(self.load.payload());
            self.ask("complete by a person", Command::Report { task, token: None, report });
        }
    }
}
