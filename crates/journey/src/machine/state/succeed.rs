//! `succeed`: ends its scope with an output.

use meantime_core::Fault;

use crate::definition::Succeed;
use crate::machine::flow::{End, Flow};
use crate::machine::run::Run;
use crate::machine::saved::FrameId;

impl Run<'_> {
    pub(in crate::machine) fn enter_succeed(
        &mut self,
        id: FrameId,
        succeed: &Succeed,
    ) -> Result<Flow, Fault> {
        let named = match &succeed.output_var {
            Some(name) => self.read_var(id, name)?,
            None => None,
        };
        let output = match named {
            Some(value) => value,
            // A field that is not there means the whole context (JC3).
            None => self.context(id)?,
        };
        Ok(Flow::End(End::Succeeded { output }))
    }
}
