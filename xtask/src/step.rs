//! Named steps, run in order, each with the time it took.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// One step of a command: a name and a function.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Options) -> Result<()>,
}

/// The options of the command. Every step gets all of them and uses those that concern it.
#[derive(Default)]
pub(crate) struct Options {
    /// Only the tests whose name contains one of these; all when empty.
    pub(crate) filters: Vec<String>,
}

/// Runs the steps until one fails and prints how long each took.
pub(crate) fn run_all(steps: &[&[Step]], options: &Options) -> Result<()> {
    let begin = now();
    let mut count = 0;
    for step in steps.iter().copied().flatten() {
        println!("── {}", step.name);
        let step_begin = now();
        let outcome = (step.run)(options);
        let took = seconds(step_begin.elapsed());
        outcome.with_context(|| format!("step `{}` failed after {took}", step.name))?;
        println!("── {} ok ({took})", step.name);
        count += 1;
    }
    println!("all {count} steps passed in {}", seconds(begin.elapsed()));
    Ok(())
}

/// Seconds with one decimal.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// The only function in which developer commands read the clock.
#[expect(clippy::disallowed_methods, reason = "measures how long commands take; no engine code")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_ends_the_run_and_is_named() {
        let steps = [
            Step { name: "good", run: |_| Ok(()) },
            Step { name: "bad", run: |_| anyhow::bail!("broken") },
            Step { name: "never", run: |_| panic!("ran after a failure") },
        ];
        let error = run_all(&[&steps], &Options::default()).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("step `bad` failed after") && text.ends_with("broken"), "{text}");
    }
}
