//! The rules, in their order.

use super::{api, asynchronous, calls, paths, schedules, steps, targets, timing};
use crate::definition::Journey;
use crate::report::Report;

/// Checks a definition as it was read.
pub(crate) fn check(journey: &Journey, report: &mut Report) {
    api::check(journey, report);
    targets::check(journey, report);
    calls::check(journey, report);
    steps::check(journey, report);
    schedules::check(journey, report);
    asynchronous::check(journey, report);
    // With errors above, the checks below would report the same problems again.
    if !report.has_errors() {
        paths::check(journey, report);
        timing::check(journey, report);
    }
}
