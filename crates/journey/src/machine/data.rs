//! Contexts: reading and writing the data of frames (JP1 to JP2, JR1, JR3).

use meantime_core::Fault;
use meantime_value::Value;

use super::overlay::{ContextChange, difference};
use super::run::{Run, state_mismatch};
use super::saved::{FrameData, FrameId};
use crate::json;

/// The field of the context with the last submission; each branch has its own.
pub(super) const PAYLOAD_FIELD: &str = "payload";

impl Run<'_> {
    /// The context as a frame sees it.
    pub(super) fn context(&mut self, id: FrameId) -> Result<Value, Fault> {
        let (owner, mut branches) = self.owner(id)?;
        let mut seen = self.load_own_context(owner)?;
        branches.reverse();
        for branch in branches {
            if let FrameData::Overlay(overlay) = &self.frame(branch)?.data {
                seen = overlay.apply_to(&seen)?;
            }
        }
        Ok(seen)
    }

    /// Applies one change: to the frame's overlays and, unless it is private, to the shared
    /// context.
    pub(super) fn write(&mut self, id: FrameId, change: &ContextChange) -> Result<(), Fault> {
        let (owner, branches) = self.owner(id)?;
        let is_private = change.path.first().is_some_and(|name| name == PAYLOAD_FIELD);
        for branch in &branches {
            if let FrameData::Overlay(overlay) = &mut self.frame_mut(*branch)?.data {
                overlay.record_change(change)?;
            }
            if is_private {
                return Ok(());
            }
        }
        let changed = change.apply(&self.load_own_context(owner)?);
        self.contexts.insert(owner, changed);
        Ok(())
    }

    /// Puts a value into a field.
    pub(super) fn write_var(&mut self, id: FrameId, name: &str, value: Value) -> Result<(), Fault> {
        self.write(id, &ContextChange::put(vec![name.to_owned()], value))
    }

    /// Replaces the whole context; in a branch, writes the difference to what it read.
    pub(super) fn replace(&mut self, id: FrameId, value: &Value) -> Result<(), Fault> {
        let (owner, branches) = self.owner(id)?;
        if branches.is_empty() {
            self.contexts.insert(owner, value.clone());
            return Ok(());
        }
        let before = self.context(id)?;
        for change in difference(&before, value) {
            self.write(id, &change)?;
        }
        Ok(())
    }

    /// The value at a field.
    pub(super) fn read_var(&mut self, id: FrameId, name: &str) -> Result<Option<Value>, Fault> {
        let context = self.context(id)?;
        Ok(json::get(&context, std::slice::from_ref(&name.to_owned())).cloned())
    }

    /// The frame that owns the context, and the branches in between, innermost first.
    fn owner(&self, id: FrameId) -> Result<(FrameId, Vec<FrameId>), Fault> {
        let mut branches = Vec::new();
        let mut at = id;
        loop {
            let frame = self.frame(at)?;
            match (&frame.data, frame.parent) {
                (FrameData::Own(_), _) => return Ok((at, branches)),
                (FrameData::Overlay(_), Some(parent)) => {
                    branches.push(at);
                    at = parent;
                }
                (FrameData::Overlay(_), None) => {
                    return Err(state_mismatch("a branch belongs to nothing"));
                }
            }
        }
    }

    fn load_own_context(&mut self, owner: FrameId) -> Result<Value, Fault> {
        if let Some(context) = self.contexts.get(&owner) {
            return Ok(context.clone());
        }
        let context = match &self.frame(owner)?.data {
            FrameData::Own(text) => json::parse(text)?,
            FrameData::Overlay(_) => {
                return Err(state_mismatch("a branch has no context of its own"));
            }
        };
        self.contexts.insert(owner, context.clone());
        Ok(context)
    }
}
