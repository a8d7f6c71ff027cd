//! Journeys on the real binary: the examples with the services they call, and schedules across
//! kills.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};

use crate::binary::{Server, write};
use crate::http::Connection;

/// `meantime dev` on a copy of the examples that call its own port.
fn dev(directory: &Path) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/journeys");
    for entry in std::fs::read_dir(examples).expect("the examples are there") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        write(directory, &name, &text.replace("127.0.0.1:8088", &address));
    }
    Server::listen(directory, &["dev", "."], &address)
}

#[test]
fn the_examples_run_with_the_services_they_call() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = dev(directory.path());
    let mut connection = Connection::to(&server.url);
    let page = connection.ask("POST", "/product-page", r#"{"productId":"p-1"}"#);
    let page = page.expect("an answer");
    let expected = json!({
        "product": { "id": "p-1", "name": "Lamp p-1" },
        "price": { "amount": 49.90, "currency": "CHF" },
        "stock": 7,
        "complete": true,
    });
    assert_eq!(page, (200, expected));
    let unknown = connection.ask("POST", "/product-page", r#"{"productId":"x"}"#);
    let (status, problem) = unknown.expect("an answer");
    assert_eq!((status, &problem["code"]), (404, &json!("UNKNOWN_PRODUCT")));
}

#[test]
fn the_examples_are_valid_and_warn_of_nothing_that_matters() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = dev(directory.path());
    let path = directory.path().display().to_string();
    let validated = server.json(&["validate", &path]);
    let found = validated["diagnostics"].as_array().expect("a list");
    let errors: Vec<&Value> = found.iter().filter(|it| it["severity"] == "error").collect();
    assert!(errors.is_empty(), "{errors:?}");
}

const SUBJECTS: usize = 1_000;

const PLAN: &str = r#"apiVersion: v1
kind: Journey
metadata: {name: plan, version: 1.0.0}
spec:
  start: plan
  states:
    plan:
      type: task
      task:
        kind: schedule:v1
        start: run
        startAt: "2026-01-01T01:00:00Z"
        interval: PT1H
        maxRuns: 5
        subjectId: {mapper: {lang: dataweave, expr: context.subject}}
      next: done
    done: {type: succeed}
    run:
      type: transform
      transform: {mapper: {lang: dataweave, expr: 'context ++ {runs: (context.runs default 0) + 1}'}}
      next: ran
    ran: {type: succeed}
"#;

/// S2: every subject runs once for each occurrence, on the grid, although the process is killed in
/// the middle of every hour's thousand runs.
#[test]
fn a_thousand_subjects_run_once_for_each_occurrence_across_five_kills() {
    let directory = tempfile::tempdir().expect("a directory");
    let clock = ["--virtual-clock", "2026-01-01T00:00:00Z"];
    let mut server = Server::on(directory.path(), &clock);
    let file = write(directory.path(), "plan.journey.yaml", PLAN);
    server.text(&["deploy", &file]);
    let mut connection = Connection::to(&server.url);
    for number in 0..SUBJECTS {
        let body = json!({ "subject": format!("s{number}") }).to_string();
        let answer = connection.ask("POST", "/journeys/plan/start", &body).expect("an answer");
        assert_eq!((answer.0, &answer.1["phase"]), (200, &json!("SUCCEEDED")));
    }
    let mut interrupted = 0;
    for hour in 1..=5 {
        let to = json!({ "to": format!("2026-01-01T{hour:02}:00:00Z") }).to_string();
        let url = server.url.clone();
        let advance = {
            let to = to.clone();
            std::thread::spawn(move || Connection::to(&url).ask("POST", "/clock/advance", &to))
        };
        // The process is killed when some runs of this hour have ended and some have not begun.
        let mut watcher = Connection::to(&server.url);
        while runs(&mut watcher, hour) == 0 {}
        server.kill();
        interrupted += usize::from(advance.join().expect("a thread").is_none());
        server = Server::on(directory.path(), &clock);
        let mut connection = Connection::to(&server.url);
        let (status, answer) = connection.ask("POST", "/clock/advance", &to).expect("an answer");
        assert_eq!(status, 200, "{answer}");
    }
    assert!(interrupted > 0, "no kill came in between");
    let mut connection = Connection::to(&server.url);
    let mut seen = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/schedules?limit=1000{cursor}");
        let (_, page) = connection.ask("GET", &path, "").expect("an answer");
        for it in page["items"].as_array().expect("a list") {
            let (subject, runs) = (it["subject"].to_string(), it["runsExecuted"].clone());
            assert_eq!(seen.insert(subject, (runs, it["state"].clone())), None);
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), SUBJECTS);
    let expected = (json!(5), json!("completed"));
    let wrong: Vec<_> = seen.iter().filter(|(_, it)| **it != expected).take(5).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    // Each run counts once: the evolving context agrees with the schedule.
    let path = "/instances?definition=plan&status=completed&limit=1000";
    let mut cursor = String::new();
    let (mut ended, mut last) = (0, 0);
    loop {
        let (_, page) = connection.ask("GET", &format!("{path}{cursor}"), "").expect("an answer");
        for it in page["items"].as_array().expect("a list") {
            ended += usize::from(it["parent"].is_string());
            last += 1;
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((ended, last), (5 * SUBJECTS, 6 * SUBJECTS));
}

/// The number of runs of an hour, as far as one page shows.
fn runs(connection: &mut Connection, hour: usize) -> usize {
    let after = format!("2026-01-01T{hour:02}:00:00Z");
    let path = format!("/instances?definition=plan&startedAfter={after}&limit=1");
    let (_, page) = connection.ask("GET", &path, "").expect("an answer");
    page["items"].as_array().map_or(0, Vec::len)
}
