//! The SDKs: runs their tests with their own tools, alone and against the real server.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::shell::{cargo_run_with, root};
use crate::step::{Options, Step};

pub(crate) const STEPS: &[Step] = &[
    Step { name: "the server for the packages", run: binary },
    Step { name: "python package", run: python },
    Step { name: "typescript package", run: typescript },
    Step { name: "workers and a server that misbehaves", run: fuzz },
];

/// The SDKs whose workers are tested.
const SDK_LANGUAGES: [&str; 2] = ["python", "typescript"];

/// The environment variable in which the tests of the SDKs find the server.
pub(crate) const BINARY_VARIABLE: &str = "MEANTIME_TEST_BINARY";

fn binary(_: &Options) -> Result<()> {
    build_binary()
}

/// Builds the server with its console, which debug builds leave out otherwise.
pub(crate) fn build_binary() -> Result<()> {
    cargo_run_with(&["build", "--quiet", "--bin", "meantime"], Some(("MEANTIME_CONSOLE", "on")))
}

/// The path of the program that [`build_binary`] built.
pub(crate) fn path_of_binary() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(root()?.join(target).join("debug/meantime"))
}

fn python(_: &Options) -> Result<()> {
    let dir = root()?.join("sdks/python");
    for tests in ["tests", "e2e"] {
        let mut command = Command::new("python3");
        command.args(["-W", "error", "-m", "unittest", "discover", "-s", tests]);
        command.env("PYTHONPATH", dir.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env(BINARY_VARIABLE, path_of_binary()?);
        run_in(&mut command, &dir, "install Python 3.10 or later as `python3`")?;
    }
    Ok(())
}

fn typescript(_: &Options) -> Result<()> {
    let dir = root()?.join("sdks/typescript");
    let hint = "install Node 20 or later with npm";
    if !is_installed(&dir) {
        run_in(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]), &dir, hint)?;
    }
    run_in(Command::new("npm").arg("test"), &dir, hint)?;
    let mut e2e = Command::new("npm");
    run_in(e2e.args(["run", "e2e"]).env(BINARY_VARIABLE, path_of_binary()?), &dir, hint)
}

fn fuzz(_: &Options) -> Result<()> {
    fuzz_workers(&[])
}

/// `soak workers`: a worker of each SDK behind a proxy that misbehaves, for a minute or as long as
/// the options say.
pub(crate) fn soak(options: &[String]) -> Result<()> {
    let none = Options { filters: Vec::new() };
    binary(&none)?;
    let dir = root()?.join("sdks/typescript");
    run_in(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]), &dir, "install npm")?;
    let mut given = vec!["--seconds".to_owned(), "60".to_owned()];
    given.extend_from_slice(options);
    fuzz_workers(&given)
}

fn fuzz_workers(options: &[String]) -> Result<()> {
    for language in SDK_LANGUAGES {
        let mut command = Command::new("python3");
        command.arg("fuzz/run.py").arg(language).args(options);
        command.env(BINARY_VARIABLE, path_of_binary()?).env("PYTHONDONTWRITEBYTECODE", "1");
        run_in(&mut command, &root()?.join("sdks"), "install Python 3.10 or later as `python3`")?;
    }
    Ok(())
}

/// Whether the installed packages match the lock file: npm keeps a copy of it beside them.
pub(crate) fn is_installed(dir: &Path) -> bool {
    let time = |path: &str| dir.join(path).metadata().and_then(|it| it.modified()).ok();
    match (time("node_modules/.package-lock.json"), time("package-lock.json")) {
        (Some(installed), Some(wanted)) => installed >= wanted,
        _ => false,
    }
}

/// Runs a program in a directory; `hint` says what to install when it is missing.
pub(crate) fn run_in(command: &mut Command, dir: &Path, hint: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.current_dir(dir).status();
    let status = status.with_context(|| format!("cannot start {program}; {hint}"))?;
    ensure!(status.success(), "{program} failed ({status}) in {}", dir.display());
    Ok(())
}
