//! Descriptions of outputs and commits for the log of a seed.

use std::fmt::Write as _;

use meantime_kernel::machine::Output;
use meantime_kernel::store::{Fence, Plan, UnitResult};

/// An output of a machine in one line.
pub(super) fn describe_output(output: &Output) -> String {
    match output {
        Output::Fetch(batch, request) => {
            let ids: Vec<String> = request.instances.iter().map(|it| it.id.to_string()).collect();
            format!("fetch {batch} {}", ids.join(" "))
        }
        Output::Advance(batch, jobs) => format!("advance {batch} {jobs:?}"),
        Output::Commit(batch, ..) => format!("commit {batch}"),
        Output::Reply(ticket, answer) => format!("reply {} {answer:?}", ticket.0),
        Output::Dispatch(task) => format!("dispatch {}", task.id),
        other => format!("{other:?}"),
    }
}

/// What a commit did, unit by unit. Writing to a String cannot fail.
pub(super) fn describe_commit(plan: &Plan, results: &[UnitResult]) -> String {
    let mut text = format!("{} at {}", plan.batch, plan.now);
    for (unit, result) in plan.units.iter().zip(results) {
        let fence = match &unit.fence {
            Fence::Free => "free".to_owned(),
            Fence::Insert(row) => format!("insert {} {}", row.id, row.phase.name()),
            Fence::Turn { row, expected } => {
                format!("turn {} {expected}→{} {}", row.id, row.turn_no, row.phase.name())
            }
            Fence::Unchanged { instance, turn_no } => format!("unchanged {instance} {turn_no}"),
            Fence::Task { row, claims } => {
                format!("task {} {claims}→{} {}", row.id, row.claims, row.state.name())
            }
        };
        let _ = write!(text, "\n      {fence}: {result:?}");
        for write in &unit.writes {
            let _ = write!(text, "\n        {write:?}");
        }
        for ask in &unit.conditional_writes {
            let _ = write!(text, "\n        ask {ask:?}");
        }
    }
    text
}
