//! Checkers of promises, for simulations, kill rigs and whoever has a history to check.
//!
//! | name | when | sees |
//! |---|---|---|
//! | `anytime_*` | at every commit and every answer | one [`Step`], or one answer |
//! | `eventually_*` | when everything has settled | a [`Chronicle`] |
//! | `finally_*` | at the end, over the whole history | a [`Chronicle`] |
//!
//! They look at rows, history and what callers were told, and share no code with the kernel that
//! made them. One file is one promise; K1 to K14 are the numbers of the list of checkers.

mod all;
mod anytime_acknowledged_is_present;
mod anytime_claims_are_contiguous;
mod anytime_due_instants_stay;
mod anytime_effect_keys_are_new;
mod anytime_losers_are_cancelled;
mod anytime_numbers_are_given_once;
mod anytime_open_list_is_explained;
mod anytime_state_is_what_was_computed;
mod anytime_terminal_is_absorbing;
mod anytime_timers_fire_when_due;
mod anytime_turns_are_contiguous;
mod chronicle;
mod eventually_callers_are_answered;
mod eventually_due_timers_fire;
mod eventually_ready_instances_turn;
mod eventually_tasks_are_offered;
mod finally_counts_add_up;
mod finally_due_moments_are_closed;
mod finally_history_is_a_chain;
mod finally_messages_are_conserved;
mod finally_no_match_is_missed;
mod finally_nobody_is_orphaned;
mod finally_occurrences_are_decided_once;
mod finally_refused_left_nothing;
mod finally_replay_gives_the_state;
mod finally_rows_agree;
mod finally_signals_are_conserved;
mod finally_signals_keep_their_order;
mod finally_starts_happen_once;
mod finally_tasks_have_one_outcome;
mod rows;
mod serial;
mod step;
mod violation;

pub use all::{
    anytime, anytime_answer, anytime_number, anytime_task, at_rest, eventually_and_finally,
};
pub use anytime_claims_are_contiguous::TaskStep;
pub use anytime_numbers_are_given_once::Numbers;
pub use chronicle::{Call, Cause, Chronicle, TurnSeen};
pub use finally_nobody_is_orphaned::has_open;
pub use rows::{Rows, Waiting};
pub use serial::serial;
pub use step::Step;
pub use violation::{Findings, Violation};
