//! A proxy that drops messages on purpose: it parses enough of the protocol to recognise a COMMIT.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

/// The fate of the next COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It passes, and so does its answer.
    Passes,
    /// It reaches the server, and the connection is cut before its answer.
    LosesItsAnswer,
    /// The connection is cut before it reaches the server.
    GetsLost,
    /// The connection of the client is cut, and it reaches the server only when the test releases
    /// it.
    IsLate,
}

/// A proxy in front of a database on a socket.
pub(crate) struct Proxy {
    pub(crate) url: String,
    fate: Arc<Mutex<Fate>>,
    let_go: Arc<Notify>,
    _runtime: Runtime,
}

impl Proxy {
    /// In front of the database of a url `host=<directory> …`.
    pub(crate) fn new(url: &str) -> Self {
        let host = url.split(' ').find_map(|part| part.strip_prefix("host=")).expect("a socket");
        let socket = PathBuf::from(host).join(".s.PGSQL.5432");
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let rest = url.split(' ').filter(|part| !part.starts_with("host="));
        let rest = rest.collect::<Vec<_>>().join(" ");
        let (fate, let_go) = (Arc::new(Mutex::new(Fate::Passes)), Arc::new(Notify::new()));
        let (told, waits) = (Arc::clone(&fate), Arc::clone(&let_go));
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.expect("the server is there");
                tokio::spawn(pass(client, server, Arc::clone(&told), Arc::clone(&waits)));
            }
        });
        // The proxy reads the messages.
        let url = format!("host=127.0.0.1 port={port} sslmode=disable {rest}");
        Self { url, fate, let_go, _runtime: runtime }
    }

    /// Sets the fate of the next COMMIT.
    pub(crate) fn next_commit(&self, fate: Fate) {
        *self.fate.lock().unwrap_or_else(PoisonError::into_inner) = fate;
    }

    /// Releases a late COMMIT.
    pub(crate) fn let_go(&self) {
        self.let_go.notify_one();
    }
}

async fn pass(client: TcpStream, server: UnixStream, fate: Arc<Mutex<Fate>>, let_go: Arc<Notify>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let answers = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
        (from_server, to_client)
    });
    // The first message has no type byte.
    let Some(hello) = message(&mut from_client, false).await else { return };
    if to_server.write_all(&hello).await.is_err() {
        return;
    }
    let mut commit = None;
    while let Some(message) = message(&mut from_client, true).await {
        let names: Vec<&[u8]> = message[5..].split(|byte| *byte == 0).collect();
        if message[0] == b'P' && names.get(1) == Some(&b"COMMIT".as_slice()) {
            commit = Some(names[0].to_vec());
        }
        let is_commit = message[0] == b'B' && commit.as_deref() == names.get(1).copied();
        let fate = if is_commit {
            let mut fate = fate.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *fate, Fate::Passes)
        } else {
            Fate::Passes
        };
        match fate {
            Fate::Passes => {
                if to_server.write_all(&message).await.is_err() {
                    return;
                }
            }
            Fate::GetsLost => {
                answers.abort();
                return;
            }
            Fate::LosesItsAnswer | Fate::IsLate => {
                // Nothing more reaches the client.
                answers.abort();
                let rest = rest(&mut from_client).await;
                drop(from_client);
                if fate == Fate::IsLate {
                    let_go.notified().await;
                }
                let _ = to_server.write_all(&message).await;
                let _ = to_server.write_all(&rest).await;
                // The server closes the session when it has processed everything.
                let _ = to_server.write_all(&[b'X', 0, 0, 0, 4]).await;
                let _ = to_server.shutdown().await;
                return;
            }
        }
    }
    answers.abort();
}

/// Execute and Sync, which follow a Bind.
async fn rest(from: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut rest = Vec::new();
    for _ in 0..2 {
        rest.extend(message(from, true).await.unwrap_or_default());
    }
    rest
}

async fn message(from: &mut (impl AsyncRead + Unpin), is_typed: bool) -> Option<Vec<u8>> {
    let mut bytes = vec![0; if is_typed { 5 } else { 4 }];
    from.read_exact(&mut bytes).await.ok()?;
    let length = u32::from_be_bytes(bytes[bytes.len() - 4..].try_into().ok()?);
    let from_here = bytes.len();
    bytes.resize(from_here + usize::try_from(length).ok()? - 4, 0);
    from.read_exact(&mut bytes[from_here..]).await.ok()?;
    Some(bytes)
}
