//! Problems that depend on the time of the deploy. All of them are warnings.

use meantime_core::{Diagnostic, Timestamp};

use crate::model::{EventTrigger, Process, TimerKind};
use crate::problem::{Code, Problems};

/// Checks every literal time of a process.
pub(crate) fn lint(process: &Process, now: Timestamp) -> Vec<Diagnostic> {
    let mut problems = Problems::default();
    for node in &process.nodes {
        let Some(EventTrigger::Timer(timer)) = node.trigger() else { continue };
        let Some(literal) = timer.text.literal() else { continue };
        if timer.kind == TimerKind::Date
            && let Ok(at) = Timestamp::parse(&literal)
            && at < now
        {
            let message = format!("`{}`: {literal} has passed; it fires at once", node.id);
            let help = "write a date in the future";
            problems.warn(Code::PastDate, node.position, message, help);
        }
    }
    problems.into_list()
}
