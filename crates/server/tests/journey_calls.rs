//! Outbound calls of journeys: retries, client authentication, forwarded headers, and credentials
//! that a journey checks itself.

#[path = "support/journeys.rs"]
mod journeys;

use journeys::{send, serve, service};
use meantime_server::{ApiKey, JourneySettings, ProfileSettings, Role, SecretSource, new_key};
use serde_json::{Value, json};

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
    let outcome = send(&router, "/journeys/x/start", &[], "{}".to_owned()).await.1;
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
        // The first token is rejected once.
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
    let outcome = send(&router, "/journeys/x/start", &[], "{}".to_owned()).await.1;
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
    let (id, name, role) = ("k".to_owned(), None, Role::Viewer);
    let kept = ApiKey { id, name, sha256: key.sha256, role, expires_at: None };
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
    let status = send(&router, "/journeys/x/start", &headers, "{}".to_owned()).await.1;
    let id = status["journeyId"].as_str().expect("an id").to_owned();
    assert_eq!(status["currentState"], "ask", "{status}");
    let step = format!("/journeys/{id}/steps/ask");
    send(&router, &step, &[("x-api-key", "wrong")], "{}".to_owned()).await;
    let result = format!("/journeys/{id}/result");
    let (_, outcome) = send(&router, &result, &[], String::new()).await;
    let output = &outcome["output"];
    assert_eq!(output["auth"], json!({ "apiKey": { "keyId": "k" } }), "{outcome}");
    assert_eq!(output["later"]["apiKey"]["problem"]["code"], "APIKEY_INVALID");
    assert_eq!(output["later"]["apiKey"]["keyId"], Value::Null);
    // The header belonged to the first request only, and was not stored.
    assert_eq!(service.heard(), ["/first - t-1", "/second - -"]);
    assert!(!outcome.to_string().contains(&key.secret));
}
