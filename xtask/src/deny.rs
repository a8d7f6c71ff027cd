//! `deny`: the supply chain rules of `deny.toml`, and known vulnerabilities of dependencies.
//!
//! `tidy` repeats the licence check without cargo-deny, so that a machine without the tool is
//! covered. The tool adds duplicate versions, the origin of every package and advisories. The
//! advisory database comes over the network: if it cannot be fetched, the step reports that and
//! continues.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::sbom;
use crate::shell::{cargo, cargo_run, has_cargo_command, root};
use crate::step::{Options, Step};

/// The supply chain steps of `cargo xtask test`.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "supply chain", run: supply_chain },
    Step { name: "sbom", run: |_| sbom::run(&[]) },
];

const MISSING_TOOL_HINT: &str =
    "cargo-deny is not installed; install it with `cargo install --locked cargo-deny`";

pub(crate) fn run() -> Result<()> {
    if !has_cargo_command("deny") {
        bail!(MISSING_TOOL_HINT);
    }
    cargo_run(&["deny", "check", "bans", "licenses", "sources"])?;
    advisories(cargo())
}

/// Runs cargo-deny if it is installed. Without it, `tidy` still checks licences.
fn supply_chain(_: &Options) -> Result<()> {
    if has_cargo_command("deny") {
        return run();
    }
    println!("NOT CHECKED: bans, sources and advisories: {MISSING_TOOL_HINT}");
    Ok(())
}

fn advisories(mut command: Command) -> Result<()> {
    let command = command.args(["deny", "check", "advisories"]).current_dir(root()?);
    let out = command.output().context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&out.stderr);
    match classify_advisories(out.status.success(), &said) {
        AdvisoryVerdict::Clean => println!("no advisory applies"),
        AdvisoryVerdict::NotChecked => {
            println!("NOT CHECKED: advisories: their database cannot be fetched here");
        }
        AdvisoryVerdict::Found => bail!("an advisory applies:\n{said}"),
    }
    Ok(())
}

/// The result of the advisory check.
#[derive(Debug, PartialEq, Eq)]
enum AdvisoryVerdict {
    Clean,
    Found,
    /// The tool ended before it checked anything, for example because the network is down.
    NotChecked,
}

fn classify_advisories(is_success: bool, said: &str) -> AdvisoryVerdict {
    // cargo-deny prints its summary last, and only if it has checked.
    let has_summary = said.lines().any(|line| line.trim_start().starts_with("advisories "));
    match (is_success, has_summary) {
        (true, _) => AdvisoryVerdict::Clean,
        (false, false) if said.contains("advisory database") => AdvisoryVerdict::NotChecked,
        (false, _) => AdvisoryVerdict::Found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_cannot_be_had_is_not_taken_for_a_clean_bill() {
        let unreachable = "error: failed to fetch advisory database https://example.org/db";
        assert_eq!(classify_advisories(false, unreachable), AdvisoryVerdict::NotChecked);
        assert_eq!(classify_advisories(true, "advisories ok\n"), AdvisoryVerdict::Clean);
        assert_eq!(
            classify_advisories(false, "error[vulnerability]: x\nadvisories FAILED\n"),
            AdvisoryVerdict::Found
        );
        assert_eq!(classify_advisories(false, "error: something else"), AdvisoryVerdict::Found);
    }
}
