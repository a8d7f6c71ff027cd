//! One keep-alive connection with a minimal HTTP/1.1 client.
//!
//! It does as little as a client can, so that the load takes little of the cores that it shares
//! with the engine. It reads answers with a `Content-Length` and answers in chunks.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Size of the read buffer.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Address and port.
    pub address: SocketAddr,
    /// The path with its query.
    pub path: String,
}

impl std::str::FromStr for Target {
    type Err = anyhow::Error;

    /// Reads `http://ADDRESS:PORT/PATH`. Names are not resolved: all engines are on loopback.
    fn from_str(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("http://").context("a URL that starts with http://")?;
        let end = rest.find('/').unwrap_or(rest.len());
        let (address, path) = rest.split_at(end);
        let address = address.parse().with_context(|| format!("no address and port: {address}"))?;
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { address, path: path.to_owned() })
    }
}

/// A POST request with a JSON body, as bytes.
pub fn post(target: &Target, body: &str) -> Vec<u8> {
    let Target { address, path } = target;
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\n");
    // A service without input takes no media type.
    if !body.is_empty() {
        head.push_str("content-type: application/json\r\n");
    }
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A connection and the bytes that have arrived on it.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The body of an answer in chunks, without their lengths.
    joined: Vec<u8>,
}

/// How the end of a body is found.
enum Framing {
    Length(usize),
    Chunks,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("the server cannot be reached")?;
        stream.set_nodelay(true)?;
        let buffer = Vec::with_capacity(READ_BUFFER_BYTES);
        Ok(Self { stream, buffer, joined: Vec::new() })
    }

    /// Sends a request and returns the status and the body of the answer.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let end = loop {
            self.read().await?;
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
        };
        let head = std::str::from_utf8(self.buffer.get(..end).unwrap_or_default())?;
        let status = head.get(9..12).and_then(|it| it.parse().ok());
        let status = status.context("not an answer of HTTP/1.1")?;
        let body = end + 4;
        match framing(head)? {
            Framing::Length(length) => {
                while self.buffer.len() < body + length {
                    self.read().await?;
                }
                Ok((status, self.buffer.get(body..body + length).unwrap_or_default()))
            }
            Framing::Chunks => {
                self.read_chunks(body).await?;
                Ok((status, &self.joined))
            }
        }
    }

    /// The body of the answer; another status than this one is an error.
    pub async fn expect(&mut self, request: &[u8], status: u16) -> Result<&[u8]> {
        let (found, body) = self.exchange(request).await?;
        ensure!(found == status, "{found}: {}", String::from_utf8_lossy(body));
        Ok(body)
    }

    async fn read_chunks(&mut self, mut at: usize) -> Result<()> {
        self.joined.clear();
        loop {
            let line_end = loop {
                let rest = self.buffer.get(at..).unwrap_or_default();
                if let Some(end) = find(rest, b"\r\n") {
                    break at + end;
                }
                self.read().await?;
            };
            let line = std::str::from_utf8(self.buffer.get(at..line_end).unwrap_or_default())?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let length = usize::from_str_radix(size, 16).context("a chunk without a length")?;
            let start = line_end + 2;
            while self.buffer.len() < start + length + 2 {
                self.read().await?;
            }
            // The last chunk is empty; none of the engines sends trailers.
            if length == 0 {
                return Ok(());
            }
            self.joined.extend_from_slice(self.buffer.get(start..start + length).unwrap_or(&[]));
            at = start + length + 2;
        }
    }

    async fn read(&mut self) -> Result<()> {
        self.buffer.reserve(READ_BUFFER_BYTES);
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server closed a connection");
        Ok(())
    }
}

fn framing(head: &str) -> Result<Framing> {
    for line in head.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            let length = value.trim().parse().context("a length that is no number")?;
            return Ok(Framing::Length(length));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Ok(Framing::Chunks);
        }
    }
    bail!("an answer without a length")
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn a_target_is_an_address_and_a_path() {
        let target: Target = "http://127.0.0.1:80/a?b=c".parse().unwrap();
        assert_eq!((target.address.port(), target.path.as_str()), (80, "/a?b=c"));
        assert_eq!("http://127.0.0.1:80".parse::<Target>().unwrap().path, "/");
        assert!("https://127.0.0.1:80/".parse::<Target>().is_err());
        assert!("http://localhost/".parse::<Target>().is_err());
    }

    #[tokio::test]
    async fn answers_with_a_length_and_in_chunks_are_read() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = [
            "HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\none",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\ntw\r\n1;x\r\no\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n",
        ];
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                let mut request = [0; 256];
                assert!(stream.read(&mut request).await.unwrap() > 0);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let request = post(&Target { address, path: "/".to_owned() }, "{}");
        let mut connection = Connection::open(address).await.unwrap();
        assert_eq!(connection.exchange(&request).await.unwrap(), (201, b"one".as_slice()));
        assert_eq!(connection.expect(&request, 200).await.unwrap(), b"two");
        assert!(connection.expect(&request, 200).await.is_err());
        server.await.unwrap();
    }
}
