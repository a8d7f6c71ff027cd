//! `fuzz`: generated input for the pure crates, for a given time.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::shell::{cargo_run, root};
use crate::step::now;

/// Cases that are played by one process.
const CASES_PER_BATCH: u64 = 2_000;

/// A batch that takes longer contains a case that has no budget.
const BATCH_TIMEOUT: Duration = Duration::from_mins(5);

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
struct FuzzPlan {
    target: Option<String>,
    seconds: u64,
    seed: u64,
    case: Option<u64>,
}

/// Runs batches of cases in an optimised build until the time is up or a batch fails.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let plan = parse_plan(args)?;
    let notes = root()?.join("target/fuzz").display().to_string();
    if let Some(case) = plan.case {
        return run_batch(&plan, &notes, case, 1, &["--show"]);
    }
    let begun = now();
    let mut from = 0;
    while begun.elapsed() < Duration::from_secs(plan.seconds) {
        let batch = now();
        run_batch(&plan, &notes, from, CASES_PER_BATCH, &[])
            .with_context(|| format!("the last case of each target is in {notes}"))?;
        if batch.elapsed() > BATCH_TIMEOUT {
            bail!("cases {from} to {} took {:?}", from + CASES_PER_BATCH, batch.elapsed());
        }
        from += CASES_PER_BATCH;
    }
    let what = plan.target.as_deref().unwrap_or("every target");
    println!("{what}: {from} cases from seed {} in {:?}, clean", plan.seed, begun.elapsed());
    Ok(())
}

fn run_batch(plan: &FuzzPlan, notes: &str, from: u64, cases: u64, more: &[&str]) -> Result<()> {
    let (seed, from, cases) = (plan.seed.to_string(), from.to_string(), cases.to_string());
    let mut command = vec!["run", "--quiet", "--release", "-p", "meantime-fuzz", "--"];
    command.extend(plan.target.as_deref());
    command.extend(["--seed", &seed, "--from", &from, "--cases", &cases, "--directory", notes]);
    command.extend(more);
    cargo_run(&command)
}

fn parse_plan(args: &[String]) -> Result<FuzzPlan> {
    let mut plan = FuzzPlan { target: None, seconds: 60, seed: 1, case: None };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if !arg.starts_with("--") {
            if plan.target.replace(arg.clone()).is_some() {
                bail!("one target, or none for all");
            }
            continue;
        }
        let value = rest.next().with_context(|| format!("{arg} needs a number"))?;
        let number = value.parse().with_context(|| format!("{arg} needs a number"))?;
        match arg.as_str() {
            "--seconds" => plan.seconds = number,
            "--seed" => plan.seed = number,
            "--case" => plan.case = Some(number),
            _ => bail!("no option `{arg}`; there are --seconds, --seed and --case"),
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused_by_name() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let read = parse_plan(&words("feel --seed 7 --case 3")).unwrap();
        let expected =
            FuzzPlan { target: Some("feel".to_owned()), seconds: 60, seed: 7, case: Some(3) };
        assert_eq!(read, expected);
        assert!(parse_plan(&words("--speed 3")).unwrap_err().to_string().contains("--speed"));
        assert!(parse_plan(&words("a b")).is_err());
        assert!(parse_plan(&words("--seed x")).is_err());
    }
}
