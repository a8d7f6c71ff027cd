//! `succeed`: ends its scope with an output.

use meantime_core::{Effect, Fault, Json};

use crate::definition::Succeed;
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{ScopeEnd, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_succeed(
        &mut self,
        id: FrameId,
        succeed: &Succeed,
    ) -> Result<Transition, Fault> {
        let named = match &succeed.output_var {
            Some(name) => self.read_var(id, name)?,
            None => None,
        };
        let output = match named {
            Some(value) => value,
            // If the field is missing, the output is the whole context, which may be more than was
            // intended: recorded in the history (JC3).
            None => {
                if let Some(name) = &succeed.output_var {
                    self.record_missing_output(name);
                }
                self.context(id)?
            }
        };
        Ok(Transition::End(ScopeEnd::Succeeded { output }))
    }

    fn record_missing_output(&mut self, name: &str) {
        let (name, output) = (Json::text(name), Json::text("whole context"));
        let data = Json::object([("output", &output), ("outputVar", &name)]);
        self.push(Effect::Record { kind: "outputMissing".to_owned(), data });
    }
}
