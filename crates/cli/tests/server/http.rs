//! A client that keeps its connection open, for tests that send many requests.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Connection {
    /// A connection to the server at an address such as `http://127.0.0.1:8088`.
    pub(crate) fn to(url: &str) -> Self {
        let host = url.trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&host).expect("it listens");
        Self { stream: BufReader::new(stream), host }
    }

    /// Sends a request; `None` if the server closed the connection before it answered.
    pub(crate) fn ask(&mut self, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
        let (host, length) = (&self.host, body.len());
        let text = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: \
             application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.get_mut().write_all(text.as_bytes()).ok()?;
        let mut line = String::new();
        self.stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}
