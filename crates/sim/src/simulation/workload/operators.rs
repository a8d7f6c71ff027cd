//! Operators: cancels, variables, timers, incidents, and user tasks.

use meantime_core::{TaskId, TaskKind, TimerId};
use meantime_kernel::command::{Command, Report, TimerEdit};
use meantime_kernel::store::Page;

use crate::harness::block_on;
use crate::simulation::run::Simulation;

impl Simulation {
    pub(super) fn cancel_instance(&mut self) {
        let Some(instance) = self.random_instance() else { return };
        let audit = self.workload.audit();
        self.send_command("cancel", Command::Cancel { instance, audit });
    }

    pub(super) fn set_random_variables(&mut self) {
        let Some(instance) = self.random_instance() else { return };
        let (values, audit) = (self.workload.random_variables(), self.workload.audit());
        self.send_command(
            "set variables",
            Command::SetVariables { instance, values, scope: None, audit },
        );
    }

    /// Moves, fires, freezes or releases a random open timer.
    pub(super) fn edit_random_timer(&mut self) {
        let Some(instance) = self.random_live_instance() else { return };
        let Some(row) = self.commit_log.rows.get(&instance) else { return };
        let keys: Vec<_> = row.open.timers.keys().copied().collect();
        let Some(key) = self.workload.rng.pick_optional(&keys) else { return };
        let timer = TimerId(key.of(instance));
        let now = self.now();
        let rng = &mut self.workload.rng;
        let (name, edit) = match rng.below(4) {
            0 => {
                let ms = rng.pick(&[-5_000, 0, 10, 2_000, 600_000]);
                ("move timer", TimerEdit::Move(now.saturating_add_millis(ms)))
            }
            1 => ("fire timer", TimerEdit::Fire),
            2 => ("freeze timer", TimerEdit::Freeze),
            _ => ("release timer", TimerEdit::Release),
        };
        let audit = self.workload.audit();
        self.send_command(name, Command::EditTimer { timer, edit, audit });
    }

    pub(super) fn answer_random_incident(&mut self) {
        let rows = block_on(self.store.incidents(None, Page::first(30))).unwrap_or_default();
        let Some(row) = self.workload.rng.pick_optional(&rows) else { return };
        let (incident, audit) = (row.id, self.workload.audit());
        if self.workload.rng.percent(70) {
            self.send_command("retry incident", Command::RetryIncident { incident, audit });
        } else {
            let variables = self.workload.random_variables();
            self.send_command(
                "resolve incident",
                Command::ResolveIncident { incident, variables, audit },
            );
        }
    }

    /// A person claims or completes a user task.
    pub(super) fn act_as_person(&mut self) {
        let Some(instance) = self.random_live_instance() else { return };
        let Some(row) = self.commit_log.rows.get(&instance) else { return };
        let open = row.open.tasks.iter().find(|(_, task)| task.kind == TaskKind::User);
        let Some(task) = open.map(|(key, _)| TaskId(key.of(instance))) else { return };
        if self.workload.rng.percent(30) {
            let assignee = Some("cleo".to_owned());
            self.send_command("assign", Command::Assign { task, assignee });
        } else {
            let report = Report::Completed(self.workload.payload());
            self.send_command(
                "complete by a person",
                Command::Report { task, token: None, report },
            );
        }
    }
}
