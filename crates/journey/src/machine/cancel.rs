//! Cancels frames that lost a race; what they waited for is cancelled in the same turn (JP3, T9).

use meantime_core::Effect;

use super::run::Run;
use super::saved::{FrameId, WaitState};

impl Run<'_> {
    /// Removes a frame with everything below it.
    pub(super) fn cancel_frame(&mut self, id: FrameId) {
        let Some(frame) = self.saved.frames.remove(&id) else { return };
        self.contexts.remove(&id);
        match frame.wait_state {
            WaitState::Task(key) => {
                self.push(Effect::CancelTask { key });
            }
            WaitState::Timer { key, .. } | WaitState::Step { timeout: Some((key, _)) } => {
                self.push(Effect::CancelTimer { key });
            }
            WaitState::Parallel(branches) => {
                for branch in branches {
                    if let Some(frame) = branch.frame {
                        self.cancel_frame(frame);
                    }
                }
            }
            WaitState::Call(frame) => self.cancel_frame(frame),
            WaitState::Incident(key) => {
                self.push(Effect::CancelIncident { key });
            }
            // A requested schedule is still created; when its answer arrives, the frame no longer
            // exists, so the answer is stale.
            WaitState::Ready | WaitState::Schedule(_) | WaitState::Step { timeout: None } => {}
        }
    }
}
