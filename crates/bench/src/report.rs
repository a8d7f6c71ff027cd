//! The measured figures, with the baselines and targets that they are compared with.

use serde::Serialize;

use super::machine::HostMachine;

/// The result of a bench.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchOutput {
    /// The figures in the requested format.
    pub text: String,
    /// How many figures miss their target.
    pub missed_targets: usize,
}

/// All figures of one run.
#[derive(Debug, Serialize)]
pub(super) struct BenchReport {
    version: &'static str,
    /// The name of the bench.
    what: &'static str,
    store: String,
    scale: f64,
    pub(super) machine: HostMachine,
    pub(super) figures: Vec<Figure>,
}

/// One measured value.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    /// The name of the scenario.
    pub(super) scenario: &'static str,
    /// What was measured.
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    /// The value as a share of a baseline of the same run.
    pub(super) ratio: Option<Ratio>,
    pub(super) target: Option<Target>,
}

/// A share of a baseline.
#[derive(Debug, Serialize)]
pub(super) struct Ratio {
    /// The name of the baseline.
    pub(super) of: &'static str,
    pub(super) value: f64,
}

/// What a figure, or its ratio if it has one, must reach.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Target {
    /// `>=` or `<=`.
    pub(super) bound: &'static str,
    pub(super) value: f64,
    pub(super) met: bool,
}

impl BenchReport {
    pub(super) fn new(what: &'static str, store: String, scale: f64, machine: HostMachine) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self { version, what, store, scale, machine, figures: Vec::new() }
    }

    /// Facts that are printed above the figures.
    pub(super) fn heading(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "meantime {} bench {} on {}, scale {}",
            self.version, self.what, self.store, self.scale
        )];
        lines.extend(self.machine.lines());
        lines
    }

    /// How many targets were missed.
    pub(super) fn missed(&self) -> usize {
        let targets = self.figures.iter().filter_map(|figure| figure.target);
        targets.filter(|target| !target.met).count()
    }
}

impl Figure {
    pub(super) fn new(
        scenario: &'static str,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self { scenario, name: name.into(), value, unit, ratio: None, target: None }
    }

    /// Adds the ratio to a baseline.
    #[must_use]
    pub(super) fn of(mut self, baseline: &'static str, value: f64) -> Self {
        self.ratio = Some(Ratio { of: baseline, value: self.value / value });
        self
    }

    #[must_use]
    pub(super) fn at_least(self, value: f64) -> Self {
        let met = self.compared_value() >= value;
        Self { target: Some(Target { bound: ">=", value, met }), ..self }
    }

    #[must_use]
    pub(super) fn at_most(self, value: f64) -> Self {
        let met = self.compared_value() <= value;
        Self { target: Some(Target { bound: "<=", value, met }), ..self }
    }

    fn compared_value(&self) -> f64 {
        self.ratio.as_ref().map_or(self.value, |ratio| ratio.value)
    }
}

/// A count as a floating-point figure.
#[expect(clippy::cast_precision_loss, reason = "figures for people have a few digits")]
pub(super) const fn float(count: u64) -> f64 {
    count as f64
}

/// Like [`float`], for counts of things in memory.
#[expect(clippy::cast_precision_loss, reason = "figures for people have a few digits")]
pub(super) const fn count(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_compares_the_ratio_if_there_is_one() {
        let figure = |value| Figure::new("turns", "one", value, "/s");
        let met = |figure: Figure| figure.target.is_some_and(|target| target.met);
        assert!(met(figure(50.0).of("J", 100.0).at_least(0.5)));
        assert!(!met(figure(49.0).of("J", 100.0).at_least(0.5)));
        assert!(met(figure(2.0).at_most(2.0)));
        assert!(!met(figure(f64::NAN).at_most(2.0)), "what was not measured is not met");
    }
}
