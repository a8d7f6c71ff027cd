//! The tour of the README, with the real binary and curl.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::binary::{BINARY, Server, write};

const README: &str = include_str!("../../../../README.md");

/// The commands of the tour, in order.
fn commands() -> String {
    let tour = README.split("### Five minutes with curl").nth(1).expect("the tour");
    let tour = tour.split("\n### ").next().unwrap_or_default();
    let blocks = tour.split("```sh\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

#[test]
fn the_tour_of_the_readme_works() {
    let directory = tempfile::tempdir().expect("a directory");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::os::unix::fs::symlink(examples, directory.path().join("examples")).expect("a link");
    let server = Server::start(directory.path(), &["dev", "--virtual-clock"]);
    let script = commands().replace("http://127.0.0.1:8088", &server.url);
    let script = format!("set -euo pipefail\n{}", script.replace("\ncurl", "\necho; curl"));
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        r#""status":"running""#,
        r#""kind":"timer""#,
        r#""fired":"#,
        r#""type":"send-reminder""#,
        r#""input":{"invoice":"R-17","number":1}"#,
        "waits for",
        r#""output":{"paid":{"amount":119},"afterReminders":1}"#,
        r#""type":"timerCancelled""#,
    ];
    for part in expected {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    // A newcomer's instance is not lost among those of schedules.
    let schedules = server.json(&["schedules"]);
    let schedules = schedules.as_array().expect("a list");
    assert!(schedules.len() >= 2, "the examples are loaded: {schedules:?}");
    assert!(schedules.iter().all(|it| it["state"] == "paused"), "{schedules:?}");
    let started = server.json(&["ps"]);
    let started = started.as_array().expect("a list");
    assert!(started.iter().all(|it| it["definition"] == "dunning"), "{started:?}");
    let listed = format!("{}/api/v1/definitions?limit=1000", server.url);
    let listed = Command::new("curl").args(["-sS", &listed]).output().expect("curl").stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).expect("definitions");
    let items = listed["items"].as_array().expect("a list");
    let replaced = items.iter().find(|it| it["version"] != 1);
    assert_eq!(replaced, None, "an example has a name of its own");
}

/// The commands that `dev` prints work on any port.
#[test]
fn commands_that_dev_prints_work_on_any_port() {
    let directory = tempfile::tempdir().expect("a directory");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::os::unix::fs::symlink(examples, directory.path().join("examples")).expect("a link");
    let mut dev = Command::new(BINARY)
        .args(["dev", "--virtual-clock", "--listen", "127.0.0.1:0"])
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let lines = BufReader::new(dev.stdout.take().expect("a pipe")).lines();
    let lines = lines.map_while(Result::ok).take_while(|line| !line.starts_with("Ctrl-C"));
    let greeting: Vec<String> = lines.collect();
    let tried = greeting.iter().skip_while(|line| *line != "Try this:");
    let commands: Vec<&str> = tried.filter_map(|line| line.strip_prefix("  ")).collect();
    let results = commands.iter().map(|command| {
        let output = Command::new("bash").args(["-c", command]).output().expect("bash");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        (*command, output.status.success(), shown)
    });
    let results: Vec<(&str, bool, String)> = results.collect();
    dev.kill().expect("it ran");
    dev.wait().expect("it ends");
    assert_eq!(results.len(), 3, "{greeting:?}");
    for (command, succeeded, shown) in &results {
        assert!(succeeded, "{command}: {shown}");
    }
    let shown: Vec<&str> = results.iter().map(|(_, _, shown)| shown.as_str()).collect();
    assert!(shown[0].contains(r#""status":"running""#), "{results:?}");
    assert!(shown[1].contains("reminder"), "{results:?}");
    assert!(shown[2].contains(r#""fired":"#), "{results:?}");
}

/// Examples work on any port, and have no warnings.
#[test]
fn examples_name_no_port_and_have_no_warnings() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let output = Command::new(BINARY)
        .args(["validate", "--format", "json"])
        .arg(&examples)
        .output()
        .expect("the binary runs");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["diagnostics"], serde_json::json!([]));
    for notation in ["bpmn", "flows", "journeys"] {
        for entry in std::fs::read_dir(examples.join(notation)).expect("examples") {
            let path = entry.expect("an entry").path();
            let name = path.display().to_string();
            let is_definition =
                [".bpmn", ".flow.js", ".flow.ts", ".yaml"].iter().any(|it| name.ends_with(it));
            let text = std::fs::read_to_string(&path).expect("a text");
            assert!(!is_definition || !text.contains("127.0.0.1"), "{name}");
        }
    }
}

/// A directory is loaded by the rules of a deployment over HTTP.
#[test]
fn dev_refuses_an_api_at_the_path_of_another() {
    let directory = tempfile::tempdir().expect("a directory");
    for name in ["first", "second"] {
        let text = format!(
            "apiVersion: v1\nkind: Api\nmetadata: {{name: {name}, version: 1.0.0}}\nspec:\n  \
             bindings: {{http: {{route: {{path: /both}}}}}}\n  start: done\n  \
             states: {{done: {{type: succeed}}}}\n"
        );
        write(directory.path(), &format!("{name}.journey.yaml"), &text);
    }
    let mut dev = Command::new(BINARY)
        .args(["dev", ".", "--listen", "127.0.0.1:0"])
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let lines = BufReader::new(dev.stdout.take().expect("a pipe")).lines();
    let lines = lines.map_while(Result::ok).take_while(|line| !line.starts_with("Ctrl-C"));
    let greeting: Vec<String> = lines.collect();
    dev.kill().expect("it ran");
    let output = dev.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("J052"), "{told}");
    assert!(told.contains("the API `first` answers at `/both` already"), "{told}");
    assert!(greeting.contains(&"  definitions  first".to_owned()), "{greeting:?}");
}
