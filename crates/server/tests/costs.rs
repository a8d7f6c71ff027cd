//! What an instance costs, as far as it can be counted: commits, statements and pages. The figures
//! are exact, so that nothing creeps back.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use meantime_kernel::store::Store;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use meantime_store::sqlite::{Options, SqliteStore, Stats};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

/// A server on a real file, with the counters of its writer.
struct Server {
    router: Router,
    store: Arc<SqliteStore>,
    _directory: TempDir,
}

/// What the writer did for something.
#[derive(Debug, PartialEq, Eq)]
struct Cost {
    commits: u64,
    turns: u64,
    statements: u64,
}

impl Server {
    async fn start() -> Self {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("meantime.db");
        let store = Arc::new(SqliteStore::open(path, Options::default()).expect("it opens"));
        let shared: Arc<dyn Store> = store.clone();
        let settings = Settings::default();
        let engine = Engine::start_on(shared, settings, notations(), SourceFormats::default());
        let router = App::new(&engine.await.expect("the engine starts")).router();
        Self { router, store, _directory: directory }
    }

    async fn deploy(&self, name: &str, tasks: usize) {
        let flow = "await Task.run('work', 1);\n".repeat(tasks);
        let request = Request::post(format!("/api/v1/definitions?name={name}"));
        let request = request.header("content-type", "text/javascript");
        self.ask(request.body(Body::from(flow)).expect("a request")).await;
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let request = Request::post(format!("/api/v1{path}"));
        let request = request.header("content-type", "application/json");
        self.ask(request.body(Body::from(body.to_string())).expect("a request")).await
    }

    async fn ask(&self, request: Request<Body>) -> Value {
        let response = self.router.clone().oneshot(request).await.expect("never fails");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// Waits until a claim waits at the engine.
    async fn await_parked_claim(&self) {
        loop {
            let request = Request::get("/metrics").body(Body::empty()).expect("a request");
            let response = self.router.clone().oneshot(request).await.expect("never fails");
            let text = response.into_body().collect().await.expect("a body").to_bytes();
            if String::from_utf8_lossy(&text).contains("\nmeantime_waiting_claims 1\n") {
                return;
            }
        }
    }

    /// One instance from its start to its end, with a worker that waits for its first task and
    /// claims each next one together with its report.
    async fn run(&self, definition: &str, tasks: usize) -> Cost {
        let waiting = json!({ "worker": "w", "types": ["work"], "max": 1, "waitMs": 60_000 });
        let claiming = self.post("/tasks/claim", &waiting);
        let working = async {
            self.await_parked_claim().await;
            let before = self.store.stats();
            let start = json!({ "definition": definition });
            let starting = self.post("/instances?wait=PT20S&for=end", &start);
            (before, starting.await)
        };
        let doing = async {
            let mut claimed = claiming.await;
            for left in (0..tasks).rev() {
                let task = &claimed["tasks"][0];
                let result =
                    json!({ "id": task["id"], "leaseToken": task["leaseToken"], "output": 1 });
                let mut report = json!({ "results": [result] });
                if left > 0 {
                    report["claim"] = json!({ "worker": "w", "types": ["work"], "max": 1 });
                }
                claimed = self.post("/tasks/complete", &report).await;
                assert_eq!(claimed["results"][0]["status"], 200, "{claimed}");
            }
        };
        let ((before, instance), ()) = tokio::join!(working, doing);
        assert_eq!(instance["status"], "completed", "{instance}");
        cost(before, self.store.stats())
    }
}

fn cost(before: Stats, after: Stats) -> Cost {
    Cost {
        commits: after.commits - before.commits,
        turns: after.turns - before.turns,
        statements: after.statements - before.statements,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_of_one_task_is_two_commits_and_one_of_five_is_six() {
    let server = Server::start().await;
    server.deploy("one", 1).await;
    server.deploy("five", 5).await;
    // The first instances read what is kept in memory afterwards.
    for (definition, tasks) in [("one", 1), ("five", 5)] {
        server.run(definition, tasks).await;
    }
    let one = server.run("one", 1).await;
    assert_eq!(one, Cost { commits: 2, turns: 2, statements: 15 });
    let five = server.run("five", 5).await;
    assert_eq!(five, Cost { commits: 6, turns: 6, statements: 43 });
}
