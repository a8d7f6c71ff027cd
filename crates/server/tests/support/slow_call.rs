//! A definition whose call gets no answer.

use tokio::net::TcpListener;

/// A journey or an API that calls a service for up to a minute, with a deadline of its own.
pub(crate) fn definition(kind: &str, name: &str, seconds: u32, silent: &TcpListener) -> String {
    let base = silent.local_addr().expect("an address");
    format!(
        "apiVersion: v1
kind: {kind}
metadata: {{name: {name}, version: 1.0.0}}
spec:
  execution: {{maxDurationSec: {seconds}, onTimeout: {{errorCode: TOO_SLOW, reason: took too long}}}}
  start: call
  states:
    call: {{type: task, task: {{kind: httpCall:v1, method: GET, url: 'http://{base}/', timeoutMs: 60000, resultVar: r}}, next: done}}
    done: {{type: succeed}}
"
    )
}

/// A service that accepts connections and never answers.
pub(crate) async fn silent_service() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}
