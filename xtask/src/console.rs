//! `console`: the types, the bundle and the tests of the console, in a real browser against the
//! real server.
//!
//! Packages come from the lock file; Chromium is installed if it is missing and `apt` may do it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::sdk::{BINARY_VARIABLE, build_binary, is_installed, path_of_binary, run_in};
use crate::shell::root;
use crate::step::{Options, Step, run_all};

pub(crate) const STEPS: &[Step] = &[
    Step { name: "types and units of the console", run: check },
    Step { name: "the console in a browser", run: browser },
];

/// Where browsers are found; the first is what Debian installs.
const BROWSERS: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Names another browser.
const BROWSER_VARIABLE: &str = "MEANTIME_TEST_BROWSER";

const NODE_HINT: &str = "install Node 20.19 or later with npm";

/// `cargo xtask console`, with `screenshots` for pictures of every page.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args {
        [] => {
            let server = Step { name: "the server with its console", run: |_| build_binary() };
            run_all(&[&[server], STEPS], &Options::default())
        }
        [command, only @ ..] if command == "screenshots" => {
            build_binary()?;
            let dir = install()?;
            let mut node = Command::new("node");
            node.arg("test/screenshots.mjs").args(only);
            run_in(node.envs(variables()?), &dir, NODE_HINT)
        }
        _ => bail!("`console` takes nothing, or `screenshots` with parts of their names"),
    }
}

fn check(_: &Options) -> Result<()> {
    let dir = install()?;
    for script in ["generated", "check", "unit"] {
        run_in(Command::new("npm").args(["run", "--silent", script]), &dir, NODE_HINT)?;
    }
    Ok(())
}

fn browser(_: &Options) -> Result<()> {
    let dir = install()?;
    install_browser()?;
    let mut tests = Command::new("npm");
    run_in(tests.args(["run", "--silent", "browser"]).envs(variables()?), &dir, NODE_HINT)
}

fn variables() -> Result<[(&'static str, PathBuf); 1]> {
    Ok([(BINARY_VARIABLE, path_of_binary()?)])
}

/// Installs the packages if they changed; returns the directory of the console.
fn install() -> Result<PathBuf> {
    let dir = root()?.join("console");
    if !is_installed(&dir) {
        run_in(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]), &dir, NODE_HINT)?;
    }
    Ok(dir)
}

fn install_browser() -> Result<()> {
    let is_there = || BROWSERS.iter().any(|path| Path::new(path).exists());
    if is_there() || std::env::var_os(BROWSER_VARIABLE).is_some() {
        return Ok(());
    }
    // A fresh machine has no list of packages.
    let install = "apt-get update -qq && apt-get install -y -qq chromium";
    let status = Command::new("sh").args(["-c", install]).status();
    let status = status.with_context(|| {
        format!(
            "install Chromium, or name a browser in {BROWSER_VARIABLE}: no shell can be started"
        )
    })?;
    ensure!(
        status.success() && is_there(),
        "apt-get cannot install Chromium: install it, or name a browser in {BROWSER_VARIABLE}"
    );
    Ok(())
}
