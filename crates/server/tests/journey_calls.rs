//! What journeys do outside: retries, client authentication, headers that pass through, and
//! credentials that they look at themselves.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    ApiKey, App, Engine, Formats, JourneySettings, ProfileSettings, Role, SecretSource, Settings,
    new_key, notations,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::ServiceExt as _;

/// A service: answers by the number of the request, and remembers what it was sent.
struct Service {
    base: String,
    heard: Arc<Mutex<Vec<String>>>,
}

async fn service(answer: fn(usize, &str) -> (u16, Value)) -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (known, count) = (heard.clone(), Arc::new(AtomicUsize::new(0)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (known, count) = (known.clone(), count.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (known, count) = (known.clone(), count.clone());
                async move {
                    let path = request.uri().path().to_owned();
                    let header = |name: &str| {
                        let value = request.headers().get(name);
                        value.and_then(|it| it.to_str().ok()).unwrap_or("-").to_owned()
                    };
                    let (token, tenant) = (header("authorization"), header("x-tenant"));
                    known.lock().expect("whole").push(format!("{path} {token} {tenant}"));
                    let number = count.fetch_add(1, Ordering::SeqCst);
                    let (status, body) = answer(number, &path);
                    let mut response = Response::new(Body::from(body.to_string()));
                    *response.status_mut() = status.try_into().expect("a status");
                    let kind = "application/json".try_into().expect("a value");
                    response.headers_mut().insert("content-type", kind);
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Service { base, heard }
}

impl Service {
    fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("whole").clone()
    }
}

/// A server with one definition.
async fn serve(journeys: JourneySettings, text: &str) -> Router {
    let mut settings = Settings { journeys, ..Settings::default() };
    settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
    settings.egress.ports = Vec::new();
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::on(store, settings, notations(), Formats::default()).await;
    let engine = engine.expect("the engine starts");
    let source = Source { name: "x.journey.yaml".to_owned(), text: text.into(), files: Vec::new() };
    engine.kernel().deploy("journey", source).await.expect("a good definition");
    App::new(&engine).router()
}

async fn post(router: &Router, path: &str, headers: &[(&str, &str)], body: Value) -> Value {
    let mut request = Request::builder().method("POST").uri(format!("/api/v1{path}"));
    request = request.header("host", "localhost").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_string())).expect("a request");
    let response = router.clone().oneshot(request).await.expect("an answer");
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&body).expect("JSON")
}

const HEADER: &str = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n";

#[tokio::test]
async fn what_the_policy_names_is_tried_again_and_the_last_answer_counts() {
    let service = service(|number, path| match (path, number) {
        ("/flaky", 0 | 1) => (503, json!({ "busy": true })),
        ("/never", _) => (500, json!({ "broken": true })),
        _ => (200, json!({ "done": number })),
    })
    .await;
    let text = format!(
        "{HEADER}  policies:
    httpResilience:
      definitions:
        patient: {{maxAttempts: 3, retryOn: [HTTP_5XX], backoff: {{kind: fixed, baseDelayMs: 1, maxDelayMs: 1}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/flaky', resultVar: a, resiliencePolicyRef: patient}}, next: fail}}
    fail: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/never', resultVar: b, resiliencePolicyRef: patient}}, next: gone}}
    gone: {{type: task, task: {{kind: httpCall:v1, method: GET, url: 'http://127.0.0.1:1/', timeoutMs: 500, resultVar: c}}, next: done}}
    done: {{type: succeed}}
",
        base = service.base
    );
    let router = serve(JourneySettings::default(), &text).await;
    let outcome = post(&router, "/journeys/x/start", &[], json!({})).await;
    let output = &outcome["output"];
    assert_eq!(output["a"]["ok"], true, "{outcome}");
    assert_eq!((&output["b"]["status"], &output["b"]["ok"]), (&json!(500), &json!(false)));
    assert_eq!(output["b"]["body"], json!({ "broken": true }));
    assert_eq!(output["c"]["error"]["type"], "NETWORK", "{outcome}");
    let count = |path: &str| service.heard().iter().filter(|it| it.starts_with(path)).count();
    assert_eq!((count("/flaky"), count("/never")), (3, 3));
}

#[tokio::test]
async fn a_token_of_an_authorization_server_is_kept_and_renewed_once() {
    let service = service(|number, path| match (path, number) {
        ("/token", _) => (200, json!({ "access_token": format!("t{number}"), "expires_in": 3600 })),
        // The first token is refused once.
        (_, 1) => (401, json!({})),
        _ => (200, json!({})),
    })
    .await;
    let secret = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(secret.path(), "s3cret\n").expect("it can be written");
    let mut settings = JourneySettings::default();
    let source = SecretSource::File(secret.path().to_owned());
    settings.secrets.insert("secret://client".to_owned(), source);
    let text = format!(
        "{HEADER}  policies:
    httpClientAuth:
      definitions:
        crm: {{kind: oauth2ClientCredentials, tokenEndpoint: '{base}/token', auth: {{method: clientSecretBasic, clientId: me, clientSecretRef: 'secret://client'}}, form: {{scope: read}}}}
        fixed: {{kind: bearerStatic, tokenRef: 'secret://client'}}
  start: one
  states:
    one: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/one', resultVar: a, auth: {{policyRef: crm}}}}, next: two}}
    two: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/two', resultVar: b, auth: {{policyRef: crm}}}}, next: three}}
    three: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/three', resultVar: c, auth: {{policyRef: fixed}}}}, next: done}}
    done: {{type: succeed}}
",
        base = service.base
    );
    let router = serve(settings, &text).await;
    let outcome = post(&router, "/journeys/x/start", &[], json!({})).await;
    assert_eq!(outcome["output"]["b"]["status"], 200, "{outcome}");
    assert!(!outcome.to_string().contains("s3cret"), "{outcome}");
    let heard = service.heard();
    let expected = [
        "/token Basic bWU6czNjcmV0 -",
        "/one Bearer t0 -",
        "/token Basic bWU6czNjcmV0 -",
        "/one Bearer t2 -",
        "/two Bearer t2 -",
        "/three Bearer s3cret -",
    ];
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn headers_pass_through_and_credentials_are_looked_at_while_the_request_lasts() {
    let service = service(|_, _| (200, json!({}))).await;
    let key = new_key();
    let kept =
        ApiKey { id: "k".to_owned(), sha256: key.sha256, role: Role::Viewer, expires_at: None };
    let mut settings = JourneySettings::default();
    let profile = ProfileSettings { keys: vec![kept], jwt: None };
    settings.profiles.insert("default".to_owned(), profile);
    let text = format!(
        "{HEADER}  bindings: {{http: {{start: {{headersPassthrough: [{{from: X-From, to: X-Tenant}}]}}}}}}
  start: key
  states:
    key: {{type: task, task: {{kind: apiKeyValidate:v1}}, next: call}}
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/first', resultVar: r}}, next: ask}}
    ask: {{type: wait, wait: {{channel: manual, input: {{schema: {{}}}}}}, next: again}}
    again: {{type: task, task: {{kind: apiKeyValidate:v1, authVar: later}}, next: second}}
    second: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/second', resultVar: r}}, next: done}}
    done: {{type: succeed}}
",
        base = service.base
    );
    let router = serve(settings, &text).await;
    let headers = [("x-api-key", key.secret.as_str()), ("x-from", "t-1")];
    let status = post(&router, "/journeys/x/start", &headers, json!({})).await;
    let id = status["journeyId"].as_str().expect("an id").to_owned();
    assert_eq!(status["currentState"], "ask", "{status}");
    post(&router, &format!("/journeys/{id}/steps/ask"), &[("x-api-key", "wrong")], json!({})).await;
    let request = Request::builder().uri(format!("/api/v1/journeys/{id}/result"));
    let request = request.header("host", "localhost").body(Body::empty()).expect("a request");
    let response = router.oneshot(request).await.expect("an answer");
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let outcome: Value = serde_json::from_slice(&body).expect("JSON");
    let output = &outcome["output"];
    assert_eq!(output["auth"], json!({ "apiKey": { "keyId": "k" } }), "{outcome}");
    assert_eq!(output["later"]["problem"]["code"], "APIKEY_INVALID");
    assert_eq!(output["later"]["apiKey"], Value::Null);
    // The header was of the first request only, and nothing of it is kept.
    assert_eq!(service.heard(), ["/first - t-1", "/second - -"]);
    assert!(!outcome.to_string().contains(&key.secret));
}
