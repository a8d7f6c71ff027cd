//! Checks that no instance is a zombie: a running instance waits for something or has an incident.
//!
//! It runs after every line of every scenario, in every notation and on every rig. The simulator
//! has the same check for its own runs (`finally_no_instance_is_orphaned`).

use meantime_core::{SCHEDULE_DEFINITION, WaitingKind};
use meantime_kernel::schedule::ScheduleView;
use meantime_kernel::store::{InstanceRow, Phase};

use super::player::Player;
use crate::checker::has_open_wait;
use crate::harness::block_on;

impl Player<'_> {
    /// Panics if an instance is running, has nothing open and no incident.
    pub(super) fn run_watchdog(&mut self) {
        let store = self.sim.store.clone();
        for (name, row) in self.tracer.instances(&*store) {
            let runs = matches!(row.phase, Phase::Running | Phase::Closing);
            // A suspended instance waits for an operator.
            let runs = runs && row.meta.suspended.is_none();
            if runs && !has_open_wait(&row) && !self.waits_for_closed_effect(&row) {
                let phase = row.phase.name();
                panic!("{name} is {phase}, waits for nothing and has no incident: a zombie");
            }
        }
    }

    /// Whether the instance waits for something that is not in its open list: only the notation
    /// knows its steps and conditions, and a paused schedule waits for an operator.
    fn waits_for_closed_effect(&self, row: &InstanceRow) -> bool {
        let found = block_on(self.sim.store.definition(row.definition)).ok().flatten();
        let Some(definition) = found else { return false };
        if definition.name == SCHEDULE_DEFINITION {
            return ScheduleView::read(&row.state).is_some_and(|view| view.paused);
        }
        let Some(notation) = self.notations.get(&definition.notation) else { return false };
        let loaded = self.notations.load(&definition, &self.scenario.limits);
        let Some(loaded) = loaded else { return false };
        let view = notation.inspect(&loaded.definition, &row.state);
        let is_quiet = |kind| matches!(kind, WaitingKind::Step | WaitingKind::Condition);
        view.waiting.iter().any(|waiting| is_quiet(waiting.kind))
    }
}
