//! Percentiles of measured values.

/// Values that were measured, in any order.
#[derive(Debug, Clone, Default)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest value that at least this share of all values do not exceed: the nearest rank.
    #[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "counts are small")]
    #[expect(clippy::cast_possible_truncation, reason = "and a share of them is smaller")]
    pub fn percentile(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).or(sorted.last()).copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let mut sample = Sample::default();
        assert!(sample.percentile(50.0).is_nan() && sample.is_empty());
        (1..=100).rev().for_each(|value| sample.add(f64::from(value)));
        let near = |percent, value: f64| (sample.percentile(percent) - value).abs() < 1e-9;
        assert!(near(50.0, 50.0) && near(99.0, 99.0) && near(100.0, 100.0) && near(0.0, 1.0));
    }
}
