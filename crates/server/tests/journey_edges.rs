//! Edge cases of journeys: OpenAPI files in a deployment, tokens of an identity provider, and an
//! API whose time limit has passed.

#[path = "support/issuer.rs"]
mod issuer;
#[path = "support/journeys.rs"]
mod journeys;
#[path = "support/slow_call.rs"]
mod slow_call;

use std::sync::Arc;

use axum::Router;
use issuer::{accepts, key_pair, token};
use journeys::{send, serve, service};
use meantime_core::Source;
use meantime_kernel::store::{MemoryStore, Store};
use meantime_server::{
    App, Engine, JourneySettings, ProfileSettings, Settings, SourceFormats, notations,
};
use serde_json::{Value, json};
use slow_call::silent_service;

const HEADER: &str = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n";
const NOTHING: &str = "  start: done\n  states: {done: {type: succeed}}\n";

/// A source and its files as one body.
fn multipart(source: &str, file: Option<(&str, &str)>) -> String {
    let part = |disposition: &str, kind: &str, text: &str| {
        format!(
            "--cut\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {kind}\r\n\r\n{text}\r\n"
        )
    };
    let file = file.map(|(name, text)| {
        part(&format!("name=\"file\"; filename=\"{name}\""), "application/yaml", text)
    });
    let source = part("name=\"source\"", "application/yaml", source);
    format!("{source}{}--cut--\r\n", file.unwrap_or_default())
}

#[tokio::test]
async fn an_openapi_file_comes_along_with_the_journey_that_refers_to_it() {
    let service = service(|_, _| (200, json!({ "iban": "CH93" }))).await;
    let router = serve(JourneySettings::default(), &format!("{HEADER}{NOTHING}")).await;
    let journey = "apiVersion: v1
kind: Journey
metadata: {name: account, version: 1.0.0}
spec:
  apis: {bank: {openApiRef: apis/bank.openapi.yaml}}
  start: call
  states:
    call:
      type: task
      task:
        kind: httpCall:v1
        operationRef: bank.getAccount
        params: {path: {id: \"${context.id}\"}, headers: {X-Tenant: t-9}}
        resultVar: r
      next: done
    done: {type: succeed, outputVar: r}
";
    let openapi = format!(
        "openapi: 3.1.0
servers: [{{url: '{}/v1'}}]
paths:
  /accounts/{{id}}:
    get:
      operationId: getAccount
      parameters:
        - {{name: id, in: path, required: true, schema: {{type: string}}}}
        - {{name: X-Tenant, in: header, required: true, schema: {{type: string}}}}
",
        service.base
    );
    let kind = [("content-type", "multipart/form-data; boundary=cut")];
    let (status, refused) = send(&router, "/definitions", &kind, multipart(journey, None)).await;
    assert_eq!((status, &refused["diagnostics"][0]["code"]), (422, &json!("J045")), "{refused}");
    let body = multipart(journey, Some(("apis/bank.openapi.yaml", &openapi)));
    let (status, deployed) = send(&router, "/definitions", &kind, body).await;
    assert_eq!(status, 201, "{deployed}");
    let start = json!({ "id": "a/7" }).to_string();
    let (_, outcome) = send(&router, "/journeys/account/start", &[], start).await;
    assert_eq!(outcome["output"]["body"], json!({ "iban": "CH93" }), "{outcome}");
    assert_eq!(service.heard(), ["/v1/accounts/a%2F7 - t-9"]);
}

#[tokio::test]
async fn a_journey_looks_at_the_token_of_the_request() {
    let pair = key_pair();
    let (_file, jwt) = accepts(&pair);
    let mut settings = JourneySettings::default();
    let profile = ProfileSettings { keys: Vec::new(), jwt: Some(jwt) };
    settings.profiles.insert("customers".to_owned(), profile);
    let text = format!(
        "{HEADER}  start: check
  states:
    check: {{type: task, task: {{kind: jwtValidate:v1, profile: customers}}, next: done}}
    done: {{type: succeed, outputVar: auth}}
"
    );
    let router = serve(settings, &text).await;
    let good = json!({ "iss": "https://login.test", "aud": "shop", "sub": "ann", "exp": 4_102_444_800_u64 });
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        format!("Bearer {}", token(&pair, "EdDSA", "ed", &claims))
    };
    let of_another_key = format!("Bearer {}", token(&pair, "EdDSA", "other", &good));
    let (other, own) = (with("sub", json!("eve")), with("sub", json!("ann")));
    let parts = other.rsplit_once('.').zip(own.rsplit_once('.'));
    let forged = parts.map(|((claims, _), (_, signature))| format!("{claims}.{signature}"));
    let cases = [
        (with("sub", json!("ann")), "good"),
        (with("exp", json!(1)), "JWT_EXPIRED"),
        (with("nbf", json!(4_102_444_700_u64)), "JWT_NOT_YET_VALID"),
        (with("aud", json!("bank")), "JWT_AUDIENCE_MISMATCH"),
        (with("iss", json!("https://else.test")), "JWT_ISSUER_MISMATCH"),
        (with("exp", json!("tomorrow")), "JWT_CLAIMS_INVALID"),
        (of_another_key, "JWT_KID_NOT_FOUND"),
        (forged.expect("tokens have parts"), "JWT_SIG_INVALID"),
        ("Bearer nonsense".to_owned(), "JWT_TOKEN_MALFORMED"),
        ("Basic YTpi".to_owned(), "JWT_TOKEN_MISSING"),
    ];
    for (header, expected) in cases {
        let headers = [("authorization", header.as_str())];
        let (_, outcome) = send(&router, "/journeys/x/start", &headers, "{}".to_owned()).await;
        assert_eq!(outcome["phase"], "SUCCEEDED", "{outcome}");
        let auth = &outcome["output"];
        if expected == "good" {
            assert_eq!(auth["jwt"]["claims"]["sub"], "ann", "{outcome}");
            assert_eq!(auth["jwt"]["problem"], Value::Null, "{outcome}");
        } else {
            assert_eq!(auth["jwt"]["problem"]["code"], expected, "{outcome}");
            assert_eq!(auth["jwt"]["claims"], Value::Null, "{outcome}");
        }
    }
}

#[tokio::test]
async fn an_api_that_takes_too_long_answers_504_with_its_own_code() {
    let silent = silent_service().await;
    let text = slow_call::definition("Api", "slow", 1, &silent);
    let router = serve(JourneySettings::default(), &text).await;
    let (status, problem) = send(&router, "/apis/slow", &[], "{}".to_owned()).await;
    assert_eq!(status, 504, "{problem}");
    assert_eq!(
        (&problem["code"], &problem["reason"]),
        (&json!("TOO_SLOW"), &json!("took too long"))
    );
}

/// An API with these states on a store, whose server is started again without its settings.
async fn api_after_a_restart(states: &str, settings: &Settings) -> Router {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let text = format!("{}{states}", HEADER.replace("kind: Journey", "kind: Api"));
    let start = async |settings: Settings| {
        let (store, formats) = (store.clone(), SourceFormats::default());
        let engine = Engine::start_on(store, settings, notations(), formats);
        engine.await.expect("the engine starts")
    };
    let before = start(settings.clone()).await;
    let source = Source { name: "x.journey.yaml".to_owned(), text: text.into(), files: Vec::new() };
    before.kernel().deploy("journey", source).await.expect("a good definition");
    before.stop().await;
    let limits = settings.limits.clone();
    App::new(&start(Settings { limits, ..Settings::default() }).await).router()
}

#[tokio::test]
async fn an_api_that_cannot_go_on_answers_500_with_the_code() {
    let (_file, jwt) = accepts(&key_pair());
    let mut settings = Settings::default();
    settings.limits.ops_runaway = 10_000;
    let profile = ProfileSettings { keys: Vec::new(), jwt: Some(jwt) };
    settings.journeys.profiles.insert("default".to_owned(), profile);
    let check = "  start: check
  states:
    check: {type: task, task: {kind: jwtValidate:v1}, next: done}
    done: {type: succeed}
";
    let endless = "  execution: {maxDurationSec: 600, onTimeout: {errorCode: LATE, reason: too late}}
  start: again
  states:
    again: {type: transform, transform: {mapper: {lang: dataweave, expr: '{n: sizeOf(1 to 100)}'}}, next: again}
";
    let headers = [("authorization", "Bearer a.b.c")];
    let router = api_after_a_restart(endless, &settings).await;
    let (status, problem) = send(&router, "/apis/x", &headers, "{}".to_owned()).await;
    assert_eq!((status, &problem["code"]), (500, &json!("runaway")), "{problem}");
    assert_eq!(problem["type"], "/docs#error-internal", "{problem}");
    // A run that answers a request cannot wait for an operator: what the deployment lacks fails it.
    let router = api_after_a_restart(check, &settings).await;
    let (status, problem) = send(&router, "/apis/x", &headers, "{}".to_owned()).await;
    assert_eq!(
        (status, &problem["code"]),
        (500, &json!("urn:meantime:error:internal")),
        "{problem}"
    );
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("JWT_CONFIG_MISSING: "), "{problem}");
}

#[tokio::test]
async fn d3_a_step_waits_for_its_timeout_or_for_the_deadline_if_that_comes_first() {
    let text = format!(
        "{HEADER}  execution: {{maxDurationSec: 60, onTimeout: {{errorCode: LATE, reason: too late}}}}
  start: ask
  states:
    ask: {{type: wait, wait: {{channel: manual, input: {{schema: {{}}}}, timeoutSec: 30, onTimeout: again}}, next: done}}
    again: {{type: wait, wait: {{channel: manual, input: {{schema: {{}}}}, timeoutSec: 90, onTimeout: done}}, next: done}}
    done: {{type: succeed}}
"
    );
    let router = serve(JourneySettings::default(), &text).await;
    for (start, seconds) in [("ask", 30), ("again", 60)] {
        let text = text.replace("start: ask", &format!("start: {start}"));
        let kind = [("content-type", "application/yaml")];
        let (status, deployed) = send(&router, "/definitions", &kind, text).await;
        assert!(status < 300, "{deployed}");
        let body = json!({ "definition": "x" }).to_string();
        let (_, started) = send(&router, "/instances", &[], body).await;
        let waiting = &started["waitingFor"][0];
        assert_eq!(
            (&waiting["kind"], &waiting["id"]),
            (&json!("step"), &json!(start)),
            "{started}"
        );
        let at = |value: &Value| {
            let text = value.as_str().expect("an instant");
            meantime_core::Timestamp::parse(text).expect("an instant")
        };
        let left = at(&waiting["dueAt"]).saturating_since(at(&started["startedAt"]));
        assert_eq!(left, seconds * 1_000, "{started}");
    }
}
