//! The source of a process is returned byte for byte: byte order mark, line ends, comments,
//! entities.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use tower::ServiceExt as _;

const AWKWARD: &str = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\r\n<!-- kept -->\r\n\
    <b:definitions xmlns:b=\"http://www.omg.org/spec/BPMN/20100524/MODEL\"\n\t\
    xmlns:v='urn:vendor'  >\r\n<b:process id='p' isExecutable = \"true\" v:mark=\"a&#10;b &amp; c\">\
    <b:documentation><![CDATA[ <kept> ]]></b:documentation>\r\
    <b:startEvent id=\"ä😀\"/><v:own><v:x y=\"1\"/></v:own></b:process></b:definitions>\n\n ";

/// An intermediate, a boundary and a start event, with different white space.
const TIMERS: [&str; 3] = [
    "<definitions xmlns=\"http://www.omg.org/spec/BPMN/20100524/MODEL\">\r\n\t<process id=\"wait\" \
     isExecutable=\"true\"><intermediateCatchEvent id=\"i\"><timerEventDefinition><timeDuration>\r\n\
     \tPT5M \r\n</timeDuration></timerEventDefinition></intermediateCatchEvent></process>\r\n\
     </definitions>\r\n",
    "\u{feff}<?xml version='1.0'?><definitions xmlns='http://www.omg.org/spec/BPMN/20100524/MODEL'>\n\
     <process id='guard' isExecutable='1'><userTask id='u'/><boundaryEvent id='b' \
     attachedToRef='u' ><timerEventDefinition><timeDate >2026-03-01T10:00:00Z</timeDate>\
     </timerEventDefinition></boundaryEvent></process></definitions>",
    "<!-- first -->\n\n<b:definitions\n  xmlns:b = \"http://www.omg.org/spec/BPMN/20100524/MODEL\"><b:process \
     id=\"night\" isExecutable=\"true\"><b:startEvent id=\"s\"><b:timerEventDefinition><b:timeCycle>R3/PT10M\
     </b:timeCycle></b:timerEventDefinition></b:startEvent></b:process></b:definitions><!-- last -->",
];

async fn router() -> Router {
    let store = Arc::new(MemoryStore::new());
    let engine =
        Engine::start_on(store, Settings::default(), notations(), SourceFormats::default()).await;
    App::new(&engine.expect("the engine starts")).router()
}

#[tokio::test]
async fn xml_round_trip_for_all_three_timer_event_types() {
    let router = router().await;
    for text in TIMERS {
        check(&router, text).await;
    }
}

#[tokio::test]
async fn texts_come_back_byte_for_byte() {
    let router = router().await;
    check(&router, AWKWARD).await;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut models = 0;
    for directory in ["examples/bpmn", "crates/bpmn/tests/models"] {
        for entry in std::fs::read_dir(root.join(directory)).expect("models are there") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|it| it == "bpmn") {
                check(&router, &std::fs::read_to_string(&path).expect("a model")).await;
                models += 1;
            }
        }
    }
    assert!(models >= 11, "{models} models");
}

async fn check(router: &Router, text: &str) {
    let deploy = Request::post("/api/v1/definitions").header("content-type", "application/xml");
    let deploy = deploy.body(Body::from(text.to_owned())).expect("a request");
    let (status, answer) = ask(router, deploy).await;
    assert_eq!(status, StatusCode::CREATED, "{}", String::from_utf8_lossy(&answer));
    let answer: serde_json::Value = serde_json::from_slice(&answer).expect("JSON");
    let name = answer["definitions"][0]["name"].as_str().expect("a name");
    let path = format!("/api/v1/definitions/{name}/versions/1/source");
    let read = Request::get(path).body(Body::empty()).expect("a request");
    let (status, source) = ask(router, read).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(String::from_utf8_lossy(&source), text);
}

async fn ask(router: &Router, request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response = router.clone().oneshot(request).await.expect("never fails");
    let status = response.status();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, body.to_vec())
}
