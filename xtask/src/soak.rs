//! `soak`: the long-running rigs of the simulator.
//!
//! Rigs are optimised builds in their own process. Their scratch files are below `target`, on a
//! real disk. `soak workers` belongs to the SDKs (`sdk.rs`); `soak credentials` runs tests of the
//! server with other seeds.

use anyhow::{Context, Result, bail};

use crate::postgres::Cluster;
use crate::sdk;
use crate::shell::{cargo_run, cargo_run_with, root};

const RIGS: &[&str] = &["kill", "power", "workers", "credentials"];

/// The environment variable in which tests look for their seeds.
const SEEDS: &str = "MEANTIME_TEST_SEEDS";

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
    if rig == "credentials" {
        return credentials(rest);
    }
    let scratch = root()?.join("target/soak");
    std::fs::create_dir_all(&scratch).context("cannot make target/soak")?;
    let scratch = scratch.display().to_string();
    let mut command = vec!["run", "--quiet", "--release", "-p", "meantime-sim"];
    command.extend(["--bin", "meantime-rig", "--", rig, "--directory", &scratch]);
    command.extend(rest.iter().map(String::as_str));
    cargo_run(&command)
}

/// Journeys whose callers send generated credentials, across restarts and nodes.
fn credentials(args: &[String]) -> Result<()> {
    let seeds = parse_seeds(args)?;
    let cluster = Cluster::start()?;
    let command =
        ["test", "-p", "meantime-server", "--test", "journey_credentials", "--", "seeded"];
    let variables = cluster.as_ref().map(Cluster::variable).into_iter();
    cargo_run_with(&command, variables.chain([(SEEDS, seeds.as_str())]))
}

/// The range of seeds: as many as `--rounds` says, from `--seed` on.
fn parse_seeds(args: &[String]) -> Result<String> {
    let (mut rounds, mut first) = (50, 100_u64);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let value = rest.next().with_context(|| format!("{arg} needs a number"))?;
        let number = value.parse().with_context(|| format!("{arg} needs a number"))?;
        match arg.as_str() {
            "--rounds" => rounds = number,
            "--seed" => first = number,
            _ => bail!("no option `{arg}`; there are --rounds and --seed"),
        }
    }
    Ok(format!("{first}..{}", first.saturating_add(rounds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_of_rounds() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(parse_seeds(&words("")).unwrap(), "100..150");
        assert_eq!(parse_seeds(&words("--seed 7 --rounds 1")).unwrap(), "7..8");
        assert!(parse_seeds(&words("--speed 7")).unwrap_err().to_string().contains("--speed"));
        assert!(parse_seeds(&words("--seed x")).is_err());
    }

    #[test]
    fn an_unknown_rig_is_refused_by_name() {
        let error = run(&["flood".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`flood`") && error.contains("kill, power, workers"), "{error}");
        assert!(run(&[]).is_err());
    }
}
