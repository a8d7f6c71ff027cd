//! Diagnostics about time that are certain before anything runs.

use meantime_core::time::Zone;
use meantime_core::{Definition, Diagnostic, Timestamp};
use meantime_script::SourceTimerTime;

use crate::definition::CompiledWorkflow;
use crate::problem::Code;

/// Problems that depend on the current time.
pub(crate) fn lint(
    definition: &Definition,
    body: &CompiledWorkflow,
    now: Timestamp,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let deadline = definition.execution.as_ref();
    let limit = deadline.and_then(|it| it.max_duration.add_to(now, &it.zone).ok());
    for timer in body.program.source_timers() {
        let at = body.program.position(timer.at);
        let due = match timer.time {
            SourceTimerTime::At(instant) => {
                if instant < now {
                    let text = format!("{instant} has passed: the timer fires at once");
                    found.push(Code::PastInstant.at(at, text));
                }
                Some(instant)
            }
            SourceTimerTime::After(span) => span.add_to(now, &Zone::utc()).ok(),
        };
        if let (Some(due), Some(limit)) = (due, limit)
            && due > limit
        {
            let text = "this timer is certainly after the deadline of the workflow";
            found.push(Code::AfterDeadline.at(at, text));
        }
    }
    found
}
