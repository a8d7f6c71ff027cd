//! The copy of the repository in which mutants are built, with its own build directory.
//!
//! A file is written only when its content differs, so cargo rebuilds only what a mutant touches.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::shell;

/// The first build compiles every dependency; a test that takes longer than its limit hangs.
const BUILD_LIMIT: Duration = Duration::from_mins(30);
const TEST_LIMIT: Duration = Duration::from_mins(5);

/// How many of the last lines of a long output are shown.
const OUTPUT_TAIL_LINES: usize = 40;

pub(super) struct ScratchCopy {
    tree: PathBuf,
    build: PathBuf,
    log: PathBuf,
}

/// How a command ended, with the end of what it wrote.
pub(super) enum Outcome {
    Passed(String),
    Failed(String),
    Hung,
}

impl ScratchCopy {
    /// Brings the copy up to date with the repository.
    pub(super) fn prepare(root: &Path) -> Result<Self> {
        let base = root.join("target/mutants");
        let scratch = Self {
            tree: base.join("tree"),
            build: base.join("build"),
            log: base.join("output.txt"),
        };
        fs::create_dir_all(&scratch.tree)?;
        let wanted = shell::files(root)?;
        for path in &wanted {
            let text = fs::read(root.join(path)).with_context(|| format!("read {path}"))?;
            scratch.write_bytes(path, &text)?;
        }
        let wanted: BTreeSet<&String> = wanted.iter().collect();
        for path in shell::files(&scratch.tree)? {
            if !wanted.contains(&path) {
                let file = scratch.tree.join(&path);
                fs::remove_file(&file).with_context(|| format!("rm {path}"))?;
                remove_empty_parents(&file);
            }
        }
        Ok(scratch)
    }

    pub(super) fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.tree.join(path)).with_context(|| format!("read {path}"))
    }

    pub(super) fn write(&self, path: &str, text: &str) -> Result<()> {
        self.write_bytes(path, text.as_bytes())
    }

    fn write_bytes(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let target = self.tree.join(path);
        if fs::read(&target).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        if let Some(dir) = target.parent() {
            fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        }
        fs::write(&target, bytes).with_context(|| format!("write {path}"))
    }

    /// Compiles a test without running it.
    pub(super) fn build(&self, test: &[String]) -> Result<Outcome> {
        let mut args = vec!["test".to_owned(), "--no-run".to_owned()];
        args.extend(test.iter().cloned());
        self.cargo(&args, BUILD_LIMIT)
    }

    /// Runs a test that was compiled before.
    pub(super) fn test(&self, test: &[String]) -> Result<Outcome> {
        let mut args = vec!["test".to_owned()];
        args.extend(test.iter().cloned());
        self.cargo(&args, TEST_LIMIT)
    }

    fn cargo(&self, args: &[String], limit: Duration) -> Result<Outcome> {
        // The output goes to a file: nothing reads a pipe while cargo runs, and a full pipe blocks
        // it.
        let log = File::create(&self.log).context("create the output file")?;
        let mut command = shell::cargo();
        command.args(args).current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.build);
        // A mutant is built once and runs one test, so compile time matters more than run time.
        command.envs([("CARGO_PROFILE_TEST_OPT_LEVEL", "0"), ("CARGO_PROFILE_TEST_DEBUG", "0")]);
        command.stdout(log.try_clone()?).stderr(log);
        let status = run_with_timeout(command, limit)?;
        let output = String::from_utf8_lossy(&fs::read(&self.log)?).into_owned();
        let tail = output.lines().rev().take(OUTPUT_TAIL_LINES).collect::<Vec<_>>();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join("\n");
        Ok(match status {
            // The whole output: the results of the first test binaries may be far from the end.
            Some(true) => Outcome::Passed(output),
            Some(false) => Outcome::Failed(tail),
            None => Outcome::Hung,
        })
    }
}

/// Removes directories that have become empty: cargo would look for a manifest in the directory of
/// a crate that no longer exists.
fn remove_empty_parents(file: &Path) {
    // `remove_dir` fails on the first directory that is not empty, which ends the walk.
    let _ = file.ancestors().skip(1).try_for_each(fs::remove_dir);
}

/// Whether the command succeeded, or `None` if it was killed at the limit.
fn run_with_timeout(mut command: Command, limit: Duration) -> Result<Option<bool>> {
    // Its own process group: the process that hangs is a child of cargo and must be killed with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().context("cannot start cargo")?;
    let id = child.id();
    let (done, ended) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let status = child.wait();
        // The receiver is gone if the limit was reached.
        let _ = done.send(());
        status
    });
    let in_time = ended.recv_timeout(limit).is_ok();
    if !in_time {
        kill_process_group(id)?;
    }
    let status = waiter.join().ok().context("the waiting thread panicked")??;
    Ok(in_time.then(|| status.success()))
}

fn kill_process_group(id: u32) -> Result<()> {
    let mut kill = if cfg!(windows) {
        let mut kill = Command::new("taskkill");
        kill.args(["/T", "/F", "/PID", &id.to_string()]);
        kill
    } else {
        let mut kill = Command::new("kill");
        kill.args(["-KILL", "--", &format!("-{id}")]);
        kill
    };
    kill.status().context("cannot end the command that hangs")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_is_gone_leaves_no_directory() {
        let root = std::env::temp_dir().join(format!("meantime-scratch-{}", std::process::id()));
        let gone = root.join("crates/gone/src/lib.rs");
        fs::create_dir_all(gone.parent().unwrap()).unwrap();
        fs::create_dir_all(root.join("crates/kept")).unwrap();
        fs::write(&gone, "").unwrap();
        fs::remove_file(&gone).unwrap();
        remove_empty_parents(&gone);
        assert!(!root.join("crates/gone").exists());
        assert!(root.join("crates/kept").exists());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_command_that_hangs_is_ended() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let limit = Duration::from_millis(50);
        assert_eq!(run_with_timeout(shell("sleep 600 & wait"), limit).unwrap(), None);
        assert_eq!(run_with_timeout(shell("exit 1"), TEST_LIMIT).unwrap(), Some(false));
        assert_eq!(run_with_timeout(shell("true"), TEST_LIMIT).unwrap(), Some(true));
    }
}
