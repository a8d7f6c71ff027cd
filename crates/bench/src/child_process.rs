//! The parent's handle of a process that the bench starts and kills.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result};
use meantime_kernel::clock::Stopwatch;

use super::child::ChildMessage;

/// A running child process. Dropping it kills it.
pub(super) struct ChildProcess {
    child: Child,
    lines: BufReader<ChildStdout>,
    watch: Stopwatch,
}

impl ChildProcess {
    /// Starts this binary again with the arguments of a child process.
    pub(super) fn start<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Result<Self> {
        let binary = std::env::current_exe().context("the binary does not know its place")?;
        let watch = Stopwatch::start();
        let mut child = Command::new(binary)
            .arg("bench-child")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a part of the bench")?;
        let lines = child.stdout.take().map(BufReader::new).context("it has no output")?;
        Ok(Self { child, lines, watch })
    }

    /// The next message of the process.
    pub(super) fn read_message(&mut self) -> Result<ChildMessage> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("a part of the bench said {line:?}"))
    }

    /// Milliseconds since it was started.
    pub(super) fn age_ms(&self) -> f64 {
        self.watch.elapsed().as_secs_f64() * 1_000.0
    }

    /// Kills the process, as `kill -9` does, and waits until it has ended.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
