//! A server that is killed repeatedly under load.
//!
//! ```text
//!   starters: each start with its own key, repeated until it is acknowledged ─┐
//!   workers:  claim many, complete many, note what was acknowledged          ─┼─► audit
//!   this test: kill -9 after some acknowledgements, start again              ─┘
//! ```

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

use serde_json::{Value, json};

use crate::binary::{Server, write};
use crate::request::{get, post};

const STARTS: usize = 400;
const STARTERS: usize = 8;
const KILLS: usize = 3;

/// What was acknowledged.
#[derive(Default)]
struct Ledger {
    starts: Mutex<usize>,
    more: Condvar,
    next: AtomicUsize,
    /// Instances whose task was acknowledged as completed.
    completed: Mutex<BTreeSet<String>>,
    over: AtomicBool,
}

impl Ledger {
    fn started(&self) {
        *self.starts.lock().expect("not poisoned") += 1;
        self.more.notify_all();
    }

    fn wait_for(&self, count: usize) {
        let starts = self.starts.lock().expect("not poisoned");
        drop(self.more.wait_while(starts, |starts| *starts < count).expect("not poisoned"));
    }
}

#[test]
fn a_server_that_is_killed_under_load_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = Server::on(directory.path(), &[]);
    let flow = "return await Task.run('double', Inputs)\n";
    server.text(&["deploy", &write(directory.path(), "work.flow.js", flow)]);
    let (url, ledger) = (server.url.clone(), Ledger::default());
    let server = std::thread::scope(|scope| {
        let mut server = server;
        let starters: Vec<_> =
            (0..STARTERS).map(|_| scope.spawn(|| start_all(&url, &ledger))).collect();
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(|| work(&url, &ledger))).collect();
        for kill in 1..=KILLS {
            ledger.wait_for(STARTS * kill / (KILLS + 1));
            server.kill();
            let address = url.trim_start_matches("http://");
            server = Server::again(directory.path(), address);
        }
        for starter in starters {
            starter.join().expect("it started all of its share");
        }
        until_nothing_runs(&url);
        ledger.over.store(true, Ordering::SeqCst);
        for worker in workers {
            worker.join().expect("it worked");
        }
        server
    });
    let instances = server.json(&["ps", "--limit", "1000"]);
    let instances = instances.as_array().expect("a list");
    assert_eq!(instances.len(), STARTS, "every start made one instance, and one only");
    let completed = ledger.completed.into_inner().expect("not poisoned");
    assert_eq!(completed.len(), STARTS, "every completion was acknowledged");
    for instance in instances {
        let id = instance["id"].as_str().expect("an id");
        assert!(completed.contains(id), "{id} was completed by nobody");
        let (_, instance) = get(&url, &format!("/instances/{id}")).expect("an answer");
        let expected = instance["input"]["n"].as_u64().expect("a number") * 2;
        assert_eq!(
            (&instance["status"], &instance["output"]),
            (&json!("completed"), &json!(expected))
        );
    }
}

/// Starts instances until there are enough; a start is repeated until it is acknowledged.
fn start_all(url: &str, ledger: &Ledger) {
    loop {
        let number = ledger.next.fetch_add(1, Ordering::SeqCst);
        if number >= STARTS {
            return;
        }
        let body = json!({ "definition": "work", "input": { "n": number } });
        let key = format!("idempotency-key: start-{number}\r\n");
        let acknowledged = insist(|| post(url, "/instances", &key, &body));
        assert_eq!(acknowledged.0, 201, "{}", acknowledged.1);
        ledger.started();
    }
}

/// Claims and completes; a task whose report was not acknowledged is offered again after its lease.
fn work(url: &str, ledger: &Ledger) {
    let claim = json!({ "worker": "w", "max": 20, "leaseMs": 500, "waitMs": 200 });
    while !ledger.over.load(Ordering::SeqCst) {
        let Ok((200, claimed)) = post(url, "/tasks/claim", "", &claim) else { continue };
        let tasks = claimed["tasks"].as_array().cloned().unwrap_or_default();
        let results: Vec<Value> = tasks.iter().map(result).collect();
        if results.is_empty() {
            continue;
        }
        let report = json!({ "results": results });
        let (status, answer) = insist(|| post(url, "/tasks/complete", "", &report));
        assert_eq!(status, 200, "{answer}");
        for (task, result) in tasks.iter().zip(answer["results"].as_array().into_iter().flatten()) {
            // If the answer to the first report was lost, the task is already closed.
            let status = result["status"].as_u64();
            assert!(matches!(status, Some(200 | 404 | 409)), "{result}");
            let id = task["instanceId"].as_str().expect("an instance").to_owned();
            ledger.completed.lock().expect("not poisoned").insert(id);
        }
    }
}

fn result(task: &Value) -> Value {
    let output = task["input"]["n"].as_u64().expect("a number") * 2;
    json!({ "id": task["id"], "leaseToken": task["leaseToken"], "output": output })
}

/// Repeats a request until it is answered.
fn insist(ask: impl Fn() -> std::io::Result<(u16, Value)>) -> (u16, Value) {
    loop {
        match ask() {
            Ok((503, _)) | Err(_) => std::thread::yield_now(),
            Ok(answer) => return answer,
        }
    }
}

/// Returns when all instances have ended.
fn until_nothing_runs(url: &str) {
    loop {
        let (_, page) = insist(|| get(url, "/instances?status=running&limit=1"));
        if page["items"].as_array().is_some_and(Vec::is_empty) {
            return;
        }
        std::thread::yield_now();
    }
}
