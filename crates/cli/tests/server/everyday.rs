//! Everyday commands of the real binary, against a server of its own.

use std::process::Command;

use crate::binary::{BINARY, Server, write};
use serde_json::Value;

const CLOCK: &[&str] = &["--virtual-clock", "2026-01-01T00:00:00Z"];

#[test]
fn from_a_file_to_the_end_of_an_instance() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let flow = "Log.info('hello')\nconst s = await Signal.next('go')\nreturn { s, n: Inputs.n }\n";
    let file = write(directory.path(), "greet.flow.js", flow);
    let deployed = server.json(&["deploy", &file]);
    assert_eq!((&deployed[0]["name"], &deployed[0]["version"]), (&"greet".into(), &1.into()));
    let input = write(directory.path(), "input.json", "{\"n\": 1.5}");
    let started = server.json(&["start", "greet", "--input", &format!("@{input}"), "--key", "k"]);
    let id = started["id"].as_str().expect("an id").to_owned();
    assert_eq!(started["status"], "running");
    assert!(server.text(&["ps"]).contains(&id));
    assert!(server.text(&["ps", "--status", "completed"]).contains("no entries"));
    assert!(server.text(&["why", &id]).contains("waits for"));
    server.text(&["signal", &id, "go", "{\"ok\":true}"]);
    let shown = server.json(&["show", &id]);
    assert_eq!(shown["output"].to_string(), r#"{"n":1.5,"s":{"ok":true}}"#);
    let log = server.text(&["logs", &id]);
    assert!(log.contains("hello") && log.contains("ended"), "{log}");
    assert!(
        server.text(&["logs", &id, "-f"]).contains("ended"),
        "following ends with the instance"
    );
    for list in ["timers", "schedules", "forecast", "incidents"] {
        server.text(&[list]);
        server.json(&[list]);
    }
    assert_eq!(server.run(&["show", "in_x"]).status.code(), Some(1));
    assert_eq!(server.stop(), Some(0), "it ends gracefully");
}

#[test]
fn a_start_waits_for_the_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let good = write(directory.path(), "good.flow.ts", "const n = 7 as number\nreturn n!\n");
    let bad = write(directory.path(), "bad.flow.js", "throw { code: 'NO', message: 'never' }\n");
    server.text(&["deploy", &good]);
    server.text(&["deploy", &bad]);
    assert_eq!(server.json(&["start", "good", "--wait"])["output"], 7);
    let failed = server.run(&["start", "bad", "--wait"]);
    assert_eq!(failed.status.code(), Some(1), "an instance that fails makes the command fail");
    let unknown = server.run(&["start", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("unknown_definition"));
}

#[test]
fn a_server_that_is_not_there_is_said_so() {
    let output = Command::new(BINARY).args(["ps", "--url", "http://127.0.0.1:1"]).output();
    let output = output.expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("meantime dev"));
}

#[test]
fn definitions_are_validated_without_a_server() {
    let directory = tempfile::tempdir().expect("a directory");
    let good = write(directory.path(), "good.flow.js", "return 1\n");
    let bad = write(directory.path(), "bad.flow.js", "let a = 1\nreturn a + mising\n");
    let run = |arguments: &[&str]| Command::new(BINARY).args(arguments).output().expect("it runs");
    assert_eq!(run(&["validate", &good]).status.code(), Some(0));
    let drawn = run(&["validate", &bad]);
    let text = String::from_utf8_lossy(&drawn.stderr);
    assert_eq!(drawn.status.code(), Some(1));
    assert!(text.contains("return a + mising") && text.contains("^^^^^^"), "{text}");
    let json = run(&["validate", &bad, "--format", "json"]);
    assert_eq!((json.status.code(), json.stderr.len()), (Some(1), 0));
    let found: Value = serde_json::from_slice(&json.stdout).expect("one document");
    let first = &found["diagnostics"][0];
    assert_eq!((&first["line"], &first["severity"]), (&2.into(), &"error".into()));
    let typed =
        write(directory.path(), "typed.flow.ts", "const n: number = 'x'!\nreturn mising as any\n");
    let drawn = String::from_utf8_lossy(&run(&["validate", &typed]).stderr).into_owned();
    assert!(drawn.contains("return mising as any") && drawn.contains("^^^^^^"), "{drawn}");
    assert_eq!(run(&["validate", "/none.flow.js"]).status.code(), Some(2));
    assert_eq!(run(&["validate"]).status.code(), Some(2));
}

/// A closed pipe, as in `meantime ps | head -1` or `2>&1 | head -1`, does not cause a panic.
#[test]
fn a_reader_that_goes_away_ends_a_command_without_a_word() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let good = write(directory.path(), "good.flow.js", "return 7\n");
    let bad = write(directory.path(), "bad.flow.js", "return missing\n");
    server.text(&["deploy", &good]);
    server.text(&["start", "good", "--wait"]);
    let nobody = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        writer
    };
    let commands: [&[&str]; 9] = [
        &["ps"],
        &["ps", "--format", "json"],
        &["timers"],
        &["validate", &good],
        &["eval", "--lang", "feel", "1 + 1"],
        &["completions", "bash"],
        &["config", "--print"],
        &["key", "--role", "viewer"],
        &["doctor", "--db", "memory"],
    ];
    for arguments in commands {
        let mut command = Command::new(BINARY);
        command.args(arguments).env("MEANTIME_URL", &server.url).stdout(nobody());
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*said), (Some(0), ""), "{arguments:?}");
    }
    let mut refused = Command::new(BINARY);
    refused.args(["validate", &bad]).stderr(nobody());
    assert_eq!(refused.output().expect("it runs").status.code(), Some(1), "and no panic");
}

/// If no file was validated, success must not be reported.
#[test]
fn a_directory_without_definitions_is_wrong_usage() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), "notes.txt", "nothing\n");
    let path = directory.path().display().to_string();
    for format in ["table", "json"] {
        let output = Command::new(BINARY).args(["validate", &path, "--format", format]).output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("no definitions"), "{said}");
    }
}

/// Each reason is printed once.
#[test]
fn errors_are_not_told_twice() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = Command::new(BINARY)
        .args(["serve", "--db", "memory", "--listen", &address])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("in use").count(), 1, "{said}");
}

#[test]
fn a_store_is_copied_in_use_and_the_copy_waits_for_a_confirmation() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), CLOCK);
    let file = write(directory.path(), "wait.flow.js", "return await Signal.next('go')\n");
    server.text(&["deploy", &file]);
    let id = server.json(&["start", "wait"])["id"].as_str().expect("an id").to_owned();
    let at = |name: &str| directory.path().join(name).display().to_string();
    let db = |name: &str| format!("sqlite:{}", at(name));
    server.text(&["backup", "--db", &db("state.db"), &at("copy.db")]);
    assert!(server.text(&["doctor", "--db", &db("state.db")]).contains("is undamaged"));
    assert_eq!(server.stop(), Some(0));
    let run = |arguments: &[&str]| {
        let output = Command::new(BINARY).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    std::fs::remove_file(directory.path().join("state.db")).expect("removed");
    run(&["restore", "--db", &db("state.db"), &at("copy.db"), "--reason", "the disk broke"]);
    run(&["migrate", "--db", &db("state.db")]);
    let server = Server::on(directory.path(), CLOCK);
    let refused = server.run(&["signal", &id, "go"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("paused"));
    server.text(&["resume", "--reason", "the old one is off"]);
    server.text(&["signal", &id, "go", "1"]);
    assert_eq!(server.json(&["show", &id])["status"], "completed");
}

#[test]
fn keys_configuration_and_completions() {
    let run = |arguments: &[&str]| {
        let output = Command::new(BINARY).args(arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let key: Value =
        serde_json::from_str(&run(&["key", "--role", "worker", "--format", "json"])).expect("JSON");
    assert!(key["key"].as_str().is_some_and(|key| key.starts_with("mt_")));
    assert!(
        run(&["config", "--print", "--listen", "127.0.0.1:9"]).contains("listen = \"127.0.0.1:9\"")
    );
    assert!(run(&["completions", "bash"]).contains("meantime"));
    let output = Command::new(BINARY)
        .args(["serve", "--listen", "0.0.0.0:0", "--db", "memory"])
        .output()
        .expect("it runs");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--insecure"));
}
