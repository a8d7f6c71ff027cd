//! Diagnostics about time: what is certain before anything runs.

use meantime_core::time::Zone;
use meantime_core::{Definition, Diagnostic, Timestamp};
use meantime_expr::script::WrittenTime;

use crate::definition::Body;
use crate::problem::Code;

/// Problems that depend on the present time.
pub(crate) fn lint(definition: &Definition, body: &Body, now: Timestamp) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let deadline = definition.execution.as_ref();
    let limit = deadline.and_then(|it| it.max_duration.add_to(now, &it.zone).ok());
    for timer in body.program.written_timers() {
        let at = body.program.position(timer.at);
        let due = match timer.time {
            WrittenTime::At(instant) => {
                if instant < now {
                    let text = format!("{instant} has passed: the timer fires at once");
                    found.push(Code::PastInstant.at(at, text));
                }
                Some(instant)
            }
            WrittenTime::After(span) => span.add_to(now, &Zone::utc()).ok(),
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
