//! Every operation of the OpenAPI document, called by nobody, by strangers, and in every role.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use meantime_core::Timestamp;
use meantime_kernel::store::MemoryStore;
use meantime_server::{
    ApiKey, App, Engine, Formats, NewKey, Role, Settings, document_text, new_key, notations,
};
use serde_json::Value;
use tower::ServiceExt as _;

const ROLES: [(Role, &str); 5] = [
    (Role::Viewer, "viewer"),
    (Role::Operator, "operator"),
    (Role::Worker, "worker"),
    (Role::Deployer, "deployer"),
    (Role::Admin, "admin"),
];

/// The authorization case of every operation: who may use it. An operation without a line here
/// fails the test, and so does a line without an operation.
const CASES: &str = "
deploy                  deployer admin
list_definitions        viewer operator deployer admin
latest_definition       viewer operator deployer admin
definition_versions     viewer operator deployer admin
definition_source       viewer operator deployer admin
definition_graph        viewer operator deployer admin
latest_graph            viewer operator deployer admin
undeploy                deployer admin
start                   operator admin
list_instances          viewer operator deployer admin
get_instance            viewer operator deployer admin
set_variables           operator admin
history                 viewer operator deployer admin
timeline                viewer operator deployer admin
cancel                  operator admin
start_journey           operator admin
list_journeys           viewer operator deployer admin
journey_status          viewer operator deployer admin
journey_result          viewer operator deployer admin
submit_step             operator admin
cancel_journey          operator admin
call_api                operator admin
signal                  operator admin
publish                 operator admin
broadcast               operator admin
claim                   operator worker admin
complete                operator worker admin
fail                    operator worker admin
extend                  operator worker admin
complete_many           operator worker admin
list_tasks              viewer operator deployer admin
get_task                viewer operator deployer admin
assign                  operator admin
unassign                operator admin
list_timers             viewer operator deployer admin
get_timer               viewer operator deployer admin
move_timer              operator admin
fire_timer              operator admin
freeze_timer            operator admin
release_timer           operator admin
create_schedule         operator admin
list_schedules          viewer operator deployer admin
get_schedule            viewer operator deployer admin
change_schedule         operator admin
delete_schedule         operator admin
pause_schedule          operator admin
resume_schedule         operator admin
trigger_schedule        operator admin
backfill_schedule       operator admin
next_slots              viewer operator deployer admin
occurrences             viewer operator deployer admin
forecast                viewer operator deployer admin
why                     viewer operator deployer admin
list_incidents          viewer operator deployer admin
retry_incident          operator admin
resolve_incident        operator admin
events                  viewer operator deployer admin
get_clock               viewer operator deployer admin
advance_clock           admin
resume                  admin
";

struct Stage {
    app: App,
    keys: Vec<(&'static str, NewKey)>,
    expired: NewKey,
}

async fn stage() -> Stage {
    let mut settings = Settings::default();
    let mut keys = Vec::new();
    let mut keep = |role: Role, expires_at: Option<Timestamp>| {
        let key = new_key();
        let (id, sha256) = (key.id.clone(), key.sha256.clone());
        settings.auth.keys.push(ApiKey { id, name: None, sha256, role, expires_at });
        key
    };
    for (role, name) in ROLES {
        keys.push((name, keep(role, None)));
    }
    let expired = keep(Role::Admin, Timestamp::parse("2020-01-01T00:00:00Z").ok());
    settings.rate.failures_per_minute = 1_000_000;
    settings.clock.is_virtual = true;
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::on(store, settings, notations(), Formats::default()).await;
    Stage { app: App::new(&engine.expect("the engine starts")), keys, expired }
}

impl Stage {
    /// The status and the code of an answer.
    async fn call(
        &self,
        method: &str,
        path: &str,
        credentials: Option<&str>,
    ) -> (StatusCode, String) {
        // Every id is one of nothing: whoever may do it hears that it is not there.
        let nothing = "in_00000000000000000000000000";
        let mut uri = String::new();
        for part in path.split_inclusive('/') {
            let name = part.trim_end_matches('/');
            let value = match name {
                "{version}" => "1",
                "{name}" => "x",
                "{id}" => nothing,
                other => other,
            };
            uri.push_str(value);
            uri.push_str(&part[name.len()..]);
        }
        let mut request = Request::builder().method(method).uri(&uri);
        if let Some(credentials) = credentials {
            request = request.header("authorization", credentials);
        }
        let request = request.body(Body::empty()).expect("a request");
        let response = self.app.router().oneshot(request).await.expect("never fails");
        let status = response.status();
        if status.is_success() {
            return (status, String::new());
        }
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    }
}

fn operations() -> Vec<(String, String, String)> {
    let document: Value = serde_json::from_str(&document_text()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").clone();
    let mut all = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("a path item") {
            let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
            all.push((id, method.to_uppercase(), path.clone()));
        }
    }
    all
}

#[tokio::test]
async fn every_operation_answers_exactly_those_who_may_use_it() {
    let stage = stage().await;
    let operations = operations();
    let cases: Vec<(&str, Vec<&str>)> = CASES
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(id, roles)| (id, roles.split_whitespace().collect()))
        .collect();
    let known: Vec<&str> = operations.iter().map(|(id, _, _)| id.as_str()).collect();
    let unused: Vec<&&str> =
        cases.iter().map(|(id, _)| id).filter(|id| !known.contains(id)).collect();
    assert_eq!(unused, Vec::<&&str>::new(), "cases without an operation");
    for (id, method, path) in &operations {
        let case = cases.iter().find(|(case, _)| case == id);
        let (_, allowed) = case.unwrap_or_else(|| panic!("{id} has no authorization case"));
        let strangers = [
            None,
            Some("Bearer mt_00000000_0".to_owned()),
            Some(format!("Bearer {}x", stage.keys[4].1.secret)),
            Some(format!("Basic {}", stage.keys[4].1.secret)),
            Some(format!("Bearer {}", stage.expired.secret)),
            Some("Bearer eyJhbGciOiJub25lIn0.e30.".to_owned()),
        ];
        for stranger in &strangers {
            let (status, code) = stage.call(method, path, stranger.as_deref()).await;
            assert_eq!(
                (status, code.as_str()),
                (StatusCode::UNAUTHORIZED, "unauthenticated"),
                "{id} as {stranger:?}"
            );
        }
        for (role, key) in &stage.keys {
            let credentials = format!("Bearer {}", key.secret);
            let (status, code) = stage.call(method, path, Some(&credentials)).await;
            assert_ne!(status, StatusCode::UNAUTHORIZED, "{id} as {role}");
            let refused = status == StatusCode::FORBIDDEN && code == "forbidden";
            assert_eq!(!refused, allowed.contains(role), "{id} as {role}: {status} {code}");
        }
    }
}

#[tokio::test]
async fn only_what_says_nothing_is_open() {
    let stage = stage().await;
    for path in ["/healthz", "/readyz", "/openapi.json", "/docs"] {
        assert_eq!(stage.call("GET", path, None).await.0, StatusCode::OK, "{path}");
    }
    assert_eq!(stage.call("GET", "/metrics", None).await.0, StatusCode::UNAUTHORIZED);
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
    let store = Arc::new(MemoryStore::new());
    let engine = Engine::on(store, settings, notations(), Formats::default()).await;
    let app = App::new(&engine.expect("the engine starts"));
    let stage = Stage { app, keys: Vec::new(), expired: new_key() };
    let statuses = async |credentials: &str| {
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let answer = stage.call("GET", "/api/v1/instances", Some(credentials)).await;
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
    // Three a minute is one in twenty seconds.
    let request = Request::get("/api/v1/instances").header("authorization", &guessed);
    let request = request.body(Body::empty()).expect("a request");
    let response = stage.app.router().oneshot(request).await.expect("never fails");
    let hint = response.headers()["retry-after"].to_str().expect("text").to_owned();
    assert!(matches!(hint.as_str(), "19" | "20"), "{hint}");
}
