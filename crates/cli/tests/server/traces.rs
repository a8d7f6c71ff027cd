//! An OpenTelemetry collector gets a span for each request, in the trace of the caller.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use crate::binary::Server;
use crate::request::get_with;

/// A trace id as in the header, and as the collector gets it.
const TRACE: u128 = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;

/// A collector that keeps what it receives: paths and bodies.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (mut path, mut length) = (String::new(), 0);
            for line in reader.by_ref().lines().map_while(Result::ok) {
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length: ") {
                    length = value.parse().unwrap_or(0);
                } else if line.starts_with("POST ") {
                    line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
                } else if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                continue;
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let told = reader.get_mut().write_all(answer);
            if told.is_err() || sender.send((path, body)).is_err() {
                return;
            }
        }
    });
    (endpoint, received)
}

#[test]
fn a_collector_gets_spans_of_requests_in_the_trace_of_their_caller() {
    let directory = tempfile::tempdir().expect("a directory");
    let (endpoint, received) = collector();
    let settings = format!("[trace]\nendpoint = \"{endpoint}\"\nservice = \"billing\"\n");
    std::fs::write(directory.path().join("meantime.toml"), settings).expect("written");
    let server = Server::on(directory.path(), &["--config", "meantime.toml"]);
    let header = format!("traceparent: 00-{TRACE:032x}-00f067aa0ba902b7-01\r\n");
    let (status, _) = get_with(&server.url, "/timers", &header).expect("an answer");
    assert_eq!(status, 200);
    assert_eq!(server.stop(), Some(0), "what is left is sent before the end");
    let (path, body) = received.recv().expect("spans arrive");
    assert_eq!(path, "/v1/traces");
    let contains = |part: &[u8]| body.windows(part.len()).any(|window| window == part);
    assert!(contains(&TRACE.to_be_bytes()), "the trace of the caller goes on");
    assert!(contains(b"GET /api/v1/timers"), "the span names its route");
    assert!(contains(b"billing"), "and the service");
}
