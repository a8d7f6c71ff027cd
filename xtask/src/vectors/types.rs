//! `vectors types`: sources with types, and what the compiler of TypeScript makes of them.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::shell::root;

/// Rewrites the expectations below the sources. The compiler is that of the console (`npm ci`).
const SCRIPT: &str = include_str!("types.js");

pub(super) fn write() -> Result<()> {
    let root = root()?;
    let compiler = root.join("console/node_modules/typescript");
    ensure!(compiler.exists(), "no TypeScript: run `npm ci` in `console` first");
    let status = Command::new("node")
        .args(["-e", SCRIPT])
        .arg(&compiler)
        .arg(root.join("crates/script/tests/types"))
        .status()
        .context("cannot start Node")?;
    ensure!(status.success(), "the compiler of TypeScript disagrees with the sources");
    Ok(())
}
