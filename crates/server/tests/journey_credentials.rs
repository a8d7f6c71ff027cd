//! Credentials of callers of journeys never reach another run, across restarts, nodes and
//! concurrent load; a caller without credentials, or with forged ones, is never accepted.

#[path = "support/issuer.rs"]
mod issuer;

use std::convert::Infallible;
use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use issuer::{accepts, key_pair, token};
use meantime_core::Source;
use meantime_kernel::random::{Entropy as _, SeededEntropy};
use meantime_kernel::store::{MemoryStore, Store};
use meantime_server::{
    ApiKey, App, Engine, NewKey, ProfileSettings, Role, Settings, SourceFormats, new_key, notations,
};
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::{Database, database};
use meantime_store::sqlite::{self, SqliteStore};
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower::ServiceExt as _;

/// A service that records which token came with which path. Below `/hold` it answers when the test
/// says so; below `/flaky` the first request for every path is rejected.
struct Service {
    base: String,
    heard: Arc<Mutex<Vec<(String, String)>>>,
    gate: watch::Sender<bool>,
}

async fn service() -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let heard = Arc::new(Mutex::new(Vec::<(String, String)>::new()));
    let gate = watch::Sender::new(false);
    let (known, opened) = (heard.clone(), gate.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (known, opened) = (known.clone(), opened.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (known, mut opened) = (known.clone(), opened.subscribe());
                async move {
                    let path = request.uri().path().to_owned();
                    let token = request.headers().get("x-tenant");
                    let token = token.and_then(|it| it.to_str().ok()).unwrap_or("-").to_owned();
                    let is_first = {
                        let mut known = known.lock().expect("whole");
                        let is_first = !known.iter().any(|(it, _)| *it == path);
                        known.push((path.clone(), token));
                        is_first
                    };
                    if path.starts_with("/hold") {
                        opened.wait_for(|it| *it).await.expect("the test goes on");
                    }
                    let is_refused = is_first && path.starts_with("/flaky");
                    let mut response = Response::new(Body::from("{}"));
                    *response.status_mut() =
                        if is_refused { 503 } else { 200 }.try_into().expect("a status");
                    Ok::<_, Infallible>(response)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    Service { base, heard, gate }
}

impl Service {
    fn heard(&self) -> Vec<(String, String)> {
        self.heard.lock().expect("whole").clone()
    }

    fn count(&self, path: &str) -> usize {
        self.heard().iter().filter(|(it, _)| it.starts_with(path)).count()
    }

    fn open(&self) {
        self.gate.send_replace(true);
    }
}

/// Lets other tasks run until a condition holds.
async fn until<F: Future<Output = bool>>(mut is_so: impl FnMut() -> F) {
    while !is_so().await {
        tokio::task::yield_now().await;
    }
}

fn settings(profile: ProfileSettings) -> Settings {
    let mut settings = Settings::default();
    settings.egress.allow = vec!["127.0.0.0/8".to_owned()];
    settings.egress.ports = Vec::new();
    settings.journeys.profiles.insert("default".to_owned(), profile);
    settings
}

fn key_profile(key: &NewKey) -> ProfileSettings {
    let (id, sha256) = ("k".to_owned(), key.sha256.clone());
    let kept = ApiKey { id, name: None, sha256, role: Role::Viewer, expires_at: None };
    ProfileSettings { keys: vec![kept], jwt: None }
}

/// A process that serves a store.
async fn process(store: Arc<dyn Store>, settings: &Settings) -> (Engine, Router) {
    let engine =
        Engine::start_on(store, settings.clone(), notations(), SourceFormats::default()).await;
    let engine = engine.expect("the engine starts");
    let router = App::new(&engine).router();
    (engine, router)
}

async fn deploy(engine: &Engine, text: &str) {
    let source = Source { name: "x.journey.yaml".to_owned(), text: text.into(), files: Vec::new() };
    engine.kernel().deploy("journey", source).await.expect("a good definition");
}

async fn send(
    router: &Router,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> (u16, Value) {
    let method = if body.is_none() { "GET" } else { "POST" };
    let mut request = Request::builder().method(method).uri(format!("/api/v1{path}"));
    request = request.header("host", "localhost").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = body.map(|it| it.to_string()).unwrap_or_default();
    let request = request.body(Body::from(body)).expect("a request");
    let response = router.clone().oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&body).expect("JSON"))
}

fn id_of(answer: &Value) -> String {
    answer["journeyId"].as_str().unwrap_or_else(|| panic!("an id: {answer}")).to_owned()
}

/// Waits for the end of a journey.
async fn result(router: &Router, id: &str) -> Value {
    let path = format!("/journeys/{id}/result");
    until(|| async { send(router, &path, &[], None).await.0 == 200 }).await;
    send(router, &path, &[], None).await.1
}

/// A store of the database, as each process opens its own.
async fn store_in(database: &Database) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(database.options()).await.expect("the store opens"))
}

#[tokio::test]
async fn a_restart_hands_no_callers_credentials_to_another_run() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    restart(async || store.clone()).await;
}

#[tokio::test]
async fn a_restart_on_postgresql_hands_no_callers_credentials_to_another_run() {
    let database = database().expect("PostgreSQL");
    restart(async || store_in(&database).await).await;
}

async fn restart(store: impl AsyncFn() -> Arc<dyn Store>) {
    let service = service().await;
    let key = new_key();
    let settings = settings(key_profile(&key));
    let (engine, router) = process(store().await, &settings).await;
    let base = &service.base;
    deploy(&engine, &format!(
        "apiVersion: v1
kind: Journey
metadata: {{name: later, version: 1.0.0}}
spec:
  bindings: {{http: {{start: {{headersPassthrough: [{{from: X-From, to: X-Tenant}}]}}}}}}
  policies: {{httpResilience: {{definitions: {{patient: {{maxAttempts: 2, retryOn: [HTTP_5XX], backoff: {{kind: fixed, baseDelayMs: 1500, maxDelayMs: 1500}}}}}}}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/flaky/${{context.me}}', resultVar: r, resiliencePolicyRef: patient}}, next: check}}
    check: {{type: task, task: {{kind: apiKeyValidate:v1}}, next: rest}}
    rest: {{type: timer, timer: {{duration: PT1S}}, next: again}}
    again: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/again', resultVar: r}}, next: recheck}}
    recheck: {{type: task, task: {{kind: apiKeyValidate:v1, authVar: later}}, next: done}}
    done: {{type: succeed}}
"
    ))
    .await;
    deploy(&engine, &format!(
        "apiVersion: v1
kind: Journey
metadata: {{name: hold, version: 1.0.0}}
spec:
  bindings: {{http: {{start: {{headersPassthrough: [{{from: X-From, to: X-Tenant}}]}}}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/hold', resultVar: r}}, next: done}}
    done: {{type: succeed}}
"
    ))
    .await;
    // Callers without a token or key, whose requests are unanswered when the process ends.
    let callers = ["a", "b"].map(|me| {
        let router = router.clone();
        tokio::spawn(async move {
            send(&router, "/journeys/later/start", &[], Some(json!({ "me": me }))).await
        })
    });
    until(|| async { service.count("/flaky") == callers.len() }).await;
    let listed = send(&router, "/instances?definition=later", &[], None).await.1;
    let items = listed["items"].as_array().expect("a list").iter();
    let ids: Vec<String> = items.map(|it| it["id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(ids.len(), callers.len(), "{listed}");
    engine.stop().await;
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    drop((engine, router));

    let (engine, router) = process(store().await, &settings).await;
    // Other callers, whose requests are in progress while the runs of the first continue.
    let others: Vec<_> = (0..4)
        .map(|_| {
            let (router, secret) = (router.clone(), key.secret.clone());
            tokio::spawn(async move {
                let headers = [("x-from", "of-another"), ("x-api-key", secret.as_str())];
                send(&router, "/journeys/hold/start", &headers, Some(json!({}))).await
            })
        })
        .collect();
    until(|| async { service.count("/hold") == 4 }).await;
    for id in &ids {
        let outcome = result(&router, id).await;
        for auth in ["auth", "later"] {
            let checked = &outcome["output"][auth]["apiKey"];
            assert_eq!(checked["problem"]["code"], "APIKEY_MISSING", "{auth}: {outcome}");
            assert_eq!(checked["keyId"], Value::Null, "{auth}: {outcome}");
        }
        let history = send(&router, &format!("/instances/{id}/history"), &[], None).await.1;
        assert!(history.to_string().contains("requestGone"), "{history}");
    }
    service.open();
    for other in others {
        assert_eq!(other.await.expect("it ends").0, 200);
    }
    for (path, token) in service.heard() {
        let expected = if path == "/hold" { "of-another" } else { "-" };
        assert_eq!(token, expected, "{path}");
    }
    engine.stop().await;
}

#[tokio::test]
async fn nodes_under_crossing_load_never_mix_up_their_callers() {
    let store = MemoryStore::new();
    crossing(Arc::new(store.for_node()), Arc::new(store.for_node())).await;
}

#[tokio::test]
async fn nodes_on_postgresql_under_crossing_load_never_mix_up_their_callers() {
    let database = database().expect("PostgreSQL");
    crossing(store_in(&database).await, store_in(&database).await).await;
}

async fn crossing(one: Arc<dyn Store>, other: Arc<dyn Store>) {
    const CALLERS: usize = 60;
    let service = service().await;
    let key = new_key();
    let settings = settings(key_profile(&key));
    let nodes = [process(one, &settings).await, process(other, &settings).await];
    let base = &service.base;
    deploy(&nodes[0].0, &format!(
        "apiVersion: v1
kind: Journey
metadata: {{name: cross, version: 1.0.0}}
spec:
  bindings: {{http: {{start: {{headersPassthrough: [{{from: X-From, to: X-Tenant}}]}}}}}}
  policies: {{httpResilience: {{definitions: {{patient: {{maxAttempts: 3, retryOn: [HTTP_5XX], backoff: {{kind: fixed, baseDelayMs: 1, maxDelayMs: 1}}}}}}}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/flaky/${{context.me}}', resultVar: r, resiliencePolicyRef: patient}}, next: rest}}
    rest: {{type: timer, timer: {{duration: PT0S}}, next: check}}
    check: {{type: task, task: {{kind: apiKeyValidate:v1}}, next: again}}
    again: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/flaky/again/${{context.me}}', resultVar: r, resiliencePolicyRef: patient}}, next: done}}
    done: {{type: succeed, outputVar: auth}}
"
    ))
    .await;
    let callers: Vec<_> = (0..CALLERS)
        .map(|me| {
            let (router, other) = (nodes[me % 2].1.clone(), nodes[(me + 1) % 2].1.clone());
            let (token, secret) = (format!("t{me}"), key.secret.clone());
            tokio::spawn(async move {
                // Every third caller sends nothing.
                let headers = [("x-from", token.as_str()), ("x-api-key", secret.as_str())];
                let headers = if me % 3 == 0 { &[][..] } else { &headers[..] };
                let body = Some(json!({ "me": me.to_string() }));
                let (status, started) = send(&router, "/journeys/cross/start", headers, body).await;
                assert_eq!(status, 200, "{started}");
                (me, result(&other, &id_of(&started)).await)
            })
        })
        .collect();
    for caller in callers {
        let (me, outcome) = caller.await.expect("it ends");
        // A timer moved the run on before the check, so no request is in scope.
        assert_eq!(outcome["output"]["apiKey"]["problem"]["code"], "APIKEY_MISSING", "{me}");
    }
    let heard = service.heard();
    assert!(heard.len() >= 2 * CALLERS, "{}", heard.len());
    for (path, token) in heard {
        let me = path.rsplit('/').next().unwrap_or_default();
        let own = format!("t{me}");
        let sent_nothing = me.parse::<usize>().is_ok_and(|me| me % 3 == 0);
        let is_later = path.contains("again");
        assert!(token == "-" || (token == own && !sent_nothing && !is_later), "{path}: {token}");
    }
    for (engine, _) in nodes {
        engine.stop().await;
    }
}

#[tokio::test]
async fn callers_of_one_instance_share_no_credentials() {
    let service = service().await;
    let key = new_key();
    let settings = settings(key_profile(&key));
    let (engine, router) = process(Arc::new(MemoryStore::new()), &settings).await;
    let base = &service.base;
    deploy(&engine, &format!(
        "apiVersion: v1
kind: Journey
metadata: {{name: pair, version: 1.0.0}}
spec:
  bindings:
    http:
      steps:
        askLeft: {{headersPassthrough: [{{from: X-From, to: X-Tenant}}]}}
        askRight: {{headersPassthrough: [{{from: X-From, to: X-Tenant}}]}}
  start: both
  states:
    both:
      type: parallel
      parallel:
        branches:
          - name: left
            start: askLeft
            states:
              askLeft: {{type: wait, wait: {{channel: manual, input: {{schema: {{}}}}}}, next: one}}
              one: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/hold/left', resultVar: l}}, next: two}}
              two: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/left', resultVar: l}}, next: check}}
              check: {{type: task, task: {{kind: apiKeyValidate:v1, authVar: left}}, next: end}}
              end: {{type: succeed}}
          - name: right
            start: askRight
            states:
              askRight: {{type: wait, wait: {{channel: manual, input: {{schema: {{}}}}}}, next: one}}
              one: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/right', resultVar: r}}, next: check}}
              check: {{type: task, task: {{kind: apiKeyValidate:v1, authVar: right}}, next: two}}
              two: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/hold/right', resultVar: r}}, next: end}}
              end: {{type: succeed}}
        join: {{strategy: allOf}}
      next: done
    done: {{type: succeed}}
"
    ))
    .await;
    let id = id_of(&send(&router, "/journeys/pair/start", &[], Some(json!({}))).await.1);
    let submit = |step: &str, token: &str, secret: &str| {
        let (router, path) = (router.clone(), format!("/journeys/{id}/steps/{step}"));
        let (token, secret) = (token.to_owned(), secret.to_owned());
        tokio::spawn(async move {
            let headers = [("x-from", token.as_str()), ("x-api-key", secret.as_str())];
            send(&router, &path, &headers, Some(json!({}))).await
        })
    };
    let left = submit("askLeft", "of-left", "wrong");
    until(|| async { service.count("/hold/left") == 1 }).await;
    let right = submit("askRight", "of-right", &key.secret);
    until(|| async { service.count("/hold/right") == 1 }).await;
    service.open();
    assert_eq!((left.await.expect("it ends").0, right.await.expect("it ends").0), (200, 200));
    let outcome = result(&router, &id).await;
    let output = &outcome["output"];
    assert_eq!(output["left"]["apiKey"]["problem"]["code"], "APIKEY_INVALID", "{outcome}");
    assert_eq!(output["right"]["apiKey"], json!({ "keyId": "k" }), "{outcome}");
    for (path, token) in service.heard() {
        let expected = if path.contains("left") { "of-left" } else { "of-right" };
        assert_eq!(token, expected, "{path}");
    }
}

/// The ways in which journeys use the result of a check, as the reference describes them: the
/// checks in their order, and the predicate under which the caller is accepted.
const PATTERNS: [(&str, &str, &str); 12] = [
    ("jwt-problem", "jwt", "context.auth.jwt.problem == null"),
    ("jwt-no-problem", "jwt", "not (context.auth.jwt.problem != null)"),
    ("jwt-claims", "jwt", "context.auth.jwt.claims != null"),
    ("jwt-subject", "jwt", "context.auth.jwt.claims.sub == \"ann\""),
    ("jwt-bare", "jwt", "auth.jwt.problem == null"),
    ("key-problem", "apiKey", "context.auth.apiKey.problem == null"),
    ("key-id", "apiKey", "context.auth.apiKey.keyId == \"k\""),
    (
        "both",
        "jwt apiKey",
        "context.auth.jwt.problem == null and context.auth.apiKey.problem == null",
    ),
    // The method that is checked last succeeds, and must not hide the failure of the first.
    ("jwt-then-key", "jwt apiKey", "context.auth.jwt.problem == null"),
    ("key-then-jwt", "apiKey jwt", "context.auth.apiKey.problem == null"),
    (
        "either",
        "jwt apiKey",
        "context.auth.jwt.claims != null or context.auth.apiKey.keyId != null",
    ),
    ("jwt-twice", "jwt jwt", "context.auth.jwt.problem == null"),
];

/// The states of the checks in their order, and the decision.
fn checked_states(checks: &str, predicate: &str) -> String {
    let checks: Vec<&str> = checks.split(' ').collect();
    let states: Vec<String> = checks
        .iter()
        .enumerate()
        .map(|(at, check)| {
            let next =
                if at + 1 < checks.len() { format!("check{}", at + 1) } else { "judge".to_owned() };
            format!(
                "    check{at}: {{type: task, task: {{kind: {check}Validate:v1}}, next: {next}}}\n"
            )
        })
        .collect();
    format!(
        "{states}    judge: {{type: choice, choices: [{{when: {{predicate: {{lang: dataweave, expr: '{predicate}'}}}}, next: accepted}}], default: refused}}
    accepted: {{type: succeed}}
    refused: {{type: fail, errorCode: REFUSED, reason: No good credential}}
",
        states = states.concat()
    )
}

fn pattern_journey(name: &str, checks: &str, predicate: &str, entry: &str) -> String {
    let (start, ask) = match entry {
        "start" => ("check0", String::new()),
        kind => (
            "ask",
            format!(
                "    ask: {{type: {kind}, {kind}: {{input: {{schema: {{}}}}}}, next: check0}}\n"
            ),
        ),
    };
    format!(
        "apiVersion: v1
kind: Journey
metadata: {{name: {name}-{entry}, version: 1.0.0}}
spec:
  start: {start}
  states:
{ask}{states}",
        states = checked_states(checks, predicate)
    )
}

/// Signs tokens and issues keys, and holds everything that callers may send.
struct Issuer {
    profile: ProfileSettings,
    ann: String,
    bob: String,
    secret: String,
    /// No token, forged tokens, and valid ones.
    tokens: Vec<String>,
    api_keys: Vec<String>,
    /// Bodies that look as if a check had already succeeded.
    bodies: Vec<Value>,
    _keys: NamedTempFile,
}

impl Issuer {
    fn new() -> Self {
        let (pair, stranger, key) = (key_pair(), key_pair(), new_key());
        let (file, jwt) = accepts(&pair);
        let profile = ProfileSettings { jwt: Some(jwt), ..key_profile(&key) };
        let claims = |sub: &str| json!({ "iss": "https://login.test", "aud": "shop", "sub": sub, "exp": 4_102_444_800_u64 });
        let ann = format!("Bearer {}", token(&pair, "EdDSA", "ed", &claims("ann")));
        let bob = format!("Bearer {}", token(&pair, "EdDSA", "ed", &claims("bob")));
        let foreign = format!("Bearer {}", token(&stranger, "EdDSA", "ed", &claims("ann")));
        let unsigned = format!("Bearer {}", token(&stranger, "none", "ed", &claims("ann")));
        let cut = format!("{}.", ann.rsplit_once('.').expect("parts").0);
        let (nothing, scheme) = (String::new(), "Bearer".to_owned());
        let nonsense = "Bearer nonsense".to_owned();
        let tokens =
            vec![nothing, scheme, nonsense, foreign, unsigned, cut, bob.clone(), ann.clone()];
        let secret = key.secret.clone();
        let api_keys =
            vec![String::new(), "nonsense".to_owned(), new_key().secret.clone(), secret.clone()];
        let bodies = vec![
            json!({}),
            json!({ "auth": { "jwt": { "header": {}, "claims": { "sub": "ann" } }, "apiKey": { "keyId": "k" } } }),
            json!({ "auth": "ann" }),
            json!({ "auth": { "jwt": "ann", "apiKey": null } }),
        ];
        Self { profile, ann, bob, secret, tokens, api_keys, bodies, _keys: file }
    }

    /// Whether a pattern accepts a caller with these credentials.
    fn accepts(&self, pattern: &str, token: &str, api_key: &str) -> bool {
        let by_token = token == self.ann || (token == self.bob && pattern != "jwt-subject");
        let by_key = api_key == self.secret;
        match pattern {
            "both" => by_token && by_key,
            "either" => by_token || by_key,
            name if name.starts_with("jwt") => by_token,
            _ => by_key,
        }
    }
}

/// The headers to send; empty values are left out.
fn headers<'a>(all: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    all.iter().copied().filter(|(_, value)| !value.is_empty()).collect()
}

#[tokio::test]
async fn every_published_pattern_refuses_those_who_send_nothing_or_forge_something() {
    let issuer = Issuer::new();
    let settings = settings(issuer.profile.clone());
    let (engine, router) = process(Arc::new(MemoryStore::new()), &settings).await;
    for (name, checks, predicate) in PATTERNS {
        for entry in ["start", "webhook"] {
            deploy(&engine, &pattern_journey(name, checks, predicate, entry)).await;
            for token in &issuer.tokens {
                for api_key in &issuer.api_keys {
                    let expected = issuer.accepts(name, token, api_key);
                    for body in &issuer.bodies {
                        let headers = headers(&[("authorization", token), ("x-api-key", api_key)]);
                        let path = format!("/journeys/{name}-{entry}/start");
                        let mut answer = send(&router, &path, &headers, Some(body.clone())).await.1;
                        if entry != "start" {
                            let id = id_of(&answer);
                            let path = format!("/journeys/{id}/steps/ask");
                            send(&router, &path, &headers, Some(body.clone())).await;
                            answer = result(&router, &id).await;
                        }
                        let phase = if expected { "SUCCEEDED" } else { "FAILED" };
                        assert_eq!(
                            answer["phase"], phase,
                            "{name} at {entry}, token {token:?}, key {api_key:?}, body {body}: {answer}"
                        );
                        let code = &answer["error"]["code"];
                        assert!(expected || code == "REFUSED", "{answer}");
                    }
                }
            }
        }
    }
}

/// Where processes run: one on a file, or two on a database.
enum Place {
    File(TempDir),
    Database(Box<Database>),
}

impl Place {
    fn nodes(&self) -> usize {
        match self {
            Self::File(_) => 1,
            Self::Database(_) => 2,
        }
    }

    async fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::File(directory) => {
                let path = directory.path().join("meantime.db");
                Arc::new(SqliteStore::open(path, sqlite::Options::default()).expect("it opens"))
            }
            Self::Database(database) => store_in(database).await,
        }
    }
}

/// The credentials of one request.
#[derive(Debug, Clone)]
struct Sent {
    token: String,
    api_key: String,
    body: Value,
    /// A token for the called service, or empty.
    from: String,
}

/// A run of one pattern: the start and its steps, each with its own credentials. Only those of the
/// last request count, and none if a timer continues the run after it.
#[derive(Debug)]
struct Variant {
    name: String,
    pattern: usize,
    requests: Vec<Sent>,
    is_late: bool,
}

/// Choices from a seed.
struct Chooser(SeededEntropy);

impl Chooser {
    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.0.next() % count as u64).expect("a small number")
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// Half of them are valid, so that accepted and refused callers are mixed.
    fn sent(&mut self, issuer: &Issuer, from: String) -> Sent {
        let good = [issuer.ann.clone(), issuer.bob.clone()];
        let token = if self.below(2) == 0 { self.one(&good) } else { self.one(&issuer.tokens) };
        let is_good = self.below(2) == 0;
        let api_key = if is_good { issuer.secret.clone() } else { self.one(&issuer.api_keys) };
        let from = if self.below(3) == 0 { String::new() } else { from };
        Sent { token, api_key, body: self.one(&issuer.bodies), from }
    }

    fn variant(&mut self, issuer: &Issuer, name: String) -> Variant {
        let steps = 1 + self.below(3);
        let from = |at: usize| format!("{name}-{at}");
        let requests = (0..=steps).map(|at| self.sent(issuer, from(at))).collect();
        let (pattern, is_late) = (self.below(PATTERNS.len()), self.below(4) == 0);
        Variant { name, pattern, requests, is_late }
    }
}

impl Variant {
    fn journey(&self, base: &str) -> String {
        let passed = "{headersPassthrough: [{from: X-From, to: X-Tenant}]}";
        let (name, (_, checks, predicate)) = (&self.name, PATTERNS[self.pattern]);
        let last = self.requests.len() - 2;
        let (mut bindings, mut asks) = (Vec::new(), Vec::new());
        for at in 0..=last {
            bindings.push(format!("ask{at}: {passed}"));
            let next = match (at == last, self.is_late) {
                (false, _) => format!("ask{}", at + 1),
                (true, true) => "rest".to_owned(),
                (true, false) => "call".to_owned(),
            };
            asks.push(format!(
                "    ask{at}: {{type: webhook, webhook: {{input: {{schema: {{}}}}}}, next: {next}}}\n"
            ));
        }
        if self.is_late {
            asks.push("    rest: {type: timer, timer: {duration: PT0S}, next: call}\n".to_owned());
        }
        format!(
            "apiVersion: v1
kind: Journey
metadata: {{name: {name}, version: 1.0.0}}
spec:
  bindings: {{http: {{start: {passed}, steps: {{{bindings}}}}}}}
  start: ask0
  states:
{asks}    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: '{base}/{name}', resultVar: r}}, next: check0}}
{states}",
            bindings = bindings.join(", "),
            asks = asks.concat(),
            states = checked_states(checks, predicate)
        )
    }
}

/// Names the seeds of a longer run: one seed, or a range such as `100..200`.
const SEEDS: &str = "MEANTIME_TEST_SEEDS";

/// Seeds that together cover accepted and refused callers, and restarts.
const COVERING_SEEDS: u64 = 6;

/// The seeds that the environment names, or others.
fn seeds_or(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var(SEEDS) else { return usual };
    let number = |text: &str| text.parse().ok();
    let seeds = match text.split_once("..") {
        Some((from, to)) => number(from).zip(number(to)).map(|(from, to)| from..to),
        None => number(&text).map(|seed| seed..seed + 1),
    };
    seeds.unwrap_or_else(|| panic!("{SEEDS} is neither a seed nor a range: {text:?}"))
}

/// Runs variants concurrently, and stops and restarts processes between their steps; each request
/// goes to any of the processes.
async fn cross_restarts_and_nodes(place: &Place, seeds: Range<u64>) {
    const VARIANTS: usize = 8;
    let (service, issuer) = (service().await, Issuer::new());
    let settings = settings(issuer.profile.clone());
    let mut nodes = Vec::new();
    for _ in 0..place.nodes() {
        nodes.push(process(place.store().await, &settings).await);
    }
    let (mut accepted, mut refused, mut restarts) = (0, 0, 0);
    for seed in seeds.clone() {
        let mut chooser = Chooser(SeededEntropy::new(seed));
        let variants: Vec<Variant> = (0..VARIANTS)
            .map(|number| chooser.variant(&issuer, format!("v{seed}x{number}")))
            .collect();
        for variant in &variants {
            deploy(&nodes[0].0, &variant.journey(&service.base)).await;
        }
        let mut ids = vec![String::new(); VARIANTS];
        let most = variants.iter().map(|it| it.requests.len()).max().unwrap_or_default();
        for at in 0..most {
            if at > 0 && chooser.below(2) == 0 {
                let number = chooser.below(nodes.len());
                let (engine, router) = nodes.remove(number);
                engine.stop().await;
                drop((engine, router));
                nodes.insert(number, process(place.store().await, &settings).await);
                restarts += 1;
            }
            let mut under_way = Vec::new();
            for (number, variant) in variants.iter().enumerate() {
                let Some(sent) = variant.requests.get(at).cloned() else { continue };
                let router = nodes[chooser.below(nodes.len())].1.clone();
                let path = match at {
                    0 => format!("/journeys/{}/start", variant.name),
                    at => format!("/journeys/{}/steps/ask{}", ids[number], at - 1),
                };
                under_way.push((
                    number,
                    tokio::spawn(async move {
                        let headers = headers(&[
                            ("authorization", &sent.token),
                            ("x-api-key", &sent.api_key),
                            ("x-from", &sent.from),
                        ]);
                        send(&router, &path, &headers, Some(sent.body)).await
                    }),
                ));
            }
            for (number, request) in under_way {
                let (status, answer) = request.await.expect("it ends");
                assert_eq!(status, 200, "{seed}: {:?}: {answer}", variants[number]);
                if at == 0 {
                    ids[number] = id_of(&answer);
                }
            }
        }
        for (variant, id) in variants.iter().zip(&ids) {
            let outcome = result(&nodes[chooser.below(nodes.len())].1, id).await;
            let last = variant.requests.last().expect("a start and a step");
            let pattern = PATTERNS[variant.pattern].0;
            let is_good = issuer.accepts(pattern, &last.token, &last.api_key);
            let expected = is_good && !variant.is_late;
            let phase = if expected { "SUCCEEDED" } else { "FAILED" };
            assert_eq!(outcome["phase"], phase, "{seed}: {pattern} {variant:?}: {outcome}");
            let code = &outcome["error"]["code"];
            assert!(expected || code == "REFUSED", "{seed}: {pattern} {variant:?}: {outcome}");
            *if expected { &mut accepted } else { &mut refused } += 1;
            let is_passed = !variant.is_late && !last.from.is_empty();
            let token = if is_passed { last.from.clone() } else { "-".to_owned() };
            let path = format!("/{}", variant.name);
            let mut heard = service.heard();
            heard.retain(|(it, _)| *it == path);
            if variant.is_late {
                // No request waited for it, so its process may have ended, and another one repeated
                // the call.
                heard.dedup();
            }
            assert_eq!(heard, [(path, token)], "{seed}: {variant:?}");
        }
    }
    let is_covered = accepted >= 8 && refused >= 8 && restarts >= 3;
    let must_cover = seeds.end.saturating_sub(seeds.start) >= COVERING_SEEDS;
    assert!(is_covered || !must_cover, "{accepted} {refused} {restarts}");
    for (engine, _) in nodes {
        engine.stop().await;
    }
}

#[tokio::test]
async fn seeded_credentials_across_restarts_on_a_file_count_for_their_own_request_only() {
    let place = Place::File(tempfile::tempdir().expect("a directory"));
    cross_restarts_and_nodes(&place, seeds_or(0..6)).await;
}

#[tokio::test]
async fn seeded_credentials_across_nodes_on_postgresql_count_for_their_own_request_only() {
    let place = Place::Database(Box::new(database().expect("PostgreSQL")));
    cross_restarts_and_nodes(&place, seeds_or(6..12)).await;
}

/// A journey, the headers of a start, and the problem that it notes, if any.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);

/// The keys of operators and the tokens of a journey's callers on one server: each sees its own.
#[tokio::test]
async fn operators_keys_and_the_tokens_of_a_journey_do_not_meet() {
    let pair = key_pair();
    let (_file, jwt) = accepts(&pair);
    let mut settings = settings(ProfileSettings { keys: Vec::new(), jwt: Some(jwt) });
    let operator = new_key();
    settings.auth.keys.push(ApiKey {
        id: operator.id.clone(),
        name: Some("the operator".to_owned()),
        sha256: operator.sha256.clone(),
        role: Role::Operator,
        expires_at: None,
    });
    let (engine, router) = process(Arc::new(MemoryStore::new()), &settings).await;
    for (name, public) in [("open", true), ("closed", false)] {
        deploy(
            &engine,
            &format!(
                "apiVersion: v1
kind: Journey
metadata: {{name: {name}, version: 1.0.0}}
spec:
  access: {{public: {public}}}
  bindings: {{http: {{start: {{headersToContext: {{Authorization: sent, X-Meantime-Key: key}}}}}}}}
  start: check
  states:
    check: {{type: task, task: {{kind: jwtValidate:v1}}, next: done}}
    done: {{type: succeed}}
"
            ),
        )
        .await;
    }
    let claims = json!({ "iss": "https://login.test", "aud": "shop", "sub": "ann", "exp": 4_102_444_800_u64 });
    let good = format!("Bearer {}", token(&pair, "EdDSA", "ed", &claims));
    let key = operator.secret.as_str();
    let (bearer, lower) = (format!("Bearer {key}"), format!("bearer  {key}"));
    let (good, bearer, lower) = (good.as_str(), bearer.as_str(), lower.as_str());
    let cases: [Case<'_>; 9] = [
        ("open", &[("authorization", good)], None),
        ("open", &[("authorization", good), ("x-meantime-key", key)], None),
        ("closed", &[("authorization", good), ("x-meantime-key", key)], None),
        ("open", &[], Some("JWT_TOKEN_MISSING")),
        ("open", &[("authorization", bearer)], Some("JWT_TOKEN_MISSING")),
        ("open", &[("authorization", lower)], Some("JWT_TOKEN_MISSING")),
        ("closed", &[("authorization", bearer)], Some("JWT_TOKEN_MISSING")),
        // The key is hidden wherever it stands among several values.
        ("open", &[("authorization", good), ("authorization", bearer)], None),
        ("open", &[("authorization", bearer), ("authorization", good)], None),
    ];
    for (name, headers, problem) in cases {
        let path = format!("/journeys/{name}/start");
        let (status, outcome) = send(&router, &path, headers, Some(json!({}))).await;
        assert_eq!(status, 200, "{name} {headers:?}: {outcome}");
        let context = &outcome["output"];
        let noted = &context["auth"]["jwt"];
        match problem {
            None => {
                assert_eq!(noted["claims"]["sub"], "ann", "{name} {headers:?}: {outcome}");
                assert_eq!(context["sent"], good, "{name} {headers:?}: {outcome}");
            }
            Some(code) => {
                assert_eq!(noted["problem"]["code"], code, "{name} {headers:?}: {outcome}");
                assert_eq!(context["sent"], Value::Null, "{name} {headers:?}: {outcome}");
            }
        }
        assert!(!outcome.to_string().contains(key), "{name} {headers:?}: {outcome}");
        let id = outcome["journeyId"].as_str().expect("an id");
        let history = format!("/instances/{id}/history");
        let (_, history) = send(&router, &history, &[("x-meantime-key", key)], None).await;
        assert!(!history.to_string().contains(key), "{name} {headers:?}: {history}");
    }
    // Without a key of the server, a private journey is not reached by a good token of its own.
    let (status, _) =
        send(&router, "/journeys/closed/start", &[("authorization", good)], Some(json!({}))).await;
    assert_eq!(status, 401);
    engine.stop().await;
}
