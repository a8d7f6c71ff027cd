//! The client's handle of a node: its process, its input and its output.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::protocol::{ClientRequest, NodeResponse};

/// How a node is started: program and arguments.
#[derive(Debug, Clone)]
pub(super) struct NodeCommand {
    pub(super) binary: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

/// A running node. Dropping it kills it.
pub(super) struct NodeProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl NodeProcess {
    pub(super) fn start(program: &NodeCommand) -> std::io::Result<Self> {
        let mut child = Command::new(&program.binary)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(std::io::Error::other("the node has no input or output"));
        };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Sends a request. It is lost if the node has died.
    pub(super) fn send(&mut self, request: &ClientRequest) {
        let mut line = serde_json::to_string(request).unwrap_or_default();
        line.push('\n');
        let _ = self.input.write_all(line.as_bytes());
    }

    /// The next answer; `None` if the node has ended.
    pub(super) fn read_response(&mut self) -> Option<NodeResponse> {
        let mut line = String::new();
        self.output.read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Kills the node, waits for its end, and returns the answers that it had written before.
    pub(super) fn kill(mut self) -> Vec<NodeResponse> {
        // The node may have died already; the audit shows whether anything is wrong.
        let _ = self.child.kill();
        let _ = self.child.wait();
        std::iter::from_fn(|| self.read_response()).collect()
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
