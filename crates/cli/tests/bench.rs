//! The figures that the bench counts are correct and stay within their bounds. Times are not
//! checked, because machines differ.

use std::process::Command;

fn bench(what: &str, arguments: &[&str]) -> serde_json::Value {
    let directory = tempfile::tempdir().expect("a directory");
    let place = format!("sqlite:{}", directory.path().display());
    let output = Command::new(env!("CARGO_BIN_EXE_meantime"))
        .args(["bench", what, "--format", "json", "--db", &place])
        .args(arguments)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let left = std::fs::read_dir(directory.path()).expect("readable").count();
    assert_eq!(left, 0, "the bench removes what it made");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn figure(report: &serde_json::Value, name: &str) -> f64 {
    let figures = report["figures"].as_array().expect("a list");
    let found = figures.iter().find(|figure| figure["name"].as_str() == Some(name));
    let found = found.unwrap_or_else(|| panic!("no figure {name:?} in {report:#}"));
    found["value"].as_f64().expect("a number")
}

#[test]
fn a_one_task_instance_stays_cheap() {
    let report = bench("kernel", &["--only", "task", "--scale", "0.2"]);
    let near = |name: &str, value: f64| (figure(&report, name) - value).abs() < 1e-9;
    assert!(near("row writes", 7.0), "{report:#}");
    assert!(near("commits, and as many syncs", 3.0), "{report:#}");
    let log = figure(&report, "log, groups of 64, state of 100 bytes");
    assert!(log <= 2_600.0, "{log} bytes of log: more rows, larger rows or another index?");
}

#[test]
fn every_scenario_runs_and_kills_its_parts() {
    let scenarios = "turns,timers,sleeping,flood";
    let small = ["--only", scenarios, "--scale", "0.0001", "--seconds", "1"];
    let report = bench("kernel", &small);
    assert!(figure(&report, "1-turn instances, 64 callers") > 0.0);
    assert!(figure(&report, "100 overdue timers fired") > 0.0);
    assert!(figure(&report, "ready after kill -9") > 0.0);
}

#[test]
fn states_of_flow_scripts_stay_small_and_fan_outs_need_few_turns() {
    let report = bench("flow", &["--scale", "0.0001", "--seconds", "1"]);
    assert!(figure(&report, "state of a workflow that waits for one task") <= 400.0);
    assert!(figure(&report, "state of a 100-way Task.all") <= 8_192.0);
    assert!(figure(&report, "workflows of 5 tasks in a row") > 0.0);
    // A thousand results in claims of 256 arrive in a few batches.
    assert!(figure(&report, "1,000-way Task.all, turns p50") <= 50.0);
}

#[test]
fn a_place_that_is_not_there_is_refused_by_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_meantime"))
        .args(["bench", "kernel", "--db", "sqlite:no/such/directory"])
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("no/such/directory is not a directory"), "{text}");
}

#[test]
fn a_server_is_measured_over_http() {
    let report = bench("http", &["--scale", "0.01", "--seconds", "1"]);
    for connections in [1, 64, 256] {
        let ends = figure(&report, &format!("flows that end at once, {connections} connections"));
        let tasks =
            figure(&report, &format!("flows of one task, {connections} connections, batches"));
        assert!(ends > 0.0 && tasks > 0.0, "{report:#}");
    }
    assert!(figure(&report, "start to completion, rate") > 0.0);
}

#[test]
fn a_server_is_measured_under_overload() {
    let report = bench("overload", &["--scale", "0.01", "--seconds", "1"]);
    for share in ["0.5", "1", "3"] {
        assert!(figure(&report, &format!("accepted at {share} of the peak")) > 0.0, "{report:#}");
    }
}

#[test]
fn journeys_and_processes_are_measured_over_http() {
    let report = bench("journey", &["--scale", "0.001", "--seconds", "1"]);
    let name = "journeys of three transforms and a choice, 64 connections";
    assert!(figure(&report, name) > 0.0);
    assert!(figure(&report, "firing 100, beside 100 that are parked") > 0.0);
    let report = bench("bpmn", &["--scale", "0.01", "--seconds", "1"]);
    assert!(figure(&report, "start, service task, gateway, end; 64 connections, batches") > 0.0);
    assert!(figure(&report, "timers left of 100, half cancelled, half fired") < 1.0);
}

/// A few small variants of every kind of poison; rates and times are not checked.
#[test]
fn poison_leaves_the_server_ready_can_be_cancelled_and_does_not_keep_the_store_shut() {
    let small = ["--seed", "7", "--variants", "12", "--scale", "0.01", "--seconds", "1"];
    let report = bench("isolation", &small);
    let none = |name: &str| assert!(figure(&report, name) < 1.0, "{name}: {report:#}");
    none("times that /readyz did not say 200");
    none("stores that did not open again");
    none("instances left after the cancel");
    let tried = figure(&report, "variants that ran");
    let refused = figure(&report, "variants refused at deploy");
    assert!((tried + refused - 12.0).abs() < 1e-9, "{report:#}");
    assert!(tried >= 10.0, "little is left of the poison: {report:#}");
    assert!(figure(&report, "times that /readyz was asked") >= tried, "{report:#}");
    assert!(figure(&report, "instances that ran after the restart") > 0.0, "{report:#}");
    assert!(figure(&report, "starts of others") > 0.0, "{report:#}");
}
