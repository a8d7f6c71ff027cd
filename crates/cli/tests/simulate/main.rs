//! Tests of `meantime simulate` and `meantime test`, with the real binary and the examples.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use expect_test::expect;
use serde_json::Value;

fn meantime(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meantime"));
    command.args(arguments).current_dir(directory).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A directory with files.
fn files(all: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in all {
        std::fs::write(directory.path().join(name), text).expect("it is written");
    }
    directory
}

const ORDER: &str = r#"
const receipt = await Task.run("charge", { amount: Inputs.amount })
const first = await Task.race({ paid: Signal.next("paid"), silence: Task.delay("P7D") })
return { receipt, paid: first.key == "paid" }
"#;

#[test]
fn every_test_file_of_the_examples_passes() {
    let run = meantime(&["test", ".", "--format", "json"], &examples());
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(report["failed"], 0, "{report:#}");
    assert!(report["cases"].as_u64() >= Some(30), "{report:#}");
    assert!(run.status.success());
}

#[test]
fn a_simulation_prints_what_happens_with_its_instants() {
    let directory = files(&[
        ("order.flow.js", ORDER),
        ("stubs.yaml", "tasks:\n  charge: { returns: r-1, takes: PT2S }\n"),
    ]);
    let arguments = ["simulate", "order.flow.js", "--stubs", "stubs.yaml", "--input"];
    let more = [r#"{"amount": 5}"#, "--from", "2026-03-01T09:00:00Z"];
    let run = meantime(&[&arguments[..], &more[..]].concat(), directory.path());
    expect![[r#"
        2026-03-01T09:00:00Z                +0  order  started
                                                order  task charge scheduled
        2026-03-01T09:00:02Z               +2s  order  task charge completed
                                                order  timer 3:69 armed for 2026-03-08T09:00:02Z
        2026-03-08T09:00:02Z               +7d  order  timer 3:69 fired
                                                order  completed

        order: completed {"receipt":"r-1","paid":false}

        Nobody answers (give a stub, or --complete-tasks for worker tasks):
          signals: paid
    "#]]
    .assert_eq(&text(&run.stdout));
    assert!(run.status.success(), "{}", text(&run.stderr));
}

/// The same seed gives the same simulation, random numbers of the script included.
#[test]
fn a_simulation_can_be_repeated_by_its_seed() {
    let script = "await Task.run(\"a\")\nreturn Math.random()\n";
    let stubs = "tasks:\n  a: { takesBetween: [PT1S, PT1H], failureRate: 0.5, fails: { code: X, retryable: true } }\n";
    let directory = files(&[("random.flow.js", script), ("stubs.yaml", stubs)]);
    let run = |seed: &str| {
        let arguments = ["simulate", "random.flow.js", "--stubs", "stubs.yaml", "--format", "json"];
        let more = ["--from", "2026-03-01T09:00:00Z", "--seed", seed];
        text(&meantime(&[&arguments[..], &more[..]].concat(), directory.path()).stdout)
    };
    let first = run("7");
    assert_eq!(first, run("7"));
    assert_ne!(first, run("8"));
}

#[test]
fn branches_are_all_combinations_of_declared_outcomes() {
    let stubs = "tasks:
  charge:
    oneOf:
      - { name: works, returns: r-1, takes: PT1S }
      - { name: fails, fails: { code: STOLEN } }
signals:
  paid:
    oneOf:
      - { name: early, takes: P1D }
      - { name: never, never: true }
";
    let directory = files(&[("order.flow.js", ORDER), ("stubs.yaml", stubs)]);
    let arguments = ["simulate", "order.flow.js", "--stubs", "stubs.yaml", "--branches", "10"];
    let more = ["--from", "2026-03-01T09:00:00Z", "--input", r#"{"amount": 5}"#];
    let run = meantime(&[&arguments[..], &more[..]].concat(), directory.path());
    expect![[r#"
        tasks.charge = works
          signals.paid = early
            ends 2026-03-02T09:00:01Z: completed {"receipt":"r-1","paid":true}
          signals.paid = never
            ends 2026-03-08T09:00:01Z: completed {"receipt":"r-1","paid":false}
        tasks.charge = fails
          ends 2026-03-01T09:00:00Z: failed STOLEN: 

        3 futures: the earliest end is 2026-03-01T09:00:00Z, the latest 2026-03-08T09:00:01Z
    "#]]
    .assert_eq(&text(&run.stdout));
    let few = ["simulate", "order.flow.js", "--stubs", "stubs.yaml", "--branches", "2"];
    let run = meantime(&[&few[..], &more[..]].concat(), directory.path());
    assert!(text(&run.stdout).contains("There are more futures"), "{}", text(&run.stdout));
}

/// A schedule starts the runs of the simulated time.
#[test]
fn definitions_with_a_schedule_are_started_by_it() {
    let script =
        "/* meantime\nschedule:\n  cron: \"0 6 * * *\"\n*/\nreturn await Task.run(\"a\")\n";
    let directory = files(&[("daily.flow.js", script)]);
    let arguments = ["simulate", "daily.flow.js", "--complete-tasks", "--format", "json"];
    let more = ["--from", "2026-03-01T09:00:00Z", "--until", "P30D"];
    let run = meantime(&[&arguments[..], &more[..]].concat(), directory.path());
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(report["instances"].as_array().map(Vec::len), Some(30));
    assert_eq!(report["instances"][0]["startedAt"], "2026-03-02T06:00:00Z");
    assert_eq!(report["stopped"], "horizon");
}

/// What happens in a simulation happens on a server with a virtual clock: the instants come from
/// the same engine, and answers that are too late come to nothing.
#[test]
fn an_answer_after_a_timeout_comes_to_nothing() {
    let script =
        "try { await Task.run(\"slow\", 1, { timeout: \"PT1M\", retry: { maxAttempts: 1 } }) }
catch (error) { await Task.delay(\"PT1H\"); return error.name }\n";
    let stubs = "tasks:\n  slow: { takes: PT10M }\n";
    let directory = files(&[("late.flow.js", script), ("stubs.yaml", stubs)]);
    let arguments = ["simulate", "late.flow.js", "--stubs", "stubs.yaml", "--format", "json"];
    let more = ["--from", "2026-03-01T09:00:00Z"];
    let run = meantime(&[&arguments[..], &more[..]].concat(), directory.path());
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(report["instances"][0]["output"], "TaskTimeout", "{report:#}");
    assert_eq!(report["now"], "2026-03-01T10:01:00Z");
    let lost =
        report["trace"].as_array().into_iter().flatten().find(|it| it["type"] == "answerLost");
    assert_eq!(lost.map(|it| &it["code"]), Some(&Value::from("lease_lost")), "{report:#}");
}

#[test]
fn a_case_that_fails_says_what_differs_and_what_happened() {
    let tests = "definition: order.flow.js
stubs: { tasks: { charge: { returns: r-1 } } }
cases:
  - name: nobody pays
    input: { amount: 5 }
    expect: { status: completed, output: { paid: true } }
  - name: somebody pays
    input: { amount: 5 }
    steps:
      - signal: { name: paid }
      - expect: { status: completed, output: { paid: true }, calls: [ { task: charge, input: { amount: 5 } } ] }
";
    let directory = files(&[("order.flow.js", ORDER), ("order.test.yaml", tests)]);
    let run = meantime(&["test", "--junit", "report.xml"], directory.path());
    assert_eq!(run.status.code(), Some(1));
    expect![[r"
        FAILED ./order.test.yaml (2 cases)

          nobody pays
            output.paid: expected true, got false

            what happened:
              2026-01-01T00:00:00Z                +0  order  started
                                                      order  task charge scheduled
                                                      order  task charge completed
                                                      order  timer 3:69 armed for 2026-01-08T00:00:00Z
              2026-01-08T00:00:00Z               +7d  order  timer 3:69 fired
                                                      order  completed
        FAILED: 2 cases, 1 failed
    "]]
    .assert_eq(&text(&run.stdout));
    let junit = std::fs::read_to_string(directory.path().join("report.xml")).expect("a report");
    assert!(junit.contains("tests=\"2\" failures=\"1\""), "{junit}");
    let one = meantime(&["test", "--filter", "somebody"], directory.path());
    assert!(one.status.success(), "{}", text(&one.stdout));
}

#[test]
fn bad_files_are_refused_with_their_place() {
    let cases = [
        ("definition: order.flow.js\ncases: []\n", "`cases` is empty"),
        ("definition: order.flow.js\ncases:\n  - name: a\n", "it expects nothing"),
        (
            "definition: order.flow.js\ncases:\n  - name: a\n    steps: [ { advance: PT1H, cancel: {} } ]\n",
            "a step is one of",
        ),
        ("definition: order.flow.js\ncases:\n  - nome: a\n", "order.test.yaml:3:"),
        ("definition: missing.flow.js\ncases:\n  - name: a\n    expect: {}\n", "missing.flow.js"),
    ];
    for (tests, expected) in cases {
        let directory = files(&[("order.flow.js", ORDER), ("order.test.yaml", tests)]);
        let run = meantime(&["test"], directory.path());
        assert_eq!(run.status.code(), Some(2), "{tests}");
        assert!(text(&run.stderr).contains(expected), "{expected}: {}", text(&run.stderr));
    }
    let broken = files(&[("order.flow.js", "let let = 1")]);
    let run = meantime(&["simulate", "order.flow.js"], broken.path());
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("error[F"), "{}", text(&run.stderr));
}
