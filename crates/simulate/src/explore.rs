//! Whole simulations: one, or one for each combination of outcomes.

use meantime_core::Timestamp;

use crate::report::SimulationReport;
use crate::run::{Simulation, SimulationError, SimulationSpec};

/// One of the futures that the stubs allow.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Branch {
    /// What happened in it.
    #[serde(flatten)]
    pub report: SimulationReport,
}

/// Starts an instance, unless a schedule of the definitions does that, and runs until nothing
/// happens by itself any more, or until an instant.
pub async fn simulate(
    spec: SimulationSpec,
    until: Timestamp,
) -> Result<SimulationReport, SimulationError> {
    let mut simulation = Simulation::new(spec).await?;
    if simulation.spec_starts() || !simulation.has_schedule().await? {
        simulation.start().await?;
    }
    let stopped = simulation.run_until(until).await?;
    let report = simulation.report(stopped).await;
    simulation.stop().await;
    report
}

/// Simulates every combination of the outcomes that stubs declare with `oneOf`, at most `limit` of
/// them. The second value says whether there were more.
pub async fn explore(
    spec: &SimulationSpec,
    until: Timestamp,
    limit: usize,
) -> Result<(Vec<Branch>, bool), SimulationError> {
    let mut branches: Vec<(Vec<usize>, Branch)> = Vec::new();
    let mut waiting = vec![Vec::new()];
    while let Some(choices) = waiting.pop() {
        if branches.len() == limit {
            return Ok((sorted(branches), true));
        }
        let begun = choices.len();
        let report = simulate(SimulationSpec { choices, ..spec.clone() }, until).await?;
        let made: Vec<usize> = report.choices.iter().map(|choice| choice.index).collect();
        // Every other outcome of the choices that this run made by default is another branch.
        for (at, choice) in report.choices.iter().enumerate().skip(begun) {
            for other in (1..choice.of).rev() {
                let mut choices = made[..at].to_vec();
                choices.push(other);
                waiting.push(choices);
            }
        }
        branches.push((made, Branch { report }));
    }
    Ok((sorted(branches), false))
}

fn sorted(mut branches: Vec<(Vec<usize>, Branch)>) -> Vec<Branch> {
    branches.sort_by(|one, other| one.0.cmp(&other.0));
    branches.into_iter().map(|(_, branch)| branch).collect()
}
