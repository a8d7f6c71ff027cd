//! Requirements have tests that are named here: the first scenarios of timers, the rules B1 to B10,
//! and points that engines often get wrong. A test that is renamed or removed fails this check.

#![expect(clippy::disallowed_methods, reason = "tests read their data")]

use std::path::Path;

/// The scenarios for timer events, each with the behaviour or test that covers it.
const SCENARIOS: [(&str, &str); 12] = [
    (
        "workflow reaches timer, reminder fires, workflow resumes and completes",
        "b3_workflow_reaches_timer_reminder_fires_workflow_resumes_and_completes",
    ),
    (
        "timer definition parsing: duration, date, cycle expressions",
        "timer_definition_parsing_duration_date_and_cycle_expressions",
    ),
    (
        "sequential chaining: timer between two tasks",
        "b3_sequential_chaining_timer_between_two_tasks",
    ),
    ("variable state preserved across suspension", "b3_variable_state_preserved_across_suspension"),
    (
        "timer fires before activity completes: interrupts, follows boundary flow",
        "b4_timer_fires_before_activity_completes_interrupts_follows_boundary_flow",
    ),
    (
        "activity completes before timer: boundary discarded, normal flow continues",
        "b4_activity_completes_before_timer_boundary_discarded_normal_flow_continues",
    ),
    ("reminder cleanup on normal completion", "b4_reminder_cleanup_on_normal_completion"),
    (
        "scheduler creates workflow instance on timer fire",
        "b8_scheduler_creates_workflow_instance_on_timer_fire",
    ),
    ("cycle timer creates N instances then stops", "b8_cycle_timer_creates_n_instances_then_stops"),
    ("scheduler unregisters on undeploy", "b8_scheduler_unregisters_on_undeploy"),
    (
        "XML round-trip for all three timer event types",
        "xml_round_trip_for_all_three_timer_event_types",
    ),
    (
        "timer definition parsing for duration, date and cycle types",
        "timer_definition_parsing_for_duration_date_and_cycle_types",
    ),
];

/// Points that are easily got wrong, each with the behaviours that cover it.
const POINTS: [(&str, &[&str]); 13] = [
    (
        "inclusive join",
        &[
            "inclusive_takes_every_flow_that_holds",
            "inclusive_join_after_an_interruption",
            "inclusive_join_follows_links",
            "inclusive_join_is_looked_at_again_when_a_token_dies",
            "inclusive_join_sees_boundary_events",
            "inclusive_join_tolerates_loops",
            "inclusive_join_with_several_tokens_on_one_path",
            "inclusive_without_a_match_is_an_incident",
        ],
    ),
    (
        "parallel join in loops",
        &[
            "parallel_join_in_a_loop",
            "parallel_join_counts_flows_not_tokens",
            "parallel_join_keeps_the_surplus_for_the_next_round",
            "parallel_gateway_joins_and_forks_at_once",
        ],
    ),
    (
        "exclusive",
        &[
            "exclusive_first_true_in_document_order",
            "exclusive_default_condition_is_ignored",
            "exclusive_without_a_match_is_an_incident",
        ],
    ),
    ("uncontrolled flow", &["uncontrolled_flow_forks"]),
    (
        "interrupting event sub-process",
        &[
            "interrupting_event_sub_process_ends_everything_in_its_scope",
            "interrupted_scope_can_still_be_interrupted_from_outside",
        ],
    ),
    (
        "boundary vs completion race",
        &[
            "b4_boundary_vs_completion_race",
            "b4_timer_fires_before_activity_completes_interrupts_follows_boundary_flow",
        ],
    ),
    (
        "multi-instance",
        &[
            "multi_instance_of_nothing",
            "multi_instance_order_is_the_order_of_items",
            "multi_instance_completion_condition",
            "multi_instance_condition_sees_the_iteration",
            "multi_instance_parallel",
            "multi_instance_sequential",
            "multi_instance_nested",
            "b6_one_timer_on_the_whole_multi_instance",
        ],
    ),
    (
        "compensation",
        &[
            "compensation_only_of_what_was_completed",
            "compensation_in_reverse_order",
            "compensation_of_each_iteration",
            "compensation_of_each_round_of_a_loop",
            "compensation_of_one_activity",
            "compensation_of_the_inside_of_a_sub_process",
            "compensation_is_not_for_children",
            "compensation_is_dropped_with_its_scope",
        ],
    ),
    (
        "error and escalation",
        &[
            "error_of_a_worker_is_caught",
            "error_event_sub_process_before_the_boundary",
            "error_walks_outwards",
            "error_crosses_a_call_activity",
            "error_exact_code_before_any",
            "error_uncaught_is_an_incident",
            "escalation_goes_on_beside",
            "escalation_interrupts",
            "escalation_crosses_a_call_activity",
            "escalation_nobody_caught_is_harmless",
        ],
    ),
    (
        "terminate end",
        &[
            "terminate_ends_its_own_scope",
            "terminate_ends_the_process",
            "terminate_in_a_child_ends_the_child",
        ],
    ),
    (
        "messages",
        &[
            "message_catch_and_correlation",
            "message_waits_for_its_catcher",
            "message_ids_are_taken_once",
            "message_reaches_one_instance",
            "message_start",
            "message_boundary_takes_many",
        ],
    ),
    (
        "event-based gateway",
        &[
            "b9_event_based_gateway_timer_wins",
            "b9_event_based_gateway_message_wins",
            "b9_event_based_gateway_equal_due_times_take_one_branch",
        ],
    ),
    ("scope end", &["b7_scope_end_does_not_wait_for_armed_timers"]),
];

/// Test functions outside of the corpus.
const SOURCES: [&str; 2] = ["tests/reading.rs", "../server/tests/round_trip.rs"];

fn exists(name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_function = |source: &&str| {
        let text = std::fs::read_to_string(root.join(source)).unwrap_or_default();
        text.contains(&format!("fn {name}("))
    };
    root.join(format!("tests/corpus/{name}.md")).exists() || SOURCES.iter().any(is_function)
}

#[test]
fn every_scenario_is_a_test_under_its_own_name() {
    for (scenario, name) in SCENARIOS {
        assert!(exists(name), "{scenario}: there is no test {name}");
        let words = scenario.to_lowercase().replace(|c: char| !c.is_alphanumeric(), " ");
        for word in words.split_whitespace() {
            assert!(name.contains(word), "{name} does not say {word:?} of {scenario:?}");
        }
    }
}

#[test]
fn every_point_is_a_test_under_its_own_name() {
    for (point, names) in POINTS {
        for name in names {
            assert!(exists(name), "{point}: there is no behaviour {name}");
        }
    }
}

#[test]
fn every_rule_about_timers_has_behaviours_under_its_number() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let names: Vec<String> = std::fs::read_dir(corpus)
        .expect("the corpus is there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    for rule in 1..=10 {
        let prefix = format!("b{rule}_");
        assert!(names.iter().any(|name| name.starts_with(&prefix)), "B{rule}");
    }
    assert!(names.len() >= 150, "{} behaviours", names.len());
}
