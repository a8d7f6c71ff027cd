//! The tour of the README, with the real binary and curl.

use std::path::Path;
use std::process::Command;

use crate::binary::Server;

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
    let billing = server.json(&["ps", "--definition", "billing"]);
    assert_eq!(billing[0]["notation"], "flow", "the examples are loaded, and their schedules run");
    let listed = format!("{}/api/v1/definitions?limit=1000", server.url);
    let listed = Command::new("curl").args(["-sS", &listed]).output().expect("curl").stdout;
    let listed: serde_json::Value = serde_json::from_slice(&listed).expect("definitions");
    let items = listed["items"].as_array().expect("a list");
    let replaced = items.iter().find(|it| it["version"] != 1);
    assert_eq!(replaced, None, "an example has a name of its own");
}
