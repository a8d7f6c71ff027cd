//! `deny`: the supply chain rules of `deny.toml`.
//!
//! `tidy` repeats the licence check without the tool, so that a machine without it is covered;
//! the tool adds duplicate versions and the origin of every package.

use anyhow::{Result, bail};

use crate::shell::{cargo_run, has_cargo_command};

pub(crate) fn run() -> Result<()> {
    if !has_cargo_command("deny") {
        bail!("cargo-deny is not installed; install it with `cargo install --locked cargo-deny`");
    }
    // Advisories need the network and change from day to day, so they are not part of this.
    cargo_run(&["deny", "check", "bans", "licenses", "sources"])
}
