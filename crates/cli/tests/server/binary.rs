//! The real binary as a server in its own process, which ends with the test.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::Value;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_meantime");

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) url: String,
}

impl Server {
    /// `meantime serve` on a SQLite file of a directory.
    pub(crate) fn on(directory: &Path, arguments: &[&str]) -> Self {
        let db = format!("sqlite:{}", directory.join("state.db").display());
        Self::start(directory, &[&["serve", "--db", &db], arguments].concat())
    }

    /// Starts a server again, at the address of one that has ended.
    pub(crate) fn again(directory: &Path, address: &str) -> Self {
        let db = format!("sqlite:{}", directory.join("state.db").display());
        Self::listen(directory, &["serve", "--db", &db], address)
    }

    /// Starts any command that serves, on any free port.
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        Self::listen(directory, arguments, "127.0.0.1:0")
    }

    /// Like [`Self::start`], on a given port.
    pub(crate) fn listen(directory: &Path, arguments: &[&str], address: &str) -> Self {
        let mut child = Command::new(BINARY)
            .args(arguments)
            .args(["--listen", address])
            .env("MEANTIME_LOG__FORMAT", "json")
            .env("MEANTIME_LOG__LEVEL", "info")
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let output = child.stderr.take().expect("a pipe");
        let mut lines = BufReader::new(output).lines();
        let url = format!("http://{}", address_of(&mut lines));
        // Keeps reading the log: a full pipe would block the server.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, url }
    }

    /// Runs a command against the server.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(BINARY);
        command.args(arguments).env("MEANTIME_URL", &self.url);
        command.output().expect("the binary runs")
    }

    /// The output of a command, which must succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let trouble = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {shown}{trouble}");
        shown
    }

    /// The output of a command, as one JSON document.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.text(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }

    /// Sends a signal, such as `-TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status().expect("kill");
        assert!(sent.success(), "kill {name} {id}");
    }

    /// A line of what the operating system knows about the memory of the process, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn memory_kib(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in {status}"))
    }

    /// Asks the server to end, and waits for it.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().expect("it ends").code()
    }

    /// Kills the server.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, which the test has then noticed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address from the log of the server.
fn address_of(lines: &mut Lines<BufReader<ChildStderr>>) -> String {
    let mut said = Vec::new();
    for line in lines.map_while(Result::ok) {
        let entry: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(address) = entry["fields"]["address"].as_str() {
            return address.to_owned();
        }
        said.push(line);
    }
    panic!("it did not listen: {}", said.join("\n"))
}

/// Writes a file and returns its path.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}
