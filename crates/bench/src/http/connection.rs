//! One keep-alive connection with a minimal HTTP/1.1 client.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::starters::pause;

/// Size of the read buffer.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// The status of a rejection under overload, the pause before a retry, and the number of retries.
pub(super) const STATUS_REFUSED: u16 = 503;
const RETRY_PAUSE: Duration = Duration::from_millis(20);
const MAX_RETRIES: usize = 500;

/// A connection and the bytes that have arrived on it.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A complete request as bytes.
pub(super) fn request(path: &str, media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A POST request with a JSON body.
pub(super) fn json_request(path: &str, body: &str) -> Vec<u8> {
    request(path, "application/json", body)
}

/// A GET request.
pub(super) fn get_request(path: &str) -> Vec<u8> {
    format!("GET /api/v1{path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

/// A DELETE request.
pub(super) fn delete_request(path: &str) -> Vec<u8> {
    format!("DELETE /api/v1{path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("the server cannot be reached")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(READ_BUFFER_BYTES) })
    }

    /// Sends a request, reads the whole answer and returns its status.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<u16> {
        Ok(self.exchange(request).await?.0)
    }

    /// Like [`Self::send`], and returns the body too.
    pub(super) async fn send_and_read(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        let (status, head) = self.exchange(request).await?;
        Ok((status, self.buffer.get(head..).unwrap_or_default()))
    }

    /// Sends a request; returns the status and the offset of the body in the buffer.
    async fn exchange(&mut self, request: &[u8]) -> Result<(u16, usize)> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (head, length) = loop {
            self.read().await?;
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break (end + 4, content_length(self.buffer.get(..end).unwrap_or_default())?);
            }
        };
        while self.buffer.len() < head + length {
            self.read().await?;
        }
        let status = self.buffer.get(9..12).and_then(|it| std::str::from_utf8(it).ok());
        let status = status.and_then(|it| it.parse().ok()).context("not an answer of HTTP/1.1")?;
        Ok((status, head))
    }

    /// The body of the answer; an unexpected status is an error. Requests that an overloaded server
    /// rejects are repeated, because a slow machine cannot serve all callers at once.
    pub(super) async fn expect(&mut self, request: &[u8], status: u16) -> Result<&[u8]> {
        let mut found = self.exchange(request).await?;
        for _ in 0..MAX_RETRIES {
            if found.0 != STATUS_REFUSED {
                break;
            }
            pause(RETRY_PAUSE).await;
            found = self.exchange(request).await?;
        }
        let body = self.buffer.get(found.1..).unwrap_or_default();
        ensure!(found.0 == status, "{}: {}", found.0, String::from_utf8_lossy(body));
        Ok(body)
    }

    async fn read(&mut self) -> Result<()> {
        self.buffer.reserve(READ_BUFFER_BYTES);
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server closed a connection");
        Ok(())
    }
}

fn content_length(head: &[u8]) -> Result<usize> {
    let head = std::str::from_utf8(head)?.to_ascii_lowercase();
    let value = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    value.context("an answer without a length")?.parse().context("a length that is no number")
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
