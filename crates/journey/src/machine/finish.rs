//! The end of a frame: of the run, of a branch, or of a call.

use meantime_core::Fault;

use super::run::{Run, state_mismatch};
use super::saved::{FrameId, ScopeName};
use super::transition::ScopeEnd;

impl Run<'_> {
    pub(super) fn end_frame(&mut self, id: FrameId, end: ScopeEnd) -> Result<(), Fault> {
        let frame = self.frame(id)?;
        let (scope, parent) = (frame.scope.clone(), frame.parent);
        match (scope, parent) {
            (ScopeName::Root, _) => self.end_run(end),
            (ScopeName::Branch(name), Some(parent)) => self.branch_ended(parent, &name, id, end),
            (ScopeName::Call(name), Some(parent)) => self.call_ended(parent, &name, id, end),
            (ScopeName::Branch(_) | ScopeName::Call(_), None) => {
                Err(state_mismatch("a frame belongs to nothing"))
            }
        }
    }
}
