//! One keep-alive connection that speaks HTTP/1.1 by hand.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::starters::pause;

/// How much is read at a time.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// The status of a refusal by overload, how soon it is tried again, and how often.
pub(super) const STATUS_REFUSED: u16 = 503;
const RETRY_PAUSE: Duration = Duration::from_millis(20);
const MAX_RETRIES: usize = 500;

/// A connection with what has arrived on it.
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A whole request, ready to be sent.
pub(super) fn request(path: &str, media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {media_type}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The same with JSON.
pub(super) fn json_request(path: &str, body: &str) -> Vec<u8> {
    request(path, "application/json", body)
}

/// A request for a page.
pub(super) fn get_request(path: &str) -> Vec<u8> {
    format!("GET /api/v1{path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

/// A request to end something.
pub(super) fn delete_request(path: &str) -> Vec<u8> {
    format!("DELETE /api/v1{path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("the server cannot be reached")?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(READ_BUFFER_BYTES) })
    }

    /// Sends a request and waits for the whole answer; its status.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<u16> {
        Ok(self.exchange(request).await?.0)
    }

    /// The same, with the body.
    pub(super) async fn send_and_read(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        let (status, head) = self.exchange(request).await?;
        Ok((status, self.buffer.get(head..).unwrap_or_default()))
    }

    /// The status, and where the body begins.
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

    /// The body of the answer; any other status is an error. On a machine that is too slow for
    /// so many callers some are refused, and ask again.
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
