//! Commands that operate on instances, tasks, timers and schedules, with the real binary.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::binary::{BINARY, Server, write};

const CLOCK: &[&str] = &["--virtual-clock", "2026-01-01T00:00:00Z"];
const REPAIR: &str = include_str!("../../../../docs/operate/repair.md");

/// The blocks of a page in one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    blocks.filter_map(|block| block.split("```").next().map(str::to_owned)).collect()
}

fn bash(server: &Server, script: &str) -> Output {
    let folder = std::path::Path::new(BINARY).parent().expect("a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let script = format!("set -euo pipefail\n{script}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).env("MEANTIME_URL", &server.url).env("PATH", path);
    command.output().expect("bash")
}

#[test]
fn the_commands_of_the_page_on_repair_work() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let flow = blocks(REPAIR, "js").remove(0);
    server.text(&["deploy", &write(directory.path(), "orders.flow.js", &flow)]);
    let mut shown = String::new();
    for block in blocks(REPAIR, "sh") {
        let output = bash(&server, &block);
        let told = String::from_utf8_lossy(&output.stderr);
        shown.push_str(&String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{block}\n{shown}\n{told}");
    }
    let expected = [
        "running, suspended",
        "by local: the payment service loses orders; its timers are frozen",
        "was suspended at 2026-01-01T00:00:00Z by local (the payment service loses orders)",
        "wrong price",
        "restart of",
    ];
    for part in expected {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let running = server.json(&["ps", "--key", "order-7", "--status", "running"]);
    let cancelled = server.json(&["ps", "--key", "order-7", "--status", "cancelled"]);
    assert_eq!(running[0]["restartOf"], cancelled[0]["id"]);
    let log = server.text(&["logs", "key:order-7"]);
    assert!(log.contains("restart by local: the price is right in version 2"), "{log}");
}

#[test]
fn tasks_are_claimed_completed_and_failed() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let flow = "return await Task.run('work', Inputs)\n";
    server.text(&["deploy", &write(directory.path(), "job.flow.js", flow)]);
    server.text(&["start", "job", "--key", "one"]);
    let claimed = server.json(&["tasks", "claim", "--type", "work"]);
    let (id, token) = (text(&claimed[0]["id"]), text(&claimed[0]["leaseToken"]));
    server.text(&["tasks", "extend", &id, "--lease-token", &token]);
    let stale = server.run(&["tasks", "complete", &id, "--lease-token", "9.9"]);
    assert_eq!(stale.status.code(), Some(1));
    assert!(server.text(&["tasks", "-o", "wide"]).contains("1 of 3"));
    assert_eq!(server.json(&["tasks", "show", &id])["state"], "leased");
    server.text(&["tasks", "complete", &id, "--lease-token", &token, "--output", "1.50"]);
    let shown = server.json(&["show", "key:one"]);
    assert_eq!(shown["output"], 1.5);
    server.text(&["start", "job", "--key", "two"]);
    let listed = server.json(&["tasks", "--instance", "key:two"]);
    let id = text(&listed[0]["id"]);
    server.text(&["tasks", "fail", &id, "--code", "LOST", "--final", "--reason", "lost"]);
    assert_eq!(server.json(&["show", "key:two"])["error"]["code"], "LOST");
}

#[test]
fn timers_and_schedules_are_changed() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let flow = "await Task.delay('P10D')\nreturn 1\n";
    server.text(&["deploy", &write(directory.path(), "sleeper.flow.js", flow)]);
    server.text(&["start", "sleeper", "--key", "s"]);
    let timer = text(&server.json(&["timers", "--instance", "key:s"])[0]["id"]);
    server.text(&["timers", "move", "--to", "2026-01-05T00:00:00Z", &timer, "--reason", "sooner"]);
    assert_eq!(server.json(&["timers", "list"])[0]["dueAt"], "2026-01-05T00:00:00Z");
    server.text(&["timers", "freeze", &timer]);
    let advanced = server.json(&["clock", "advance", "--by", "P5D"]);
    assert_eq!(advanced["now"], "2026-01-06T00:00:00Z");
    assert_eq!(server.json(&["show", "key:s"])["status"], "running");
    server.text(&["timers", "release", &timer, "--reason", "go on"]);
    assert_eq!(server.json(&["show", "key:s"])["status"], "completed");
    assert_eq!(server.run(&["timers", "fire", &timer]).status.code(), Some(1));
    let made = server.json(&["schedules", "create", "sleeper", "--every", "P1D", "--input", "{}"]);
    let id = text(&made["id"]);
    let next = server.json(&["schedules", "next", &id, "--count", "2"]);
    assert_eq!(next.as_array().map(Vec::len), Some(2), "{next}");
    server.text(&["schedules", "pause", &id, "--reason", "holiday"]);
    assert_eq!(server.json(&["schedules", "--state", "paused"])[0]["id"], id);
    server.text(&["schedules", "resume", &id]);
    server.text(&["schedules", "trigger", &id]);
    let range = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"];
    server.text(&[&["schedules", "backfill", &id], &range[..]].concat());
    assert!(server.text(&["schedules", "occurrences", &id]).contains("started"));
    assert_eq!(server.json(&["schedules", "show", &id])["state"], "active");
    server.text(&["schedules", "delete", &id]);
    assert_eq!(server.json(&["schedules", "--state", "active"]), Value::Array(Vec::new()));
}

#[test]
fn messages_signals_definitions_and_stdin() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let flow = "return await Signal.next('go')\n";
    server.text(&["deploy", &write(directory.path(), "waiter.flow.js", flow)]);
    let mut start = Command::new(BINARY);
    start.args(["start", "waiter", "--key", "w", "--input", "@-", "-o", "yaml"]);
    start.env("MEANTIME_URL", &server.url).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut start = start.spawn().expect("it runs");
    start.stdin.take().expect("a pipe").write_all(b"{\"count\": 1.0}").expect("it is read");
    let output = start.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("input:\n  count: 1.0\n") && shown.contains("key: w\n"), "{shown}");
    assert!(server.text(&["messages", "publish", "paid", "--key", "7"]).contains("no instance"));
    assert!(server.text(&["signals", "broadcast", "all", "{}"]).contains("no instance"));
    server.text(&["signal", "key:w", "go", "[1]"]);
    let lines = server.text(&["ps", "-o", "jsonl"]);
    let first: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((lines.lines().count(), &first["status"]), (1, &"completed".into()));
    assert!(server.text(&["definitions"]).contains("waiter"));
    assert_eq!(server.text(&["definitions", "source", "waiter"]), flow);
    server.text(&["definitions", "pause", "waiter", "--reason", "a bad deployment"]);
    assert!(server.text(&["definitions"]).contains("paused"));
    let paused = server.run(&["start", "waiter"]);
    assert_eq!(paused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&paused.stderr).contains("definition_paused"));
    server.text(&["definitions", "resume", "waiter"]);
    server.text(&["definitions", "undeploy", "waiter", "--version", "1"]);
    assert!(server.text(&["definitions", "show", "waiter"]).contains("undeployed"));
    let unknown = server.run(&["show", "key:nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no instance has the key"));
    assert_eq!(server.run(&["events"]).status.code(), Some(2), "it needs -f");
}

/// `events -f` and `--watch` go on until they are stopped.
#[test]
fn what_happens_is_followed() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    server.text(&["deploy", &write(directory.path(), "quick.flow.js", "return 1\n")]);
    server.text(&["start", "quick", "--wait"]);
    let follow = |arguments: &[&str], part: &str| {
        let mut command = Command::new(BINARY);
        command.args(arguments).env("MEANTIME_URL", &server.url).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let found = lines.map_while(Result::ok).filter(|line| line.contains(part)).nth(1);
        child.kill().expect("it runs until it is stopped");
        child.wait().expect("it ends");
        assert!(found.is_some(), "{arguments:?}");
    };
    follow(&["events", "-f", "--after", "0", "--definition", "quick"], "quick");
    follow(&["ps", "--watch=1"], "completed");
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
