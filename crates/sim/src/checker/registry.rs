//! Every checker by its name.

use meantime_core::InstanceId;
use meantime_kernel::command::{Command, Reply};
use meantime_kernel::store::Store;

use super::committed_turn::CommittedTurn;
use super::run_record::RunRecord;
use super::violation::{Findings, Violation};
use super::{
    HistoryNumbers, TaskChange, anytime_acknowledged_is_present, anytime_effects, anytime_numbers,
    anytime_open_list_is_explained, anytime_timers, anytime_turns, eventually,
    finally_counts_add_up, finally_due_moments_are_closed, finally_history_is_a_chain,
    finally_messages_are_conserved, finally_no_instance_is_orphaned, finally_no_match_is_missed,
    finally_occurrences_are_decided_once, finally_refused_left_nothing,
    finally_replay_gives_the_state, finally_rows_agree, finally_signals_are_conserved,
    finally_signals_keep_their_order, finally_starts_happen_once, finally_tasks_have_one_outcome,
};

type CommitCheck = fn(&CommittedTurn<'_>, &mut Findings<'_>);
type RunCheck = fn(&RunRecord, &mut Findings<'_>);

const COMMIT_CHECKS: [(&str, CommitCheck); 8] = [
    ("anytime_turns_are_contiguous", anytime_turns::turns_are_contiguous),
    ("anytime_terminal_is_absorbing", anytime_turns::terminal_is_absorbing),
    ("anytime_timers_fire_when_due", anytime_timers::timers_fire_when_due),
    ("anytime_due_instants_stay", anytime_timers::due_instants_stay),
    ("anytime_effect_keys_are_new", anytime_effects::effect_keys_are_new),
    ("anytime_cancelled_waits_are_closed", anytime_effects::cancelled_waits_are_closed),
    ("anytime_open_list_is_explained", anytime_open_list_is_explained::check),
    ("anytime_state_is_what_was_computed", anytime_turns::state_is_what_was_computed),
];

const RUN_CHECKS: [(&str, RunCheck); 18] = [
    ("eventually_ready_instances_turn", eventually::ready_instances_turn),
    ("eventually_due_timers_fire", eventually::due_timers_fire),
    ("eventually_tasks_are_offered", eventually::tasks_are_offered),
    ("eventually_callers_are_answered", eventually::callers_are_answered),
    ("finally_rows_agree", finally_rows_agree::check),
    ("finally_no_instance_is_orphaned", finally_no_instance_is_orphaned::check),
    ("finally_no_match_is_missed", finally_no_match_is_missed::check),
    ("finally_starts_happen_once", finally_starts_happen_once::check),
    ("finally_refused_left_nothing", finally_refused_left_nothing::check),
    ("finally_signals_are_conserved", finally_signals_are_conserved::check),
    ("finally_signals_keep_their_order", finally_signals_keep_their_order::check),
    ("finally_messages_are_conserved", finally_messages_are_conserved::check),
    ("finally_tasks_have_one_outcome", finally_tasks_have_one_outcome::check),
    ("finally_due_moments_are_closed", finally_due_moments_are_closed::check),
    ("finally_occurrences_are_decided_once", finally_occurrences_are_decided_once::check),
    ("finally_history_is_a_chain", finally_history_is_a_chain::check),
    ("finally_counts_add_up", finally_counts_add_up::check),
    ("finally_replay_gives_the_state", finally_replay_gives_the_state::check),
];

/// Checkers that need neither turns nor calls, and that hold while work is in progress.
const ROW_CHECKS: [&str; 4] = [
    "finally_rows_agree",
    "finally_no_instance_is_orphaned",
    "finally_due_moments_are_closed",
    "finally_history_is_a_chain",
];

/// Checks a unit that changed an instance.
pub fn check_commit(step: &CommittedTurn<'_>, violations: &mut Vec<Violation>) {
    for (name, check) in COMMIT_CHECKS {
        check(step, &mut Findings::new(name, violations));
    }
}

/// Checks a number that was assigned to a history row.
pub fn check_history_number(
    numbers: &mut HistoryNumbers,
    number: u64,
    instance: InstanceId,
    violations: &mut Vec<Violation>,
) {
    let name = "anytime_history_numbers_are_unique";
    numbers.check(number, instance, &mut Findings::new(name, violations));
}

/// Checks a write that changed a task.
pub fn check_task_change(step: TaskChange, violations: &mut Vec<Violation>) {
    let name = "anytime_claims_are_contiguous";
    anytime_numbers::claims_are_contiguous(step, &mut Findings::new(name, violations));
}

/// Checks a successful answer at the moment at which it is given.
pub fn check_answer(
    store: &dyn Store,
    command: &Command,
    reply: &Reply,
    violations: &mut Vec<Violation>,
) {
    let name = "anytime_acknowledged_is_present";
    anytime_acknowledged_is_present::check(
        store,
        command,
        reply,
        &mut Findings::new(name, violations),
    );
}

/// Checks the rows alone, at any moment, also right after a process died.
pub fn check_rows_at_rest(run: &RunRecord, violations: &mut Vec<Violation>) {
    for (name, check) in RUN_CHECKS.into_iter().filter(|(name, _)| ROW_CHECKS.contains(name)) {
        check(run, &mut Findings::new(name, violations));
    }
}

/// Checks a whole run, when nothing is in progress any more.
pub fn check_run(run: &RunRecord, violations: &mut Vec<Violation>) {
    for (name, check) in RUN_CHECKS {
        check(run, &mut Findings::new(name, violations));
    }
}
