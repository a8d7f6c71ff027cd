//! Frames that lost: what they waited for is withdrawn in the same turn (JP3, T9).

use meantime_core::Effect;

use super::run::Run;
use super::saved::{FrameId, Standing};

impl Run<'_> {
    /// Removes a frame with everything below it.
    pub(super) fn withdraw(&mut self, id: FrameId) {
        let Some(frame) = self.saved.frames.remove(&id) else { return };
        self.contexts.remove(&id);
        match frame.standing {
            Standing::Task(key) => {
                self.push(Effect::CancelTask { key });
            }
            Standing::Timer { key, .. } | Standing::Step { timeout: Some((key, _)) } => {
                self.push(Effect::CancelTimer { key });
            }
            Standing::Parallel(branches) => {
                for branch in branches {
                    if let Some(frame) = branch.frame {
                        self.withdraw(frame);
                    }
                }
            }
            Standing::Call(frame) => self.withdraw(frame),
            Standing::Incident(key) => {
                self.push(Effect::CancelIncident { key });
            }
            // A schedule that was asked for is made; nobody hears its answer.
            Standing::Ready | Standing::Schedule(_) | Standing::Step { timeout: None } => {}
        }
    }
}
