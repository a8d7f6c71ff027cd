//! The bodies of injected bugs that need more than a line; see [`crate::fault_injection`].

use meantime_core::{Execution, Timestamp};

use super::batch::{Batch, UnitOrigin};
use super::engine::Machine;
use super::turn_builder::TurnBuilder;
use crate::open::Key;
use crate::store::Write;

impl Machine {
    /// `AnswerBeforeCommit`: sends replies whose turn is not committed yet.
    pub(super) fn answer_early(&mut self, batch: &mut Batch) {
        for entry in &mut batch.entries {
            let Some(builder) = &entry.builder else { continue };
            for (number, pending) in entry.items.iter_mut().enumerate() {
                if let Some(answer) = builder.answers.get(&number) {
                    let ticket = pending.ticket.take();
                    self.reply(ticket, answer.clone());
                }
            }
        }
    }

    /// `DispatchBeforeCommit`: applies cache updates of turns that are not committed yet.
    pub(super) fn apply_cache_updates_early(&mut self, batch: &mut Batch) {
        for part in &mut batch.origins {
            let UnitOrigin::Turn(_, _, cache_updates) = part else { continue };
            for cache_update in cache_updates.drain(..) {
                self.apply_cache_update(cache_update);
            }
        }
    }
}

impl TurnBuilder {
    /// `RecomputeDeadline`: measures the deadline from now, without a history record.
    pub(super) fn recompute_deadline(&mut self, execution: Option<&Execution>, now: Timestamp) {
        let Some(due_at) = execution.and_then(|it| it.max_duration.add_to(now, &it.zone).ok())
        else {
            return;
        };
        let id = self.row.id.deadline_timer().0;
        if let Some(timer) = self.row.open.timers.get_mut(&Key::DEADLINE) {
            let from = timer.row_key(id);
            timer.due_at = due_at;
            let to = timer.row_key(id);
            self.writes.push(Write::MoveTimer { from, to });
            self.row.deadline_at = Some(due_at);
        }
    }
}
