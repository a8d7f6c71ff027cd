//! The authorization matrix: every route, called without credentials, with wrong ones, and in every
//! role, on one node, after a restart, and on two nodes, in memory and on PostgreSQL. Also the
//! public surface: what anyone may call, and what they learn about the rest.

#[path = "support/log.rs"]
mod log;
#[path = "support/operations.rs"]
mod operations;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use meantime_core::{InstanceId, Source, TaskId, Timestamp};
use meantime_kernel::store::{MemoryStore, Store};
use meantime_server::{
    ApiKey, App, Engine, NewKey, ProfileSettings, Role, Settings, SourceFormats, log_filter,
    new_key, notations,
};
use meantime_store::postgres::PostgresStore;
use meantime_store::postgres::cluster::{Database, database};
use operations::{of_nothing, operations};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use tracing_subscriber::filter::LevelFilter;

const ROLES: [(Role, &str); 5] = [
    (Role::Viewer, "viewer"),
    (Role::Operator, "operator"),
    (Role::Worker, "worker"),
    (Role::Deployer, "deployer"),
    (Role::Admin, "admin"),
];

/// The authorization case of every operation, and of every path that is not in the OpenAPI
/// document: who may use it. An operation or path without a line here fails the test, and so does a
/// line without an operation. `public` is the surface of journeys: anyone may use it on public
/// journeys.
const CASES: &str = "
deployDefinitions             deployer admin
listDefinitions               viewer operator deployer admin
getDefinition                 viewer operator deployer admin
listDefinitionVersions        viewer operator deployer admin
getDefinitionVersionSource    viewer operator deployer admin
getDefinitionVersionGraph     viewer operator deployer admin
getDefinitionGraph            viewer operator deployer admin
undeployDefinitionVersion     deployer admin
pauseDefinition               operator admin
resumeDefinition              operator admin
startInstance                 operator admin
listInstances                 viewer operator deployer admin
getInstanceStats              viewer operator deployer admin
getInstance                   viewer operator deployer admin
getInstanceResult             viewer operator deployer admin
setInstanceVariables          operator admin
listInstanceScopes            viewer operator deployer admin
setInstanceScopeVariables     operator admin
getInstanceHistory            viewer operator deployer admin
getInstanceTimeline           viewer operator deployer admin
cancelInstance                operator admin
suspendInstance               operator admin
resumeInstance                operator admin
restartInstance               operator admin
startJourney                  operator admin public
listJourneys                  viewer operator deployer admin
getJourney                    viewer operator deployer admin public
getJourneyResult              viewer operator deployer admin public
submitJourneyStep             operator admin public
cancelJourney                 operator admin public
callApi                       operator admin public
signalInstance                operator admin
publishMessage                operator admin
broadcastSignal               operator admin
claimTasks                    operator worker admin
completeTask                  operator worker admin
failTask                      operator worker admin
extendTaskLease               operator worker admin
completeTasks                 operator worker admin
listTasks                     viewer operator deployer admin
getTask                       viewer operator deployer admin
assignTask                    operator admin
unassignTask                  operator admin
listTimers                    viewer operator deployer admin
getTimer                      viewer operator deployer admin
moveTimer                     operator admin
fireTimer                     operator admin
freezeTimer                   operator admin
releaseTimer                  operator admin
createSchedule                operator admin
listSchedules                 viewer operator deployer admin
getSchedule                   viewer operator deployer admin
updateSchedule                operator admin
deleteSchedule                operator admin
pauseSchedule                 operator admin
resumeSchedule                operator admin
triggerSchedule               operator admin
backfillSchedule              operator admin
listNextOccurrences           viewer operator deployer admin
listScheduleOccurrences       viewer operator deployer admin
getForecast                   viewer operator deployer admin
explain                       viewer operator deployer admin
listIncidents                 viewer operator deployer admin
retryIncident                 operator admin
resolveIncident               operator admin
streamEvents                  viewer operator deployer admin
getClock                      viewer operator deployer admin
advanceClock                  admin
resumeEngine                  admin
/                       everybody
/assets/{name}          everybody
/healthz                everybody
/readyz                 everybody
/openapi.json           everybody
/docs                   everybody
/metrics                viewer operator deployer admin
/api/v1/{*path}         operator admin public
";

/// Definitions of which some are public.
const DEFINITIONS: [&str; 6] = [
    "apiVersion: v1
kind: Journey
metadata: {name: private, version: 1.0.0}
spec:
  start: ask
  states:
    ask: {type: wait, wait: {channel: manual, input: {schema: {}}}, next: ask}
",
    "apiVersion: v1
kind: Journey
metadata: {name: open, version: 1.0.0}
spec:
  access: {public: true}
  start: ask
  states:
    ask: {type: webhook, webhook: {input: {schema: {}}}, next: ask}
",
    "apiVersion: v1
kind: Journey
metadata: {name: guarded, version: 1.0.0}
spec:
  access: {public: true, read: {guardRef: owner}}
  subjourneys:
    owner:
      start: check
      states:
        check: {type: task, task: {kind: apiKeyValidate:v1}, next: judge}
        judge: {type: transform, transform: {mapper: {lang: dataweave, expr: '{allowed: context.auth.apiKey.problem == null}'}}, next: done}
        done: {type: succeed}
  start: ask
  states:
    ask: {type: wait, wait: {channel: manual, input: {schema: {}}}, next: ask}
",
    "apiVersion: v1
kind: Api
metadata: {name: private-api, version: 1.0.0}
spec:
  bindings: {http: {route: {path: /private/price, method: POST}}}
  start: done
  states: {done: {type: succeed}}
",
    "apiVersion: v1
kind: Api
metadata: {name: open-api, version: 1.0.0}
spec:
  access: {public: true}
  bindings: {http: {route: {path: /open/price, method: POST}}}
  start: done
  states: {done: {type: succeed}}
",
    // The settings make it public, but its own definition does not.
    "apiVersion: v1
kind: Journey
metadata: {name: named-never, version: 1.0.0}
spec:
  access: {public: false}
  start: done
  states: {done: {type: succeed}}
",
];

struct Keys {
    settings: Settings,
    by_role: Vec<(&'static str, NewKey)>,
    expired: NewKey,
    /// What the guarded journey accepts.
    owner: NewKey,
}

fn keys() -> Keys {
    let mut settings = Settings::default();
    let mut by_role = Vec::new();
    let mut keep = |role: Role, name: Option<&str>, expires_at: Option<Timestamp>| {
        let key = new_key();
        let (id, sha256) = (key.id.clone(), key.sha256.clone());
        let name = name.map(str::to_owned);
        settings.auth.keys.push(ApiKey { id, name, sha256, role, expires_at });
        key
    };
    for (role, name) in ROLES {
        by_role.push((name, keep(role, Some(&format!("the {name}")), None)));
    }
    let end = Timestamp::parse("2020-01-01T00:00:00Z").ok();
    let expired = keep(Role::Admin, Some("last year"), end);
    let owner = new_key();
    let (id, sha256) = ("owner".to_owned(), owner.sha256.clone());
    let kept = ApiKey { id, name: None, sha256, role: Role::Viewer, expires_at: None };
    let profile = ProfileSettings { keys: vec![kept], jwt: None };
    settings.journeys.profiles.insert("default".to_owned(), profile);
    settings.rate.failures_per_minute = 1_000_000;
    Keys { settings, by_role, expired, owner }
}

/// One node.
struct Stage {
    engine: Engine,
    router: Router,
}

impl Stage {
    async fn new(store: Arc<dyn Store>, settings: &Settings) -> Self {
        let engine =
            Engine::start_on(store, settings.clone(), notations(), SourceFormats::default()).await;
        let engine = engine.expect("the engine starts");
        let router = App::new(&engine).router();
        Self { engine, router }
    }

    /// Sends a request; returns the status and the body.
    async fn send(
        &self,
        method: &str,
        uri: &str,
        headers: &[(&str, String)],
    ) -> (StatusCode, Value) {
        self.ask(method, uri, headers, String::new()).await
    }

    /// Sends a request with a body; returns the status and the answer. Of a stream of events, the
    /// first one.
    async fn ask(
        &self,
        method: &str,
        uri: &str,
        headers: &[(&str, String)],
        body: String,
    ) -> (StatusCode, Value) {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("never fails");
        let status = response.status();
        let kind = response.headers().get("content-type").and_then(|it| it.to_str().ok());
        if kind == Some("text/event-stream") && uri.contains("after=0") {
            let first = response.into_body().frame().await.expect("an event").expect("whole");
            let text = String::from_utf8(first.into_data().expect("data").to_vec()).expect("text");
            return (status, Value::String(text));
        }
        if !kind.is_some_and(|it| it.contains("json")) {
            return (status, Value::Null);
        }
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Sends a request; returns the status and the code.
    async fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, String)],
    ) -> (StatusCode, String) {
        let (status, body) = self.send(method, &of_nothing(path), headers).await;
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    }

    async fn deploy(&self) {
        for text in DEFINITIONS {
            let name = "x.journey.yaml".to_owned();
            let source = Source { name, text: text.into(), files: Vec::new() };
            self.engine.kernel().deploy("journey", source).await.expect("a good definition");
        }
    }
}

fn cases() -> BTreeMap<&'static str, Vec<&'static str>> {
    let lines = CASES.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(id, roles)| (id, roles.split_whitespace().collect())).collect()
}

/// Both headers in which an operator can send a key.
fn shown(key: &str) -> [(&'static str, String); 2] {
    [("authorization", format!("Bearer {key}")), ("x-meantime-key", key.to_owned())]
}

/// Two nodes on one PostgreSQL database; the second one joins after the deployments.
async fn on_postgres(database: &Database, settings: &Settings) -> Vec<Stage> {
    let node = || async {
        let store = PostgresStore::open(database.options()).await.expect("the store opens");
        Stage::new(Arc::new(store), settings).await
    };
    let first = node().await;
    first.deploy().await;
    vec![first, node().await]
}

/// The set-ups: a node that was just started, one after a restart, or two nodes on one store.
async fn places(settings: &Settings, database: &Database) -> Vec<(&'static str, Vec<Stage>)> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let first = Stage::new(store, settings).await;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let before = Stage::new(store.clone(), settings).await;
    before.deploy().await;
    before.engine.stop().await;
    let restarted = Stage::new(store, settings).await;
    let shared = MemoryStore::new();
    let nodes = vec![
        Stage::new(Arc::new(shared.for_node()), settings).await,
        Stage::new(Arc::new(shared.for_node()), settings).await,
    ];
    nodes[0].deploy().await;
    vec![
        ("one node", vec![first]),
        ("restarted", vec![restarted]),
        ("two nodes", nodes),
        ("two nodes on PostgreSQL", on_postgres(database, settings).await),
    ]
}

#[tokio::test]
async fn every_route_answers_exactly_those_who_may_use_it() {
    let keys = keys();
    let (operations, cases) = (operations(), cases());
    let known: Vec<&str> = operations.iter().map(|(id, _, _)| id.as_str()).collect();
    let unused: Vec<&&str> = cases.keys().filter(|id| !known.contains(*id)).collect();
    assert_eq!(unused, Vec::<&&str>::new(), "cases without an operation");
    let admin = &keys.by_role[4].1.secret;
    let strangers: Vec<Vec<(&str, String)>> = vec![
        vec![],
        vec![("authorization", "Bearer mt_00000000_0".to_owned())],
        vec![("authorization", format!("Bearer {admin}x"))],
        vec![("authorization", format!("Basic {admin}"))],
        vec![("authorization", format!("Bearer {}", keys.expired.secret))],
        vec![("authorization", "Bearer eyJhbGciOiJub25lIn0.e30.".to_owned())],
        vec![("x-meantime-key", "mt_00000000_0".to_owned())],
        vec![("x-meantime-key", String::new())],
        vec![("x-meantime-key", keys.expired.secret.clone())],
        vec![("x-meantime-key", admin.clone()), ("x-meantime-key", admin.clone())],
        // The header for operators decides; other credentials are for journeys.
        vec![
            ("authorization", format!("Bearer {admin}")),
            ("x-meantime-key", "nonsense".to_owned()),
        ],
        vec![("x-api-key", admin.clone())],
    ];
    let database = database().expect("PostgreSQL");
    for (place, nodes) in places(&keys.settings, &database).await {
        // If nothing is public, callers without credentials get no information at all.
        let has_public = place != "one node";
        for (id, method, path) in &operations {
            let allowed = cases.get(id.as_str());
            let allowed = allowed.unwrap_or_else(|| panic!("{id} has no authorization case"));
            let is_open = allowed.contains(&"everybody");
            let on_instance = allowed.contains(&"public") && path.contains("{id}");
            for node in &nodes {
                for stranger in &strangers {
                    let (status, code) = node.call(method, path, stranger).await;
                    let what = format!("{id} as {stranger:?}, {place}: {status} {code}");
                    let is_operator = stranger.iter().any(|(name, _)| *name == "x-meantime-key")
                        || stranger.iter().any(|(_, it)| it.ends_with(&keys.expired.secret));
                    if id == "/assets/{name}" {
                        // There is no such file, and nobody is asked who they are.
                        assert_eq!(status, StatusCode::NOT_FOUND, "{what}");
                    } else if is_open {
                        assert!(status.is_success() || status.is_redirection(), "{what}");
                    } else if on_instance && has_public && !is_operator {
                        let expected = (StatusCode::NOT_FOUND, "unknown_instance".to_owned());
                        assert_eq!((status, code), expected, "{what}");
                    } else {
                        let expected = (StatusCode::UNAUTHORIZED, "unauthenticated".to_owned());
                        assert_eq!((status, code), expected, "{what}");
                    }
                }
                for (role, key) in &keys.by_role {
                    for header in shown(&key.secret) {
                        let (status, code) = node.call(method, path, &[header]).await;
                        let what = format!("{id} as {role}, {place}: {status} {code}");
                        assert_ne!(status, StatusCode::UNAUTHORIZED, "{what}");
                        let refused = status == StatusCode::FORBIDDEN && code == "forbidden";
                        assert_eq!(!refused, is_open || allowed.contains(role), "{what}");
                    }
                }
            }
        }
        for node in nodes {
            node.engine.stop().await;
        }
    }
}

/// The path of a definition or of one of its instances on the surface.
fn of(path: &str, subject: &str, ids: &BTreeMap<&str, String>) -> Option<String> {
    let named = path.strip_prefix("/api/v1/{*path}").map(|_| match subject {
        "open" => "/api/v1/open/price",
        "private" => "/api/v1/private/price",
        _ => "/api/v1/no/price",
    });
    if let Some(path) = named {
        return Some(path.to_owned()).filter(|_| subject != "guarded");
    }
    let is_api = path.contains("/apis/");
    if is_api && subject == "guarded" {
        return None;
    }
    let name = if is_api { format!("{subject}-api") } else { subject.to_owned() };
    let unknown = "in_00000000000000000000000000".to_owned();
    let id = ids.get(subject).unwrap_or(&unknown);
    Some(path.replace("{name}", &name).replace("{id}", id).replace("{step}", "ask"))
}

#[tokio::test]
async fn anybody_reaches_what_is_public_and_nothing_else() {
    let keys = keys();
    let mut settings = keys.settings.clone();
    settings.journeys.public.names = vec!["named-*".to_owned()];
    let admin = shown(&keys.by_role[4].1.secret)[1].clone();
    let (operations, cases) = (operations(), cases());
    let single: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let shared = MemoryStore::new();
    let node = |store: MemoryStore| async { Stage::new(Arc::new(store), &settings).await };
    let database = database().expect("PostgreSQL");
    for place in ["one node", "restarted", "two nodes", "two nodes on PostgreSQL"] {
        let nodes = match place {
            "two nodes on PostgreSQL" => on_postgres(&database, &settings).await,
            "two nodes" => vec![node(shared.for_node()).await, node(shared.for_node()).await],
            _ => vec![Stage::new(single.clone(), &settings).await],
        };
        if matches!(place, "one node" | "two nodes") {
            nodes[0].deploy().await;
        }
        let mut ids = BTreeMap::new();
        for subject in ["private", "open", "guarded"] {
            let uri = format!("/api/v1/journeys/{subject}/start");
            let (status, body) = nodes[0].send("POST", &uri, std::slice::from_ref(&admin)).await;
            assert_eq!(status, StatusCode::OK, "{body}");
            ids.insert(subject, body["journeyId"].as_str().expect("an id").to_owned());
        }
        for node in &nodes {
            for (id, method, path) in &operations {
                let allowed = &cases[id.as_str()];
                if !allowed.contains(&"public") {
                    continue;
                }
                for subject in ["open", "guarded", "private", "unknown"] {
                    let Some(uri) = of(path, subject, &ids) else { continue };
                    if id == "cancelJourney" && subject == "open" {
                        // A call that ends the instance would affect the other callers.
                        continue;
                    }
                    check(node, &keys, (id, method, &uri), subject, allowed).await;
                }
            }
            let uri = "/api/v1/journeys/named-never/start";
            assert_eq!(node.send("POST", uri, &[]).await.0, StatusCode::UNAUTHORIZED);
            let uri = format!("/api/v1/journeys/{}", ids["guarded"]);
            let owner = [("x-api-key", keys.owner.secret.clone())];
            assert_eq!(node.send("GET", &uri, &owner).await.0, StatusCode::OK, "its owner");
            let cancel = format!("{uri}/steps/cancel");
            let (status, _) = node.send("POST", &cancel, &[]).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "who may not read may not cancel");
        }
        for node in &nodes {
            let uri = format!("/api/v1/journeys/{}/steps/cancel", ids["open"]);
            assert_eq!(node.send("POST", &uri, &[]).await.0, StatusCode::OK);
        }
        for node in nodes {
            node.engine.stop().await;
        }
    }
}

/// Checks one route of the surface for every caller.
async fn check(
    node: &Stage,
    keys: &Keys,
    (id, method, uri): (&str, &str, &str),
    subject: &str,
    allowed: &[&str],
) {
    let is_instance = uri.contains("/in_");
    let is_read = method == "GET";
    let is_cancel = id == "cancelJourney";
    let is_admitted = |status: StatusCode| !matches!(status.as_u16(), 401 | 403 | 404);
    // Callers with a credential for the journey only, or without any.
    for header in [None, Some("Bearer eyJhbGciOiJub25lIn0.e30."), Some("Bearer mt_0_0")] {
        let headers: Vec<_> =
            header.into_iter().map(|it| ("authorization", it.to_owned())).collect();
        let (status, body) = node.send(method, uri, &headers).await;
        let what = format!("{id} of {subject} with {header:?}: {status} {body}");
        match subject {
            "open" => assert!(is_admitted(status), "{what}"),
            "guarded" if !is_read && !is_cancel => assert!(is_admitted(status), "{what}"),
            _ if is_instance => {
                // A journey whose guard refuses, a private one and an unknown one look the same.
                let named = uri.split('/').nth(4).unwrap_or_default();
                let expected = json!({
                    "code": "unknown_instance", "detail": format!("there is no instance {named}"),
                    "status": 404, "title": "Not Found", "type": "/docs#error-unknown_instance",
                });
                assert_eq!(body, expected, "{what}");
            }
            _ => assert_eq!(status, StatusCode::UNAUTHORIZED, "{what}"),
        }
    }
    let wrong = [("x-meantime-key", "mt_0_0".to_owned())];
    assert_eq!(node.send(method, uri, &wrong).await.0, StatusCode::UNAUTHORIZED, "{id} {subject}");
    for (role, key) in &keys.by_role {
        for header in shown(&key.secret) {
            if is_cancel && subject != "unknown" {
                continue;
            }
            let (status, body) = node.send(method, uri, &[header]).await;
            let what = format!("{id} of {subject} as {role}: {status} {body}");
            match subject {
                // On this surface, guards apply to operators too.
                "guarded" if is_read => assert_eq!(status, StatusCode::NOT_FOUND, "{what}"),
                "open" | "guarded" => assert!(is_admitted(status), "{what}"),
                _ if !allowed.contains(role) => {
                    assert_eq!(status, StatusCode::FORBIDDEN, "{what}");
                }
                "private" => assert!(is_admitted(status), "{what}"),
                _ => assert_eq!(status, StatusCode::NOT_FOUND, "{what}"),
            }
        }
    }
}

#[tokio::test]
async fn keys_have_names_and_an_end() {
    let keys = keys();
    let node = Stage::new(Arc::new(MemoryStore::new()), &keys.settings).await;
    node.deploy().await;
    for header in shown(&keys.expired.secret) {
        let (status, body) = node.send("GET", "/api/v1/instances", &[header]).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert_eq!(body["detail"], "the key \"last year\" expired at 2020-01-01T00:00:00Z");
    }
    let [_, operator] = shown(&keys.by_role[1].1.secret);
    let (_, started) =
        node.send("POST", "/api/v1/journeys/private/start", std::slice::from_ref(&operator)).await;
    let id = started["journeyId"].as_str().expect("an id");
    let (status, _) = node
        .send("POST", &format!("/api/v1/instances/{id}/cancel"), std::slice::from_ref(&operator))
        .await;
    assert_eq!(status, StatusCode::OK);
    let uri = format!("/api/v1/instances/{id}/history");
    let (_, history) = node.send("GET", &uri, &[operator]).await;
    assert!(history.to_string().contains("key the operator"), "{history}");
    let [_, worker] = shown(&keys.by_role[2].1.secret);
    assert_eq!(node.send("GET", "/metrics", &[worker]).await.0, StatusCode::FORBIDDEN);
}

/// A reason in place of a token is for operators: a worker that lost its lease cannot use one.
#[tokio::test]
async fn only_operators_report_on_a_task_without_a_lease() {
    let keys = keys();
    let node = Stage::new(Arc::new(MemoryStore::new()), &keys.settings).await;
    let expected = [(1, "unknown_task"), (2, "forbidden"), (4, "unknown_task")];
    let task = TaskId(InstanceId::new(1, 1).effect(1, 0));
    let uris = ["complete", "fail"].map(|verb| format!("/api/v1/tasks/{task}/{verb}"));
    for ((role, code), uri) in expected.iter().flat_map(|it| uris.iter().map(move |uri| (it, uri)))
    {
        let (name, key) = &keys.by_role[*role];
        let body = json!({ "reason": "by hand" }).to_string();
        let (_, answer) = node.ask("POST", uri, &shown(&key.secret)[..1], body).await;
        assert_eq!(answer["code"], *code, "{uri} as {name}: {answer}");
    }
}

#[tokio::test]
async fn two_hosts_are_refused() {
    let keys = keys();
    let node = Stage::new(Arc::new(MemoryStore::new()), &keys.settings).await;
    for (path, method) in [("/healthz", "GET"), ("/api/v1/instances", "GET"), ("/nothing", "POST")]
    {
        let one = ("host", "a.example".to_owned());
        let two = [one.clone(), ("host", "b.example".to_owned())];
        let (status, body) = node.send(method, path, &two).await;
        assert_eq!((status.as_u16(), &body["code"]), (400, &json!("invalid_host")), "{path}");
        assert_ne!(node.send(method, path, &[one]).await.0, StatusCode::BAD_REQUEST);
    }
}

/// The operations whose answers contain nothing of an instance that was there before, or are
/// guarded themselves; journeys, which alone have guards, have no scopes with variables of their
/// own. Every other operation has a line in [`guarded_reads`].
const NOT_READING: &str = "
getInstanceStats deployDefinitions listDefinitions getDefinition listDefinitionVersions getDefinitionVersionSource
getDefinitionVersionGraph getDefinitionGraph undeployDefinitionVersion
pauseDefinition resumeDefinition
startJourney listJourneys getJourney getJourneyResult submitJourneyStep callApi
signalInstance publishMessage broadcastSignal
claimTasks completeTask failTask extendTaskLease completeTasks assignTask unassignTask
moveTimer fireTimer freezeTimer releaseTimer
createSchedule listSchedules getSchedule updateSchedule deleteSchedule pauseSchedule resumeSchedule
triggerSchedule backfillSchedule listNextOccurrences listScheduleOccurrences
retryIncident resolveIncident setInstanceScopeVariables getClock advanceClock resumeEngine
/ /assets/{name} /healthz /readyz /openapi.json /docs /metrics /api/v1/{*path}
";

/// What a test needs to know of an instance to read it in every way.
struct Known {
    subject: &'static str,
    id: String,
    timer: String,
    task: String,
    /// An instance of the same definition that may be ended.
    other: String,
    /// One with an incident.
    troubled: String,
}

/// A request of every operation that shows an instance: name, method, path and body.
fn guarded_reads(known: &Known) -> Vec<(&'static str, &'static str, String, Value)> {
    let Known { subject, id, timer, task, other, troubled } = known;
    let get = |name, path| (name, "GET", path, Value::Null);
    vec![
        get("getInstance", format!("/instances/{id}")),
        get("getInstanceResult", format!("/instances/{id}/result")),
        get("listInstanceScopes", format!("/instances/{id}/scopes")),
        get("getInstanceHistory", format!("/instances/{id}/history")),
        get("getInstanceTimeline", format!("/instances/{id}/timeline")),
        get("listInstances", format!("/instances?definition={subject}")),
        get("listInstances", format!("/instances?definition={subject}&waitingFor=step")),
        get("listTimers", format!("/timers?instance={id}")),
        get("getTimer", format!("/timers/{timer}")),
        get("listTasks", format!("/tasks?instance={id}")),
        get("getTask", format!("/tasks/{task}")),
        get("listIncidents", format!("/incidents?instance={troubled}")),
        get("explain", format!("/why/{id}")),
        get("explain", format!("/why/{timer}")),
        get("explain", format!("/why/{task}")),
        get("getForecast", format!("/forecast?definition={subject}")),
        get("streamEvents", format!("/events?after=0&instance={id}")),
        // These change the instance, and show it.
        ("startInstance", "POST", "/instances".to_owned(), json!({ "definition": subject })),
        ("setInstanceVariables", "PATCH", format!("/instances/{id}/variables"), json!({ "a": 1 })),
        ("suspendInstance", "POST", format!("/instances/{id}/suspend"), json!({})),
        ("resumeInstance", "POST", format!("/instances/{id}/resume"), json!({})),
        ("cancelInstance", "POST", format!("/instances/{id}/cancel"), json!({})),
        ("restartInstance", "POST", format!("/instances/{id}/restart"), json!({})),
        ("cancelJourney", "POST", format!("/journeys/{other}/steps/cancel"), Value::Null),
    ]
}

/// Every way to read an instance, and for each whether the log says who did.
#[tokio::test]
async fn operators_read_past_guards_and_the_log_says_who_at_every_level() {
    // The quietest level: who reads past a guard is on record in any case.
    let (log, _scope) = log::collect(log_filter(LevelFilter::ERROR));
    let mut keys = keys();
    keys.settings.limits.ops_runaway = 10_000;
    let node = Stage::new(Arc::new(MemoryStore::new()), &keys.settings).await;
    let head = DEFINITIONS[2].split("  start: ask").next().expect("a head");
    let waits = "  start: both
  states:
    both:
      type: parallel
      parallel:
        branches:
          - name: ask
            start: ask
            states:
              ask: {type: wait, wait: {channel: manual, input: {schema: {}}, timeoutSec: 600, onTimeout: end}, next: end}
              end: {type: succeed}
          - name: work
            start: work
            states:
              work: {type: task, task: {kind: score:v1, resultVar: r}, next: end}
              end: {type: succeed}
        join: {strategy: allOf}
      next: done
    done: {type: succeed}
";
    let never_ends = "  start: again
  states:
    again: {type: transform, transform: {mapper: {lang: dataweave, expr: '{n: sizeOf(1 to 100)}'}}, next: again}
";
    for (name, states) in [("guarded", waits), ("guarded-troubled", never_ends)] {
        let guarded =
            format!("{head}{states}").replace("{name: guarded", &format!("{{name: {name}"));
        let bare = guarded.replace(", read: {guardRef: owner}", "");
        let bare = bare.replace("{name: guarded", "{name: bare");
        for text in [guarded, bare] {
            let name = "x.journey.yaml".to_owned();
            let source = Source { name, text: text.into(), files: Vec::new() };
            node.engine.kernel().deploy("journey", source).await.expect("a good definition");
        }
    }
    let [_, admin] = shown(&keys.by_role[4].1.secret);
    let ask = async |method: &str, path: &str, body: &Value| {
        let repeated = ("idempotency-key", format!("{path} {body}"));
        let kind = ("content-type", "application/json".to_owned());
        let headers = [admin.clone(), repeated, kind];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        node.ask(method, &format!("/api/v1{path}"), &headers, body).await
    };
    for subject in ["bare", "guarded"] {
        let start = json!({ "definition": subject });
        let id_of = |answer: Value| answer["id"].as_str().expect("an id").to_owned();
        let id = id_of(ask("POST", "/instances", &start).await.1);
        let another = json!({ "definition": subject, "tags": ["other"] });
        let other = id_of(ask("POST", "/instances", &another).await.1);
        let troubled = json!({ "definition": format!("{subject}-troubled") });
        let troubled = id_of(ask("POST", "/instances", &troubled).await.1);
        let first = async |list: &str, id: &str| {
            let (_, page) = ask("GET", &format!("/{list}?instance={id}"), &Value::Null).await;
            page["items"][0]["id"].as_str().map(str::to_owned)
        };
        while first("incidents", &troubled).await.is_none() {
            tokio::task::yield_now().await;
        }
        let timer = first("timers", &id).await.expect("a timer");
        let task = first("tasks", &id).await.expect("a task");
        let known = Known { subject, id, timer, task, other, troubled };
        let reads = guarded_reads(&known);
        let names: Vec<&str> =
            reads.iter().map(|it| it.0).chain(NOT_READING.split_whitespace()).collect();
        for (name, _, _) in operations() {
            assert!(names.contains(&name.as_str()), "{name} is in neither list");
        }
        log.take();
        for (name, method, path, body) in reads {
            let (status, answer) = ask(method, &path, &body).await;
            assert!(status.is_success(), "{name}: {status} {answer}");
            let lines = log.take();
            if subject == "guarded" {
                let [line] = lines.as_slice() else { panic!("{name} {path}: {lines:?}") };
                let others = [&known.other, &known.troubled];
                let id = others.into_iter().find(|id| path.contains(*id)).unwrap_or(&known.id);
                for part in ["meantime::audit", "key the admin", name, id.as_str()] {
                    assert!(line.contains(part), "{name} {path}: {line}");
                }
            } else {
                assert_eq!(lines, Vec::<String>::new(), "{name} {path}");
            }
        }
    }
}

#[tokio::test]
async fn who_tries_too_often_waits_and_nobody_else() {
    let mut settings = Settings::default();
    let key = new_key();
    settings.auth.keys.push(ApiKey {
        id: key.id.clone(),
        name: None,
        sha256: key.sha256.clone(),
        role: Role::Admin,
        expires_at: None,
    });
    settings.rate.failures_per_minute = 3;
    let stage = Stage::new(Arc::new(MemoryStore::new()), &settings).await;
    let statuses = async |credentials: &str| {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let shown = [("authorization", credentials.to_owned())];
            let answer = stage.call("GET", "/api/v1/instances", &shown).await;
            statuses.push(answer.0.as_u16());
        }
        statuses
    };
    assert_eq!(statuses("Bearer x").await, [401, 401, 401, 429, 429]);
    assert_eq!(statuses("Bearer mt_00000000_0").await, [429; 5], "ids can be made up without end");
    let guessed = format!("Bearer mt_{}_0", key.id);
    assert_eq!(statuses(&guessed).await, [401, 401, 401, 429, 429]);
    let good = format!("Bearer {}", key.secret);
    assert_eq!(statuses(&good).await, [200; 5], "a good key pays for nobody's mistakes");
    // Three a minute is one every twenty seconds.
    let request = Request::get("/api/v1/instances").header("authorization", &guessed);
    let request = request.body(Body::empty()).expect("a request");
    let response = stage.router.clone().oneshot(request).await.expect("never fails");
    let hint = response.headers()["retry-after"].to_str().expect("text").to_owned();
    assert!(matches!(hint.as_str(), "19" | "20"), "{hint}");
}
