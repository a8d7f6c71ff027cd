//! Running other programs from the root of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The root of the repository, wherever the command was started from.
pub(crate) fn root() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    Ok(root.context("xtask lies in the root of the repository")?.to_path_buf())
}

/// The cargo that started us, so that `cargo +toolchain xtask …` stays on that toolchain.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs cargo in the root with its output shown; a failure names the command to repeat by hand.
pub(crate) fn cargo_run<S: AsRef<str>>(args: &[S]) -> Result<()> {
    cargo_run_with(args, None)
}

/// Like [`cargo_run`], with environment variables for the processes that cargo starts.
pub(crate) fn cargo_run_with<'v, S: AsRef<str>>(
    args: &[S],
    variables: impl IntoIterator<Item = (&'v str, &'v str)>,
) -> Result<()> {
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    let mut command = cargo();
    command.args(&args).envs(variables).current_dir(root()?);
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "`cargo {}` failed ({status})", args.join(" "));
    Ok(())
}

/// Runs a program in `dir` and returns what it wrote to standard output.
pub(crate) fn output(command: &mut Command, dir: &Path) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.current_dir(dir).output().with_context(|| format!("cannot run {program}"))?;
    if !out.status.success() {
        bail!("{program} failed ({}): {}", out.status, String::from_utf8_lossy(&out.stderr));
    }
    String::from_utf8(out.stdout).with_context(|| format!("{program} did not write UTF-8"))
}

/// Whether `cargo <name>` exists on this machine.
pub(crate) fn has_cargo_command(name: &str) -> bool {
    cargo()
        .args([name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The files of the repository, tracked or not yet tracked but not ignored, sorted, with `/`.
///
/// A copy without version control (an unpacked archive) is walked instead.
pub(crate) fn files(root: &Path) -> Result<Vec<String>> {
    let mut paths = if root.join(".git").exists() {
        let mut git = Command::new("git");
        git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        output(&mut git, root)?.split('\0').map(str::to_owned).collect()
    } else {
        let mut found = Vec::new();
        walk(root, "", &mut found)?;
        found
    };
    // A file that is tracked but deleted in the working tree is still listed by git.
    paths.retain(|path| !path.is_empty() && root.join(path).is_file());
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn walk(root: &Path, dir: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(root.join(dir)).with_context(|| format!("cannot list {dir}"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_file() {
            found.push(path);
        } else if kind.is_dir() && !matches!(name.as_str(), "target" | "node_modules" | ".git") {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}
