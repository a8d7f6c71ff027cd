//! The packages in other languages: their own tests, in their own tools.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::shell::root;
use crate::step::{Options, Step};

pub(crate) const STEPS: &[Step] = &[
    Step { name: "python package", run: python },
    Step { name: "typescript package", run: typescript },
];

fn python(_: &Options) -> Result<()> {
    let dir = root()?.join("sdks/python");
    let mut tests = Command::new("python3");
    tests.args(["-W", "error", "-m", "unittest", "discover", "-s", "tests"]);
    tests.env("PYTHONPATH", dir.join("src")).env("PYTHONDONTWRITEBYTECODE", "1");
    run(&mut tests, &dir, "install Python 3.10 or later as `python3`")
}

fn typescript(_: &Options) -> Result<()> {
    let dir = root()?.join("sdks/typescript");
    let hint = "install Node 20 or later with npm";
    if !is_installed(&dir) {
        run(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]), &dir, hint)?;
    }
    run(Command::new("npm").arg("test"), &dir, hint)
}

/// Whether the packages are those of the lock file: npm writes its own copy of it.
fn is_installed(dir: &Path) -> bool {
    let time = |path: &str| dir.join(path).metadata().and_then(|it| it.modified()).ok();
    match (time("node_modules/.package-lock.json"), time("package-lock.json")) {
        (Some(installed), Some(wanted)) => installed >= wanted,
        _ => false,
    }
}

fn run(command: &mut Command, dir: &Path, hint: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.current_dir(dir).status();
    let status = status.with_context(|| format!("cannot start {program}; {hint}"))?;
    ensure!(status.success(), "{program} failed ({status}) in {}", dir.display());
    Ok(())
}
