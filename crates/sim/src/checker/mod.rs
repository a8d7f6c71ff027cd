//! Checkers of the promises of the engine, used by the simulator and the rigs.
//!
//! | name | when | sees |
//! |---|---|---|
//! | `anytime_*` | at every commit and every answer | one [`CommittedTurn`], or one answer |
//! | `eventually_*` | when nothing is in progress any more | a [`RunRecord`] |
//! | `finally_*` | at the end, over the whole history | a [`RunRecord`] |
//!
//! They read rows, history and the answers of callers, and share no code with the kernel that
//! produced them. A file holds the checkers of one subject; K1 to K14 are the numbers of the list
//! of checkers.

mod anytime_acknowledged_is_present;
mod anytime_effects;
mod anytime_numbers;
mod anytime_open_list_is_explained;
mod anytime_timers;
mod anytime_turns;
mod committed_turn;
mod eventually;
mod finally_counts_add_up;
mod finally_due_moments_are_closed;
mod finally_history_is_a_chain;
mod finally_messages_are_conserved;
mod finally_no_instance_is_orphaned;
mod finally_no_match_is_missed;
mod finally_occurrences_are_decided_once;
mod finally_refused_left_nothing;
mod finally_replay_gives_the_state;
mod finally_rows_agree;
mod finally_signals_are_conserved;
mod finally_signals_keep_their_order;
mod finally_starts_happen_once;
mod finally_tasks_have_one_outcome;
mod registry;
mod run_record;
mod stored_rows;
mod violation;

pub use anytime_numbers::{HistoryNumbers, TaskChange};
pub use committed_turn::CommittedTurn;
pub use finally_no_instance_is_orphaned::has_open_wait;
pub use registry::{
    check_answer, check_commit, check_history_number, check_rows_at_rest, check_run,
    check_task_change,
};
pub use run_record::{CallRecord, ObservedTurn, RunRecord, TurnCause, payload_serial};
pub use stored_rows::{StoredRows, StoredWaits};
pub use violation::{Findings, Violation};
