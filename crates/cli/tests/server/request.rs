//! A minimal HTTP client: one connection for each request; errors are returned, never a panic.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// The time limit of a request.
const PATIENCE: Duration = Duration::from_mins(1);

/// Posts JSON; returns the status and the body.
pub(crate) fn post(url: &str, path: &str, headers: &str, body: &Value) -> io::Result<(u16, Value)> {
    ask(url, "POST", path, headers, &body.to_string())
}

/// Posts a source; returns the status and the body.
#[cfg(target_os = "linux")]
pub(crate) fn post_text(
    url: &str,
    path: &str,
    kind: &str,
    source: &str,
) -> io::Result<(u16, Value)> {
    ask_as(url, "POST", path, "", (kind, source))
}

/// Gets a path; returns the status and the body.
pub(crate) fn get(url: &str, path: &str) -> io::Result<(u16, Value)> {
    get_with(url, path, "")
}

/// Like [`get`], with headers.
pub(crate) fn get_with(url: &str, path: &str, headers: &str) -> io::Result<(u16, Value)> {
    ask(url, "GET", path, headers, "")
}

fn ask(url: &str, method: &str, path: &str, headers: &str, body: &str) -> io::Result<(u16, Value)> {
    ask_as(url, method, path, headers, ("application/json", body))
}

fn ask_as(
    url: &str,
    method: &str,
    path: &str,
    headers: &str,
    (kind, body): (&str, &str),
) -> io::Result<(u16, Value)> {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\
         content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
    let parts = status.zip(answer.split_once("\r\n\r\n"));
    let Some((status, (_, body))) = parts else {
        return Err(io::Error::other("the answer was cut off"));
    };
    let body = serde_json::from_str(body).map_err(io::Error::other)?;
    Ok((status, body))
}
