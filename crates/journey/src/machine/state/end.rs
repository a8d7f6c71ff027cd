//! `succeed` and `fail`: end their scope with an output or an error.

use meantime_core::{Effect, Failure, Fault, Json};

use crate::definition::{Fail, Succeed, Template};
use crate::machine::evaluate::{Encode, StateEvaluation};
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{ScopeEnd, StateError, Transition};

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

    pub(in crate::machine) fn enter_fail(
        &mut self,
        id: FrameId,
        fail: &Fail,
    ) -> Result<Transition, Fault> {
        let (code, reason) =
            (self.non_empty_text(id, &fail.code)?, self.non_empty_text(id, &fail.reason)?);
        Ok(match (code, reason) {
            (Ok(code), Ok(reason)) => Transition::fail(Failure::new(code, reason)),
            (Err(error), _) | (_, Err(error)) => error.into(),
        })
    }

    /// A filled text, which must not be empty.
    fn non_empty_text(&mut self, id: FrameId, template: &Template) -> StateEvaluation<String> {
        let filled = self.fill(id, template, Encode::Plain)?;
        Ok(filled.and_then(|text| {
            let is_empty = text.trim().is_empty();
            let error = || StateError::internal("the code or the reason of a failure is empty");
            if is_empty { Err(error()) } else { Ok(text) }
        }))
    }
}
