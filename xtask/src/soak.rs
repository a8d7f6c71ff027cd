//! `soak`: the long-running rigs of the simulator.
//!
//! Rigs are optimised builds in their own process. Their scratch files are below `target`, on a
//! real disk. `soak workers` belongs to the SDKs (`sdk.rs`).

use anyhow::{Context, Result, bail};

use crate::sdk;
use crate::shell::{cargo_run, root};

const RIGS: &[&str] = &["kill", "power", "workers"];

pub(crate) fn run(args: &[String]) -> Result<()> {
    let Some((rig, rest)) = args.split_first() else {
        bail!("say which rig: {}", RIGS.join(", "));
    };
    if !RIGS.contains(&rig.as_str()) {
        bail!("no rig `{rig}`; there are {}", RIGS.join(", "));
    }
    if rig == "workers" {
        return sdk::soak(rest);
    }
    let scratch = root()?.join("target/soak");
    std::fs::create_dir_all(&scratch).context("cannot make target/soak")?;
    let scratch = scratch.display().to_string();
    let mut command = vec!["run", "--quiet", "--release", "-p", "meantime-sim"];
    command.extend(["--bin", "meantime-rig", "--", rig, "--directory", &scratch]);
    command.extend(rest.iter().map(String::as_str));
    cargo_run(&command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_rig_is_refused_by_name() {
        let error = run(&["flood".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`flood`") && error.contains("kill, power, workers"), "{error}");
        assert!(run(&[]).is_err());
    }
}
