//! The same awkward documents through every door: each keeps a document, or refuses it with the
//! same code ([ADR 0038](../../../docs/adr/0038-one-json.md)). `JSON.parse` of a script is no door
//! of documents: it answers as Node does.

#[path = "support/journeys.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod journeys;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use meantime_core::Json;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use serde_json::Value;
use tower::ServiceExt as _;

/// What comes of a document.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    /// The same members, texts and numbers.
    Kept(String),
    /// By a script, and written again.
    Parsed(String),
    /// With this code.
    Refused(String),
}

const ECHO: &str = "return Inputs";
const TASK: &str = "return await Task.run(\"work\")";
const SIGNAL: &str = "return await Signal.next(\"paid\")";
const PARSE: &str = "
try { return JSON.stringify(JSON.parse(Inputs.text)) }
catch (error) { return { code: error.code } }";
const MESSAGE: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
  <message id="m" name="paid"><extensionElements>
    <zeebe:subscription correlationKey="= key"/></extensionElements></message>
  <process id="message" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="c"/>
    <intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>
    <sequenceFlow id="f2" sourceRef="c" targetRef="e"/><endEvent id="e"/></process></definitions>"#;
const FEEL: &str = r#"<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"
    xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">
  <process id="feel" isExecutable="true">
    <startEvent id="s"/><sequenceFlow id="f1" sourceRef="s" targetRef="t"/>
    <scriptTask id="t"><extensionElements>
      <zeebe:script expression="= {read: from json(text), text: to json(from json(text))}"
        resultVariable="found"/></extensionElements></scriptTask>
    <sequenceFlow id="f2" sourceRef="t" targetRef="e"/><endEvent id="e"/></process></definitions>"#;
const JOURNEY: &str = "apiVersion: v1
kind: Journey
metadata: {name: echo-journey, version: 1.0.0}
spec:
  start: done
  states:
    done: {type: succeed, outputVar: a}
";
const DATAWEAVE: &str = "apiVersion: v1
kind: Journey
metadata: {name: dataweave, version: 1.0.0}
spec:
  start: read
  states:
    read:
      type: transform
      transform:
        mapper:
          lang: dataweave
          expr: |
            {found: write(read(context.text, 'application/json'), 'application/json', {indent: false})}
      next: done
    done: {type: succeed, outputVar: found}
";

struct Server(Router);

impl Server {
    async fn start() -> Self {
        let store = Arc::new(MemoryStore::new());
        let settings = Settings::default();
        let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
        let server = Self(App::new(&engine.expect("the engine starts")).router());
        for (name, text) in [("echo", ECHO), ("task", TASK), ("signal", SIGNAL), ("parse", PARSE)] {
            let path = format!("/definitions?name={name}");
            server.deploy(&path, "text/javascript", text).await;
        }
        server.deploy("/definitions", "application/xml", MESSAGE).await;
        server.deploy("/definitions", "application/xml", FEEL).await;
        server.deploy("/definitions", "application/yaml", JOURNEY).await;
        server.deploy("/definitions", "application/yaml", DATAWEAVE).await;
        server
    }

    async fn deploy(&self, path: &str, kind: &str, text: &str) {
        let (status, answer) = self.send("POST", path, kind, text).await;
        assert_eq!(status, 201, "{answer}");
    }

    async fn send(&self, method: &str, path: &str, kind: &str, body: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
        let request = request.header("host", "localhost").header("content-type", kind);
        let request = request.body(Body::from(body.to_owned())).expect("a request");
        let response = self.0.clone().oneshot(request).await.expect("an answer");
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("a text"))
    }

    async fn post(&self, path: &str, body: &str) -> Result<String, Answer> {
        let (status, answer) = self.send("POST", path, "application/json", body).await;
        if status < 300 {
            return Ok(answer);
        }
        Err(Answer::Refused(member(&answer, "code").read().expect("a code")))
    }

    /// Starts an instance and gives back its answer.
    async fn run(&self, definition: &str, input: &str) -> Result<String, Answer> {
        let body = format!("{{\"definition\":\"{definition}\",\"input\":{input}}}");
        self.post("/instances?wait=PT10S", &body).await
    }

    /// What an instance returned that has had all it waits for.
    async fn output(&self, id: &str) -> Json {
        let path = format!("/instances/{id}/result?wait=PT10S");
        let (_, answer) = self.send("GET", &path, "application/json", "").await;
        member(&answer, "output")
    }
}

fn member(answer: &str, name: &str) -> Json {
    let members: std::collections::BTreeMap<String, Json> =
        Json::parse(answer).and_then(|it| it.read()).expect("an object");
    members.get(name).cloned().unwrap_or_else(|| panic!("no {name} in {answer}"))
}

fn id(answer: &str) -> String {
    member(answer, "id").read().expect("an id")
}

/// The document as it is, whatever its numbers, texts and blanks look like.
fn canonical(text: &str) -> String {
    canonical_value(&serde_json::from_str(text).expect("JSON"))
}

fn canonical_value(value: &Value) -> String {
    match value {
        Value::Number(number) => canonical_number(number.as_str()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical_value).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, it)| format!("{name:?}:{}", canonical_value(it)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// Sign, digits without zeros at their ends, exponent of the last digit.
fn canonical_number(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let exponent: i64 = exponent.parse().expect("an exponent");
    let zeros = i64::try_from(digits.len() - kept.len()).expect("few")
        - i64::try_from(fraction.len()).expect("few");
    match kept.trim_start_matches('0') {
        "" => "0".to_owned(),
        kept => format!("{sign}{kept}e{}", exponent + zeros),
    }
}

fn kept(json: &Json) -> Answer {
    Answer::Kept(canonical(json.as_str()))
}

/// Every door by its name.
async fn answers(server: &Server, document: &str) -> Vec<(&'static str, Answer)> {
    let mut found = Vec::new();
    let mut add = |door, answer: Result<Answer, Answer>| {
        found.push((door, answer.unwrap_or_else(|refused| refused)));
    };

    let started = server.run("echo", document).await;
    if let Ok(answer) = &started {
        assert_eq!(member(answer, "input").as_str(), document.trim(), "not a byte is changed");
    }
    add("start input", started.as_ref().map(|it| kept(&member(it, "input"))).map_err(Clone::clone));
    add("a script's input and result", started.map(|it| kept(&member(&it, "output"))));

    let instance =
        id(&server.post("/instances", "{\"definition\":\"task\"}").await.expect("started"));
    let claimed = "{\"worker\":\"w\",\"types\":[\"work\"],\"waitMs\":10000}";
    let claimed = server.post("/tasks/claim", claimed).await.expect("a task");
    let tasks: Vec<Json> = member(&claimed, "tasks").read().expect("tasks");
    let task = tasks.first().expect("a task").as_str();
    let token = member(task, "leaseToken");
    let (path, token) = (format!("/tasks/{}/complete", id(task)), token.as_str());
    let done =
        server.post(&path, &format!("{{\"leaseToken\":{token},\"output\":{document}}}")).await;
    if done.is_err() {
        let done = server.post(&path, &format!("{{\"leaseToken\":{token}}}")).await;
        done.expect("a refused report changes nothing");
    }
    let output = server.output(&instance).await;
    add("task output", done.map(|_| kept(&output)));

    let waiting = server.run("signal", "null").await.expect("started");
    let instance = id(&waiting);
    let sent = server.post(&format!("/instances/{instance}/signals/paid"), document).await;
    add(
        "signal payload",
        match sent {
            Ok(_) => Ok(kept(&server.output(&instance).await)),
            Err(refused) => Err(refused),
        },
    );

    let waiting = server.run("message", "{\"key\":\"k\"}").await.expect("started");
    let message =
        format!("{{\"name\":\"paid\",\"correlationKey\":\"k\",\"payload\":{{\"a\":{document}}}}}");
    let sent = server.post("/messages", &message).await;
    let path = format!("/instances/{}", id(&waiting));
    if sent.is_err() {
        let empty = "{\"name\":\"paid\",\"correlationKey\":\"k\",\"payload\":{\"a\":0}}";
        server.post("/messages", empty).await.expect("a message");
    }
    let output = server.output(path.trim_start_matches("/instances/")).await;
    add("message payload", sent.map(|_| kept(&member(output.as_str(), "a"))));

    let started =
        server.post("/journeys/echo-journey/start", &format!("{{\"a\":{document}}}")).await;
    add("journey body", started.map(|it| kept(&member(&it, "output"))));

    // From here on the document is a text, and a language reads it.
    let text = format!("{{\"text\":{}}}", Json::text(document));
    let answer = server.run("parse", &text).await.expect("started");
    let output = member(&answer, "output");
    add(
        "JSON.parse",
        Ok(match output.read::<String>() {
            Ok(text) => Answer::Parsed(text),
            Err(_) => Answer::Refused(member(output.as_str(), "code").read().expect("a code")),
        }),
    );

    let started = server.post("/journeys/dataweave/start", &text).await.expect("started");
    let phase: String = member(&started, "phase").read().expect("a phase");
    add(
        "DataWeave",
        Ok(if phase == "SUCCEEDED" {
            let text: String = member(&started, "output").read().expect("a text");
            Answer::Kept(canonical(&text))
        } else {
            let unsupported = started.contains("cannot be kept unchanged");
            Answer::Refused(
                if unsupported { "unsupported_json" } else { "invalid_json" }.to_owned(),
            )
        }),
    );

    let answer = server.run("feel", &text).await.expect("started");
    let read = member(member(&answer, "output").as_str(), "found");
    let written = member(read.as_str(), "text");
    let read = member(read.as_str(), "read");
    add(
        "FEEL",
        Ok(match written.read::<String>() {
            Ok(text) if !read.is_null() => {
                assert_eq!(canonical(&text), canonical(read.as_str()));
                kept(&read)
            }
            _ => Answer::Refused(String::new()),
        }),
    );
    found
}

#[tokio::test]
async fn every_door_gives_the_same_answer() {
    let server = Server::start().await;
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let hundred = nested(100);
    // With what Node writes as `JSON.stringify(JSON.parse(text))`.
    let good = [
        ("0".to_owned(), "0"),
        ("-0".to_owned(), "0"),
        ("[1.50,1e3,-0.0,0.1,1E-7,123e-2]".to_owned(), "[1.5,1000,0,0.1,1e-7,1.23]"),
        (
            "[9007199254740993,9223372036854775807,9223372036854775808,-12345678901234567890]"
                .to_owned(),
            "[9007199254740992,9223372036854776000,9223372036854776000,-12345678901234567000]",
        ),
        (
            "[0.30000000000000004,0.1000000000000000055511151231257827,1.7976931348623157e308]"
                .to_owned(),
            "[0.30000000000000004,0.1,1.7976931348623157e+308]",
        ),
        ("[1e400,1e-400,1e5000,1e-5000]".to_owned(), "[null,0,null,0]"),
        ("7".repeat(9_999), "null"),
        ("\"\"".to_owned(), "\"\""),
        (
            "\"\\u0000\\u001f\\u007f\\ud83d\\ude00\\u2028\\/\\\"\\\\ é😀\u{feff}\"".to_owned(),
            "\"\\u0000\\u001f\u{7f}😀\u{2028}/\\\"\\\\ é😀\u{feff}\"",
        ),
        (
            "{\"\":0,\"a b\":{\"\\u00e9\":[]},\"10\":{},\"2\":[null,true,false]}".to_owned(),
            "{\"2\":[null,true,false],\"10\":{},\"\":0,\"a b\":{\"é\":[]}}",
        ),
        (" { \"b\" : 1 ,\n\t\"a\" : [ ] } ".to_owned(), "{\"b\":1,\"a\":[]}"),
        (nested(100), &hundred),
    ];
    for (document, in_node) in good {
        for (door, answer) in answers(&server, &document).await {
            let wanted = match door {
                "JSON.parse" => Answer::Parsed(in_node.to_owned()),
                _ => Answer::Kept(canonical(&document)),
            };
            assert_eq!(answer, wanted, "{door}: {document}");
        }
    }
    // What has a meaning in ECMAScript has it in a script.
    let bad = [
        ("unsupported_json", "{\"b\":1,\"a\":2,\"b\":3}".to_owned(), Some("{\"b\":3,\"a\":2}")),
        ("unsupported_json", "[{\"a\":1,\"\\u0061\":2}]".to_owned(), Some("[{\"a\":2}]")),
        ("unsupported_json", "\"\\ud800\"".to_owned(), None),
        ("unsupported_json", "{\"\\udc00\\ud800\":1}".to_owned(), None),
        ("unsupported_json", "1e5001".to_owned(), Some("null")),
        ("unsupported_json", "-1e99999999999999999999".to_owned(), Some("null")),
        ("unsupported_json", "7".repeat(10_001), Some("null")),
        ("unsupported_json", nested(300), None),
        ("invalid_json", "nul".to_owned(), None),
        ("invalid_json", "01".to_owned(), None),
        ("invalid_json", "1.".to_owned(), None),
        ("invalid_json", "NaN".to_owned(), None),
        ("invalid_json", "[1,]".to_owned(), None),
        ("invalid_json", "{a:1}".to_owned(), None),
        ("invalid_json", "\"\u{1}\"".to_owned(), None),
        ("invalid_json", "\"\\x\"".to_owned(), None),
        ("invalid_json", "[1] 2".to_owned(), None),
    ];
    for (code, document, in_node) in bad {
        for (door, answer) in answers(&server, &document).await {
            let wanted = match (door, code, in_node) {
                ("JSON.parse", _, Some(in_node)) => Answer::Parsed(in_node.to_owned()),
                // The name of the error is that of Node.
                ("JSON.parse", "invalid_json", None) => Answer::Refused("SyntaxError".to_owned()),
                // Every error of FEEL is null.
                ("FEEL", ..) => Answer::Refused(String::new()),
                _ => Answer::Refused(code.to_owned()),
            };
            assert_eq!(answer, wanted, "{door}: {document}");
        }
    }
}
