//! Every JSON document that is accepted is returned unchanged; others are refused.
//!
//! Unusual documents enter on every path: the input of a start, a submission, a signal, a message,
//! the result of a task, the answer to an outbound call. The result of the run contains the same
//! document, however it was passed along, or the document was refused with a code of its own. A
//! document that every JSON reader can represent is never refused.

#[path = "support/documents.rs"]
mod documents;

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use documents::{Document, canonical, document};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use proptest::test_runner::{Config, TestRunner};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

const HEADER: &str = "apiVersion: v1\nmetadata: {version: 1.0.0, name: ";

/// Codes with which a document is refused.
const REFUSALS: [&str; 2] = ["unsupported_json", "invalid_body"];

/// A server, and a service that answers with the current document.
struct Stage {
    router: Router,
    answer: Arc<Mutex<String>>,
}

/// The result for a document.
#[derive(Debug)]
enum Passed {
    /// The text of the whole answer, and the path of the document in it.
    Out(String, &'static [&'static str]),
    Refused(String),
}

impl Stage {
    async fn new() -> Self {
        let answer = Arc::new(Mutex::new(String::new()));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let said = answer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let said = said.clone();
                let service = service_fn(move |_: Request<Incoming>| {
                    let text = said.lock().expect("whole").clone();
                    async move {
                        let response =
                            Response::builder().header("content-type", "application/json");
                        Ok::<_, std::convert::Infallible>(
                            response.body(Body::from(text)).expect("it"),
                        )
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        let mut settings = Settings::default();
        settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
        settings.egress.ports = Vec::new();
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
        let router = App::new(&engine.expect("the engine starts")).router();
        let stage = Self { router, answer };
        for (kind, name, text) in definitions(&base) {
            let (status, answer) =
                stage.send(&format!("/definitions?name={name}"), kind, text).await;
            assert_eq!(status, 201, "{answer}");
        }
        stage
    }

    async fn send(&self, path: &str, kind: &str, body: String) -> (u16, String) {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
        let request = request.header("host", "localhost").header("content-type", kind);
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
    }

    async fn json(&self, path: &str, body: String) -> (u16, String) {
        self.send(path, "application/json", body).await
    }

    /// Starts a run that waits; returns its id.
    async fn start(&self, definition: &str) -> String {
        let (status, answer) =
            self.json("/instances", format!("{{\"definition\":\"{definition}\"}}")).await;
        assert_eq!(status, 201, "{answer}");
        field(&answer, "id")
    }

    /// The result of a run.
    async fn result(&self, id: &str) -> String {
        let (status, answer) = self.json(&format!("/instances/{id}"), String::new()).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Claims the task of a run and completes it.
    async fn complete(&self, kind: &str, output: &str) -> (u16, String) {
        let claim = format!("{{\"worker\":\"w\",\"types\":[\"{kind}\"]}}");
        let (_, claimed) = self.json("/tasks/claim", claim).await;
        let claimed: serde_json::Value = serde_json::from_str(&claimed).expect("JSON");
        let task = &claimed["tasks"][0];
        let (id, token) = (task["id"].as_str().expect("a task"), &task["leaseToken"]);
        let body = format!("{{\"leaseToken\":{token},\"output\":{output}}}");
        let (status, answer) = self.json(&format!("/tasks/{id}/complete"), body).await;
        if status >= 400 {
            let failed = format!("{{\"leaseToken\":{token},\"retryable\":false}}");
            self.json(&format!("/tasks/{id}/fail"), failed).await;
        }
        (status, answer)
    }

    async fn pass(&self, door: &str, text: &str) -> Passed {
        let object = format!("{{\"doc\":{text}}}");
        match door {
            "journey start" | "mapper" | "branches" => {
                let name = door.replace(' ', "-");
                let answer = self.json(&format!("/journeys/{name}/start"), object).await;
                out(answer, &["output", "doc"])
            }
            "api" => out(self.json("/apis/api", object).await, &["doc"]),
            "flow start" | "process start" => {
                let name = door.replace(' ', "-");
                let body = format!("{{\"definition\":\"{name}\",\"input\":{object}}}");
                out(self.json("/instances?wait=PT10S", body).await, &["output", "doc"])
            }
            "submission" => {
                let (_, status) = self.json("/journeys/submission/start", "{}".to_owned()).await;
                let id = field(&status, "journeyId");
                let step = format!("/journeys/{id}/steps/ask");
                let answer = self.json(&step, text.to_owned()).await;
                let Passed::Out(..) = out(answer.clone(), &[]) else { return out(answer, &[]) };
                let result = self.json(&format!("/journeys/{id}/result"), String::new()).await;
                out(result, &["output", "kept"])
            }
            "signal" => {
                let id = self.start("signal").await;
                let answer =
                    self.json(&format!("/instances/{id}/signals/s"), text.to_owned()).await;
                let Passed::Out(..) = out(answer.clone(), &[]) else { return out(answer, &[]) };
                Passed::Out(self.result(&id).await, &["output", "doc"])
            }
            "message" => {
                let id = self.start("message").await;
                let body =
                    format!("{{\"name\":\"m\",\"correlationKey\":\"k\",\"payload\":{object}}}");
                let answer = self.json("/messages", body).await;
                let Passed::Out(..) = out(answer.clone(), &[]) else {
                    self.json(&format!("/instances/{id}/cancel"), "{}".to_owned()).await;
                    return out(answer, &[]);
                };
                Passed::Out(self.result(&id).await, &["output", "doc"])
            }
            "flow task" | "journey task" => {
                let name = door.replace(' ', "-");
                let id = self.start(&name).await;
                let kind = if door == "flow task" { "work" } else { "work:v1" };
                let answer = self.complete(kind, text).await;
                let Passed::Out(..) = out(answer.clone(), &[]) else { return out(answer, &[]) };
                Passed::Out(self.result(&id).await, &["output", "doc"])
            }
            "journey call" | "flow call" => {
                text.clone_into(&mut self.answer.lock().expect("whole"));
                let name = door.replace(' ', "-");
                let body = format!("{{\"definition\":\"{name}\",\"input\":{{}}}}");
                let (_, answer) = self.json("/instances?wait=PT10S", body).await;
                if answer.contains("HTTP_BODY") {
                    return Passed::Refused("unsupported_json".to_owned());
                }
                Passed::Out(answer, &["output", "doc"])
            }
            other => panic!("no door {other}"),
        }
    }
}

/// Classifies an answer.
fn out((status, answer): (u16, String), place: &'static [&'static str]) -> Passed {
    if status < 300 { Passed::Out(answer, place) } else { Passed::Refused(field(&answer, "code")) }
}

/// A field at the top level of an answer; nested values stay raw text, however deep they are.
fn field(answer: &str, name: &str) -> String {
    let members = members(answer);
    let raw = members.get(name).unwrap_or_else(|| panic!("no {name} in {answer}"));
    serde_json::from_str(raw).unwrap_or_else(|_| panic!("{name} is {raw}"))
}

fn members(text: &str) -> std::collections::BTreeMap<String, String> {
    type Raw = std::collections::BTreeMap<String, Box<serde_json::value::RawValue>>;
    let raw: Raw = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    raw.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect()
}

const DOORS: [&str; 13] = [
    "journey start",
    "mapper",
    "branches",
    "api",
    "flow start",
    "process start",
    "submission",
    "signal",
    "message",
    "flow task",
    "journey task",
    "journey call",
    "flow call",
];

fn definitions(base: &str) -> Vec<(&'static str, &'static str, String)> {
    let journey = |kind: &str, name: &'static str, spec: &str| {
        let text = format!("{HEADER}{name}}}\nkind: {kind}\nspec:\n{spec}\n");
        ("application/yaml", name, text)
    };
    let flow = |name: &'static str, body: &str| ("text/javascript", name, body.to_owned());
    let done = "    done: {type: succeed}";
    vec![
        journey("Journey", "journey-start", &format!("  start: done\n  states:\n{done}")),
        journey(
            "Journey",
            "mapper",
            &format!(
                "  start: copy\n  states:\n    copy: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: \"context ++ {{copy: context.doc}}\"}}}}, next: back}}\n    back: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: \"{{doc: context.copy}}\"}}}}, next: done}}\n{done}"
            ),
        ),
        journey(
            "Journey",
            "branches",
            &format!(
                "  start: both\n  states:\n    both:\n      type: parallel\n      parallel:\n        branches:\n          - {{name: one, start: set, states: {{set: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: \"context.doc\"}}, target: {{kind: var}}, resultVar: own}}, next: end}}, end: {{type: succeed}}}}}}\n          - {{name: two, start: end, states: {{end: {{type: succeed}}}}}}\n        join: {{strategy: allOf, mapper: {{lang: dataweave, expr: \"branches.one.own\"}}, resultVar: doc}}\n      next: done\n{done}"
            ),
        ),
        journey("Api", "api", &format!("  start: done\n  states:\n{done}")),
        journey(
            "Journey",
            "submission",
            &format!(
                "  start: ask\n  states:\n    ask: {{type: wait, wait: {{channel: manual, input: {{schema: {{}}}}}}, next: keep}}\n    keep: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: payload}}, target: {{kind: var}}, resultVar: kept}}, next: done}}\n{done}"
            ),
        ),
        journey(
            "Journey",
            "journey-task",
            &format!(
                "  start: work\n  states:\n    work: {{type: task, task: {{kind: 'work:v1', resultVar: r}}, next: keep}}\n    keep: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: \"context.r.body\"}}, target: {{kind: var}}, resultVar: doc}}, next: done}}\n{done}"
            ),
        ),
        journey(
            "Journey",
            "journey-call",
            &format!(
                "  start: call\n  states:\n    call: {{type: task, task: {{kind: 'httpCall:v1', method: GET, url: '{base}/', resultVar: r}}, next: keep}}\n    keep: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: \"{{doc: context.r.body, error: context.r.error, status: context.r.status}}\"}}}}, next: done}}\n{done}"
            ),
        ),
        flow("flow-start", "  return Inputs"),
        flow("signal", "  return { doc: await Signal.next(\"s\") }"),
        flow("flow-task", "  return { doc: await Task.run(\"work\", null) }"),
        flow(
            "flow-call",
            &format!(
                "  try {{ return {{ doc: (await Http.request({{ method: \"GET\", url: \"{base}/\" }})).body }} }} catch (e) {{ return {{ code: e.code }} }}"
            ),
        ),
        (
            "application/xml",
            "process-start",
            "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\"><process id=\"process-start\" isExecutable=\"true\"><startEvent id=\"s\"/><sequenceFlow id=\"f\" sourceRef=\"s\" targetRef=\"e\"/><endEvent id=\"e\"/></process></definitions>".to_owned(),
        ),
        (
            "application/xml",
            "message",
            "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\" xmlns:zeebe=\"http://camunda.org/schema/zeebe/1.0\"><message id=\"mm\" name=\"m\"><extensionElements><zeebe:subscription correlationKey=\"=&quot;k&quot;\"/></extensionElements></message><process id=\"message\" isExecutable=\"true\"><startEvent id=\"s\"/><sequenceFlow id=\"f\" sourceRef=\"s\" targetRef=\"c\"/><intermediateCatchEvent id=\"c\"><messageEventDefinition messageRef=\"mm\"/></intermediateCatchEvent><sequenceFlow id=\"g\" sourceRef=\"c\" targetRef=\"e\"/><endEvent id=\"e\"/></process></definitions>".to_owned(),
        ),
    ]
}

#[test]
fn every_document_that_enters_leaves_unchanged_or_is_refused() {
    let runtime = Runtime::new().expect("a runtime");
    let stage = runtime.block_on(Stage::new());
    let mut runner = TestRunner::new(Config { cases: 96, ..Config::default() });
    let outcome = runner.run(&document(), |document: Document| {
        for door in DOORS {
            match runtime.block_on(stage.pass(door, &document.text)) {
                Passed::Out(answer, place) => {
                    let mut found = answer.clone();
                    for name in place {
                        found = members(&found)
                            .remove(*name)
                            .unwrap_or_else(|| panic!("{door}: no {name} in {answer}"));
                    }
                    // A document that was accepted is never too deep for the reader of this test.
                    let (found, wanted) = (canonical(&found), canonical(&document.text));
                    assert_eq!(found, wanted, "{door} changed {}: {answer}", document.text);
                }
                Passed::Refused(code) => {
                    assert!(REFUSALS.contains(&code.as_str()), "{door}: {code}");
                    assert!(document.is_awkward, "{door} refused {}: {code}", document.text);
                }
            }
        }
        Ok(())
    });
    outcome.expect("every document");
}
