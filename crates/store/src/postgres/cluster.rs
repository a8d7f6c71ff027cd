//! A private PostgreSQL cluster for tests, and databases in it.
//!
//! ```text
//!   test ──► database() ──► MEANTIME_TEST_POSTGRES names a cluster? ──► a clean database there
//!                             └── no ──► a cluster of this process, in a temporary directory
//! ```
//!
//! A cluster listens only on a socket in its own directory, so it conflicts with no other. A shell
//! watches over it: it stops the cluster and removes the directory when its input ends, that is,
//! when its parent process has ended for whatever reason.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{Client, NoTls};

use super::options::Options;

/// The environment variable that names an existing cluster: how to connect, without a database
/// name.
pub const VARIABLE: &str = "MEANTIME_TEST_POSTGRES";

const MISSING: &str = "the tests of the PostgreSQL store need PostgreSQL 13 or later on this machine: \
     install it (on Debian and Ubuntu: apt-get install postgresql), or name a cluster whose \
     databases tests may empty in MEANTIME_TEST_POSTGRES";

/// Runs the server until its input ends. A line on the input is a command: kill and restart the
/// server, stop it, start it, freeze all its processes, or let them continue.
const KEEPER: &str = r#"
    directory=$1
    shift
    processes() { echo $pid $(cat /proc/$pid/task/$pid/children); }
    "$@" & pid=$!
    while read -r line; do
        case $line in
            again) kill -QUIT $pid; wait $pid; "$@" & pid=$! ;;
            stop) kill -INT $pid; wait $pid; echo 'keeper: done' >&2 ;;
            start) "$@" & pid=$! ;;
            pause) kill -STOP $pid; kill -STOP $(processes); echo 'keeper: done' >&2 ;;
            resume) kill -CONT $(processes); echo 'keeper: done' >&2 ;;
        esac
    done
    if kill -CONT $(processes) 2>/dev/null; then
        kill -QUIT $pid
        wait $pid
    fi
    rm -rf "$directory"
"#;

/// The durability of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The default configuration.
    Default,
    /// Nothing is synced: fast, for tests that do not depend on durability.
    None,
}

/// The TLS set-up of a cluster, as contents of files.
#[derive(Debug, Clone, Copy)]
pub struct TlsSetup<'a> {
    /// The server's certificate.
    pub certificate: &'a str,
    /// Its key.
    pub key: &'a str,
    /// The authorities that may sign client certificates.
    pub client_roots: &'a str,
    /// `pg_hba.conf`.
    pub access: &'a str,
}

/// A running cluster. Dropping it stops it.
pub struct Cluster {
    address: String,
    port: Option<u16>,
    keeper: Child,
    input: Option<ChildStdin>,
    /// A message each time the server accepts connections, or why it does not.
    ready: Mutex<Receiver<Result<(), String>>>,
}

impl Cluster {
    /// Creates a cluster in a temporary directory and waits until it accepts connections.
    pub fn start(durability: Durability) -> Result<Self, String> {
        Self::start_with(durability, None)
    }

    /// Creates a cluster that also listens on a port of this machine, with TLS.
    pub fn start_with_tls(tls: &TlsSetup<'_>) -> Result<Self, String> {
        Self::start_with(Durability::None, Some(tls))
    }

    fn start_with(durability: Durability, tls: Option<&TlsSetup<'_>>) -> Result<Self, String> {
        let programs = programs().ok_or_else(|| MISSING.to_owned())?;
        let directory = tempfile::Builder::new().prefix("meantime-pg-").tempdir();
        // The shell removes it.
        let directory = directory.map_err(|error| error.to_string())?.keep();
        let user = user_for(&directory)?;
        let data = directory.join("data");
        let mut initdb = user.command(&programs.join("initdb"));
        initdb.arg("-D").arg(&data);
        initdb.args(["-U", "meantime", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
        let made = initdb.output().map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            drop(fs::remove_dir_all(&directory));
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let mut server = user.command(&programs.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&directory);
        server.args(["-c", "max_connections=200"]);
        let port = match tls {
            Some(tls) => Some(user.install(tls, &data)?),
            None => None,
        };
        match port {
            Some(port) => {
                server.args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"]);
                server.args(["-c", "ssl_ca_file=root.crt", "-p", &port.to_string()]);
            }
            None => {
                server.args(["-c", "listen_addresses="]);
            }
        }
        if durability == Durability::None {
            server.args(["-c", "fsync=off", "-c", "full_page_writes=off"]);
        }
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(&directory);
        keeper.arg(server.get_program()).args(server.get_args());
        // Its own process group: signals of the terminal are meant for the tests, not for their
        // database.
        keeper.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut keeper = keeper.spawn().map_err(|error| format!("sh: {error}"))?;
        let input = keeper.stdin.take();
        let output = keeper.stderr.take().ok_or("the server has no output")?;
        let ready = Mutex::new(listen(output));
        let at_port = port.map_or_else(String::new, |port| format!(" port={port}"));
        let address = format!("host={}{at_port} user=meantime", directory.display());
        let cluster = Self { address, port, keeper, input, ready };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// How to connect, without the name of a database.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The port, if it has TLS.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Kills the server and starts it again. It recovers from its log.
    pub fn crash(&mut self) -> Result<(), String> {
        self.tell("again")
    }

    /// Stops the server, which closes every connection first.
    pub fn stop(&mut self) -> Result<(), String> {
        self.tell("stop")
    }

    /// Starts a server that was stopped.
    pub fn restart(&mut self) -> Result<(), String> {
        self.tell("start")
    }

    /// Freezes all processes of the server: connections stay open and are not answered.
    pub fn pause(&mut self) -> Result<(), String> {
        self.tell("pause")
    }

    /// Lets frozen processes continue.
    pub fn resume(&mut self) -> Result<(), String> {
        self.tell("resume")
    }

    /// Sends a command to the shell and waits until it is done.
    fn tell(&mut self, what: &str) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("the cluster has ended")?;
        writeln!(input, "{what}").map_err(|error| error.to_string())?;
        self.wait_until_ready()
    }

    fn wait_until_ready(&self) -> Result<(), String> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.recv().map_err(|_| "the server has ended".to_owned())?
    }
}

/// Keeps reading the output of the server: a full pipe would block it.
fn listen(output: ChildStderr) -> Receiver<Result<(), String>> {
    let (sender, ready) = channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.contains("ready to accept connections") || line == "keeper: done" {
                said.clear();
                drop(sender.send(Ok(())));
            } else if said.len() < 10_000 {
                said.push_str(&line);
                said.push('\n');
            }
        }
        drop(sender.send(Err(format!("the server has ended:\n{said}"))));
    });
    ready
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.input = None;
        // It stops because its input was closed above.
        drop(self.keeper.wait());
    }
}

/// The directory with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> =
            versions.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let number =
            |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
        directories.extend(versions.into_iter().map(|version| version.join("bin")));
    }
    // A directory of the path may contain links to only some of the programs.
    directories
        .into_iter()
        .find(|directory| directory.join("initdb").exists() && directory.join("postgres").exists())
}

/// The user that runs the server, which refuses to run as root.
enum User {
    Myself,
    Other { prefix: Vec<String>, user: u32, group: u32 },
}

impl User {
    fn command(&self, program: &Path) -> Command {
        match self {
            Self::Myself => Command::new(program),
            Self::Other { prefix, .. } => {
                let mut command = Command::new(prefix.first().map_or("setpriv", String::as_str));
                command.args(prefix.iter().skip(1)).arg(program);
                command
            }
        }
    }
}

impl User {
    /// Writes the files of a server with TLS and finds a free port for it.
    fn install(&self, tls: &TlsSetup<'_>, data: &Path) -> Result<u16, String> {
        let files = [
            ("server.crt", tls.certificate),
            ("server.key", tls.key),
            ("root.crt", tls.client_roots),
            ("pg_hba.conf", tls.access),
        ];
        for (name, text) in files {
            let path = data.join(name);
            fs::write(&path, text).map_err(|error| error.to_string())?;
            let private = fs::Permissions::from_mode(0o600);
            fs::set_permissions(&path, private).map_err(|error| error.to_string())?;
            if let Self::Other { user, group, .. } = self {
                chown(&path, Some(*user), Some(*group)).map_err(|error| error.to_string())?;
            }
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0");
        let address = listener.and_then(|it| it.local_addr()).map_err(|error| error.to_string())?;
        Ok(address.port())
    }
}

/// Finds a user for the server and gives it the directory.
fn user_for(directory: &Path) -> Result<User, String> {
    let made_by = fs::metadata(directory).map_err(|error| error.to_string())?.uid();
    if made_by != 0 {
        return Ok(User::Myself);
    }
    let users = fs::read_to_string("/etc/passwd").map_err(|error| error.to_string())?;
    let entry = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2);
        let (user, group) = (ids.next()?.parse().ok()?, ids.next()?.parse().ok()?);
        Some((user, group))
    };
    let (user, group): (u32, u32) = entry("postgres")
        .or_else(|| entry("nobody"))
        .ok_or("the server does not run as root, and there is no user `postgres` or `nobody`")?;
    chown(directory, Some(user), Some(group)).map_err(|error| error.to_string())?;
    let prefix = [
        "setpriv".to_owned(),
        format!("--reuid={user}"),
        format!("--regid={group}"),
        "--clear-groups".to_owned(),
        "--".to_owned(),
    ];
    Ok(User::Other { prefix: prefix.to_vec(), user, group })
}

/// A database for one test, empty at its beginning. Dropping this makes it available again.
pub struct Database {
    url: String,
    /// The lock that keeps other tests away from it.
    lease: Client,
    runtime: Option<Runtime>,
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Database {
    /// How to connect to it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Options of a store in it, with defaults.
    pub fn options(&self) -> Options {
        Options::new(&self.url)
    }

    /// Runs statements beside every store, to damage rows.
    pub fn execute(&self, sql: &str) -> Result<(), String> {
        let Some(runtime) = &self.runtime else { return Err("it was given back".to_owned()) };
        let work = || runtime.block_on(self.lease.batch_execute(sql));
        // On its own thread: the caller may be inside a runtime.
        let done = std::thread::scope(|scope| scope.spawn(work).join());
        let done = done.map_err(|_| "the thread ended early".to_owned())?;
        done.map_err(|error| format!("{error:?}"))
    }
}

/// A database in the cluster of the tests.
pub fn database() -> Result<Database, String> {
    static OWN: OnceLock<Result<Cluster, String>> = OnceLock::new();
    if let Ok(address) = std::env::var(VARIABLE) {
        return database_at(&address);
    }
    let cluster = OWN.get_or_init(|| Cluster::start(Durability::None));
    database_at(cluster.as_ref()?.address())
}

/// A database in a cluster.
pub fn database_at(address: &str) -> Result<Database, String> {
    let address = address.to_owned();
    // On its own thread: the caller may be inside a runtime.
    let leased = std::thread::spawn(move || {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let (url, client) = runtime.block_on(lease(&address))?;
        Ok::<_, String>(Database { url, lease: client, runtime: Some(runtime) })
    });
    leased.join().map_err(|_| "the thread of the lease ended early".to_owned())?
}

/// Locks the first free database, creates one if there is none, and empties it.
async fn lease(address: &str) -> Result<(String, Client), String> {
    const LEASED: &str = "SELECT pg_try_advisory_lock(1)";
    for number in 0..1_000 {
        let name = format!("meantime_test_{number}");
        let url = format!("{address} dbname={name}");
        let client = match connect(&url).await {
            Ok(client) => client,
            Err(_) => {
                let other = connect(&format!("{address} dbname=postgres")).await?;
                // Another test may have created it first.
                let _ = other.batch_execute(&format!("CREATE DATABASE {name}")).await;
                connect(&url).await?
            }
        };
        // Another test that takes the database at this moment terminates our connection.
        let leased = client.query_one(LEASED, &[]).await;
        if leased.is_ok_and(|row| row.get::<_, bool>(0)) {
            client.batch_execute(EMPTY).await.map_err(|error| format!("{error:?}"))?;
            return Ok((url, client));
        }
    }
    Err("a thousand databases are in use".to_owned())
}

/// Terminates the connections of an earlier test, and empties its tables.
const EMPTY: &str = "
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    DO $$
    DECLARE one text;
    BEGIN
        FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
            AND tablename NOT IN ('schema_migration', 'node')
        LOOP
            EXECUTE 'DELETE FROM ' || quote_ident(one);
        END LOOP;
        IF to_regclass('node') IS NOT NULL THEN
            UPDATE node SET epoch = 0, paused = false, clock_at = 0, last_seq = 0;
        END IF;
    END $$";

async fn connect(url: &str) -> Result<Client, String> {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, io) = connected.map_err(|error| format!("{error:?}"))?;
    tokio::spawn(async move {
        // An error of the connection reaches the code that uses the client.
        let _ = io.await;
    });
    Ok(client)
}
