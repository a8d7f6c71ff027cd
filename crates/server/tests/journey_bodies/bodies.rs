//! Outbound answers, secrets and routes of journeys.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use meantime_core::Source;
use meantime_kernel::store::MemoryStore;
use meantime_server::{
    App, Engine, JourneySettings, SecretSource, Settings, SourceFormats, notations,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::journeys::{self, send, serve};
use crate::slow_call::{self, silent_service};

const HEADER: &str = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n";

/// A service that answers with fixed headers and bytes, and records requests: method, target,
/// content type and body.
async fn raw_service(
    headers: &'static [(&'static str, &'static str)],
    body: impl Into<Vec<u8>>,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (known, body) = (heard.clone(), Arc::new(body.into()));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (known, body) = (known.clone(), body.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (known, body) = (known.clone(), body.clone());
                async move {
                    let (parts, sent) = request.into_parts();
                    let kind = parts.headers.get("content-type");
                    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or("-").to_owned();
                    let sent = sent.collect().await.expect("a body").to_bytes();
                    let sent = String::from_utf8_lossy(&sent).into_owned();
                    let line = format!("{} {} {kind} {sent}", parts.method, parts.uri);
                    known.lock().expect("whole").push(line);
                    let mut response = Response::new(Body::from((*body).clone()));
                    for (name, value) in headers {
                        let value = value.parse().expect("a value");
                        response.headers_mut().append(*name, value);
                    }
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (base, heard)
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

async fn called(base: &str) -> Value {
    let text = format!(
        "{HEADER}  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/', resultVar: r}}, next: done}}
    done: {{type: succeed, outputVar: r}}
"
    );
    let router = serve(JourneySettings::default(), &text).await;
    let (_, outcome) = send(&router, "/journeys/x/start", &[], "{}".to_owned()).await;
    outcome["output"].clone()
}

/// Status and headers are kept when the body is refused.
#[tokio::test]
async fn an_answer_that_cannot_be_kept_is_an_error_with_its_status() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let bodies = [
        (deep.as_str(), "deeper than 128"),
        ("{\"a\":1,\"a\":2}", "twice"),
        ("\"\\ud800\"", "surrogate"),
        ("[1e99999]", "digits"),
    ];
    for (body, reason) in bodies {
        let (base, _) = raw_service(JSON, body).await;
        let result = called(&base).await;
        let error = &result["error"];
        assert_eq!((&result["status"], &result["ok"]), (&json!(200), &json!(false)), "{result}");
        assert_eq!((&error["type"], &error["code"]), (&json!("NETWORK"), &json!("HTTP_BODY")));
        assert!(error["message"].as_str().is_some_and(|it| it.contains(reason)), "{result}");
        assert_eq!(result["headers"]["content-type"], "application/json", "{result}");
    }
    let (base, _) = raw_service(JSON, vec![b'"', 0xff, b'"']).await;
    assert_eq!(called(&base).await["error"]["code"], "HTTP_BODY");
    // A body that is not JSON is kept as text.
    let (base, _) = raw_service(JSON, "<html>").await;
    assert_eq!(called(&base).await["body"], "<html>");
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    let (base, _) = raw_service(JSON, deep).await;
    assert_eq!(called(&base).await["ok"], true);
}

/// Header names are case-insensitive; `set-cookie` is a list.
#[tokio::test]
async fn headers_are_found_in_any_case_and_cookies_stay_a_list() {
    let headers = &[
        ("X-Rate-Limit", "7"),
        ("Vary", "a"),
        ("Vary", "b"),
        ("Set-Cookie", "a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT"),
        ("Set-Cookie", "b=2"),
    ];
    let (base, heard) = raw_service(headers, "").await;
    let text = format!(
        "{HEADER}  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: HEAD, url: '{base}/a', resultVar: r}}, next: look}}
    look:
      type: transform
      transform:
        mapper:
          lang: dataweave
          expr: |
            {{limit: context.r.headers.'X-Rate-Limit', index: context.r.headers['VARY'],
             cookies: context.r.headers.'Set-Cookie', none: context.r.headers.'X-None',
             other: context.r.Headers}}
        target: {{kind: var}}
        resultVar: seen
      next: again
    again:
      type: task
      task:
        kind: httpCall:v1
        method: PATCH
        url: '{base}/b'
        headers: {{Content-Type: application/json}}
        body: {{mapper: {{lang: dataweave, expr: '\"limit \" ++ context.r.headers.\"x-RATE-limit\"'}}}}
        resultVar: s
      next: plain
    plain:
      type: task
      task:
        kind: httpCall:v1
        method: POST
        url: '{base}/${{context.r.headers.X-Rate-Limit}}/${{context.odd}}?q=${{context.odd}}'
        body: {{mapper: {{lang: dataweave, expr: '\"just text\"'}}}}
        resultVar: s
      next: done
    done: {{type: succeed, outputVar: seen}}
"
    );
    let router = serve(JourneySettings::default(), &text).await;
    let body = json!({ "odd": "a/b?c&d é#" }).to_string();
    let (_, outcome) = send(&router, "/journeys/x/start", &[], body).await;
    let expected = json!({
        "limit": "7",
        "index": "a, b",
        "cookies": ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=2"],
        "none": null,
        "other": null,
    });
    assert_eq!(outcome["output"], expected, "{outcome}");
    let odd = "a%2Fb%3Fc%26d%20%C3%A9%23";
    let heard = heard.lock().expect("whole").clone();
    let expected = [
        "HEAD /a - ".to_owned(),
        "PATCH /b application/json \"limit 7\"".to_owned(),
        format!("POST /7/{odd}?q={odd} text/plain; charset=utf-8 just text"),
    ];
    assert_eq!(heard, expected);
}

async fn on(store: &Arc<MemoryStore>, journeys: JourneySettings) -> Engine {
    let mut settings = Settings { journeys, ..Settings::default() };
    settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
    settings.egress.ports = Vec::new();
    let engine =
        Engine::start_on(store.clone(), settings, notations(), SourceFormats::default()).await;
    engine.expect("the engine starts")
}

/// It is not a result of type `NETWORK`.
#[tokio::test]
async fn a_missing_secret_is_refused_at_deploy_and_an_incident_later() {
    let (base, _) = raw_service(JSON, "{\"fine\":true}").await;
    let text = format!(
        "{HEADER}  policies: {{httpClientAuth: {{definitions: {{fixed: {{kind: bearerStatic, tokenRef: 'secret://a'}}}}}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/', resultVar: r, auth: {{policyRef: fixed}}}}, next: done}}
    done: {{type: succeed, outputVar: r}}
"
    );
    let source = || Source { name: "x".to_owned(), text: text.as_str().into(), files: Vec::new() };
    let store = Arc::new(MemoryStore::new());
    let without = on(&store, JourneySettings::default()).await;
    let router = App::new(&without).router();
    let kind = [("content-type", "application/yaml")];
    let (status, refused) = send(&router, "/definitions", &kind, text.clone()).await;
    assert_eq!((status, &refused["diagnostics"][0]["code"]), (422, &json!("J061")), "{refused}");
    without.stop().await;

    let secret = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secret.path(), "s3cret\n").expect("it can be written");
    let mut settings = JourneySettings::default();
    let file = SecretSource::File(secret.path().to_owned());
    settings.secrets.insert("secret://a".to_owned(), file);
    let with = on(&store, settings.clone()).await;
    with.kernel().deploy("journey", source()).await.expect("the secret is there");
    with.stop().await;

    let without = on(&store, JourneySettings::default()).await;
    let router = App::new(&without).router();
    let (_, status) = send(&router, "/journeys/x/start", &[], "{}".to_owned()).await;
    assert_eq!((&status["phase"], &status["currentState"]), (&json!("RUNNING"), &json!("call")));
    let id = status["journeyId"].as_str().expect("an id").to_owned();
    let (_, instance) = send(&router, &format!("/instances/{id}"), &[], String::new()).await;
    let incident = &instance["incidents"][0];
    assert_eq!(incident["code"], "HTTP_AUTH_CONFIG", "{instance}");
    let incident = incident["id"].as_str().expect("an id").to_owned();
    without.stop().await;

    let with = on(&store, settings).await;
    let router = App::new(&with).router();
    let retry = format!("/incidents/{incident}/retry");
    let (status, retried) = send(&router, &retry, &[], "{}".to_owned()).await;
    assert_eq!(status, 200, "{retried}");
    let result = ended(&router, &id).await;
    assert_eq!(result["output"]["body"], json!({ "fine": true }), "{result}");
}

/// The outcome of a journey that ends soon.
async fn ended(router: &Router, id: &str) -> Value {
    for _ in 0..1_000 {
        let path = format!("/journeys/{id}/result");
        let (status, result) = send(router, &path, &[], String::new()).await;
        if status == 200 {
            return result;
        }
        tokio::task::yield_now().await;
    }
    panic!("it did not end");
}

fn api(name: &str, bindings: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Api\nmetadata: {{name: {name}, version: 1.0.0}}\nspec:\n  bindings: {{http: {bindings}}}\n  start: done\n  states: {{done: {{type: succeed}}}}\n"
    )
}

/// An API answers at the path that its `route` declares, and a second one at that path is refused.
#[tokio::test]
async fn an_api_answers_at_its_route_and_takes_nobody_elses() {
    let text =
        api("quote-v2", "{route: {path: /apis/quote}, apiResponses: {default: {SUCCEEDED: 201}}}");
    let router = serve(JourneySettings::default(), &text).await;
    for path in ["/apis/quote", "/apis/quote-v2"] {
        let (status, answer) = send(&router, path, &[], "{\"a\":1}".to_owned()).await;
        assert_eq!((status, &answer), (201, &json!({ "a": 1 })), "{path}");
    }
    let kind = [("content-type", "application/yaml")];
    let refused = [
        api("other", "{route: {path: /apis/quote}}"),
        api("quote", "{}"),
        api("other", "{route: {path: /apis/quote-v2}}"),
        api("other", "{route: {path: /instances/mine}}"),
        api("other", "{route: {path: '/a b'}}"),
        format!(
            "{}---\n{}",
            api("one", "{route: {path: /both}}"),
            api("two", "{route: {path: /both}}")
        ),
    ];
    for text in refused {
        for path in ["/definitions?dryRun=true", "/definitions"] {
            let (status, answer) = send(&router, path, &kind, text.clone()).await;
            let code = &answer["diagnostics"][0]["code"];
            assert_eq!((status, code), (422, &json!("J052")), "{path} {text}: {answer}");
        }
    }
    // The same API again is no conflict, and a route without a path gets the default path.
    for text in [text.replace("1.0.0", "1.0.1"), api("other", "{route: {method: POST}}")] {
        let (status, answer) = send(&router, "/definitions", &kind, text).await;
        assert_eq!(status, 201, "{answer}");
    }
    assert_eq!(send(&router, "/apis/other", &[], "{}".to_owned()).await.0, 200);
}

/// An API that takes longer than a request may answers with its `onTimeout`.
#[tokio::test]
async fn an_api_past_the_longest_wait_answers_as_it_declares() {
    let silent = silent_service().await;
    let text = slow_call::definition("Api", "slow", 600, &silent);
    let mut settings = Settings::default();
    settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
    settings.egress.ports = Vec::new();
    settings.http.max_wait = meantime_server::Period::seconds(1);
    let router = deployed(settings, &text).await;
    let (status, problem) = send(&router, "/apis/slow", &[], "{}".to_owned()).await;
    assert_eq!((status, &problem["code"]), (504, &json!("TOO_SLOW")), "{problem}");
}

async fn deployed(settings: Settings, text: &str) -> Router {
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::start_on(store, settings, notations(), SourceFormats::default()).await;
    let engine = engine.expect("the engine starts");
    let source = Source { name: "x".to_owned(), text: text.into(), files: Vec::new() };
    engine.kernel().deploy("journey", source).await.expect("a good definition");
    App::new(&engine).router()
}

fn on_a_virtual_clock() -> Settings {
    let mut settings = Settings::default();
    settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
    settings.egress.ports = Vec::new();
    settings.clock.is_virtual = true;
    settings.clock.start = meantime_core::Timestamp::parse("2026-01-01T00:00:00Z").ok();
    settings
}

/// A call that times out at the deadline is not a failed call: the run ends with its deadline.
#[tokio::test]
async fn je2_a_call_cut_by_the_deadline_ends_the_run_where_the_clock_stands_still() {
    let silent = silent_service().await;
    for kind in ["Journey", "Api"] {
        let text = slow_call::definition(kind, "x", 1, &silent);
        let router = deployed(on_a_virtual_clock(), &text).await;
        if kind == "Api" {
            let (status, problem) = send(&router, "/apis/x", &[], "{}".to_owned()).await;
            assert_eq!((status, &problem["code"]), (504, &json!("TOO_SLOW")), "{problem}");
        } else {
            let (_, outcome) = send(&router, "/journeys/x/start", &[], "{}".to_owned()).await;
            assert_eq!(outcome["error"]["code"], "TOO_SLOW", "{outcome}");
            let counted = "meantime_deadlines_reached_total{code=\"TOO_SLOW\"} 1";
            counts(&router, counted).await;
        }
    }
}

/// Waits until the metrics contain a line: another task updates the counters.
async fn counts(router: &Router, line: &str) {
    use tower::ServiceExt as _;
    for _ in 0..1_000 {
        let request = Request::get("/metrics").header("host", "localhost");
        let request = request.body(Body::empty()).expect("a request");
        let response = router.clone().oneshot(request).await.expect("an answer");
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        if String::from_utf8_lossy(&body).contains(line) {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("no {line}");
}

/// With a virtual clock, time does not move while a request waits.
#[tokio::test]
async fn a_retry_inside_an_api_comes_where_the_clock_stands_still() {
    let service = journeys::service(|number, _| match number {
        0 | 1 => (503, json!({})),
        _ => (200, json!({ "fine": true })),
    })
    .await;
    let text = format!(
        "apiVersion: v1
kind: Api
metadata: {{name: x, version: 1.0.0}}
spec:
  policies: {{httpResilience: {{definitions: {{patient: {{maxAttempts: 3, retryOn: [HTTP_5XX], backoff: {{kind: fixed, baseDelayMs: 50, maxDelayMs: 50}}}}}}}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{}/', resultVar: r, resiliencePolicyRef: patient}}, next: when}}
    when: {{type: transform, transform: {{mapper: {{lang: dataweave, expr: '{{body: context.r.body, at: now()}}'}}}}, next: done}}
    done: {{type: succeed}}
",
        service.base
    );
    let router = deployed(on_a_virtual_clock(), &text).await;
    let (status, answer) = send(&router, "/apis/x", &[], "{}".to_owned()).await;
    assert_eq!((status, &answer["body"]), (200, &json!({ "fine": true })), "{answer}");
    assert_eq!(service.heard().len(), 3);
    // For the run, exactly two pauses of 50 ms have passed.
    assert_eq!(answer["at"], "2026-01-01T00:00:00.1Z", "{answer}");
}

/// `errors.envelope` of a journey applies to its own errors.
#[tokio::test]
async fn a_journeys_error_comes_in_its_own_envelope() {
    let text = format!(
        "{HEADER}  errors:
    envelope:
      format: custom
      mapper: {{lang: dataweave, expr: '{{oops: error.code, why: payload.error.reason, who: context.me}}'}}
  outcomes:
    young: {{when: {{phase: FAILED, predicate: {{lang: dataweave, expr: 'context.error.code == \"AGE_17\"'}}}}}}
  start: no
  states:
    no: {{type: fail, errorCode: 'AGE_${{context.age}}', reason: too young}}
"
    );
    let router = serve(JourneySettings::default(), &text).await;
    let body = json!({ "age": 17, "me": "Ann" }).to_string();
    let (_, outcome) = send(&router, "/journeys/x/start", &[], body).await;
    let expected = json!({ "oops": "AGE_17", "why": "too young", "who": "Ann" });
    assert_eq!(outcome["error"], expected, "{outcome}");
    assert_eq!((&outcome["status"], &outcome["outcomeId"]), (&json!("AGE_17"), &json!("young")));
}

/// `dueAt` of a status is never later than the deadline.
#[tokio::test]
async fn d3_what_is_due_after_the_deadline_is_due_with_it() {
    let text = format!(
        "{HEADER}  execution: {{maxDurationSec: 60, onTimeout: {{errorCode: LATE, reason: too late}}}}
  start: nap
  states:
    nap: {{type: timer, timer: {{duration: PT1H}}, next: done}}
    done: {{type: succeed}}
"
    );
    let router = deployed(on_a_virtual_clock(), &text).await;
    let (_, status) = send(&router, "/journeys/x/start", &[], "{}".to_owned()).await;
    assert_eq!(status["dueAt"], "2026-01-01T00:01:00Z", "{status}");
}
