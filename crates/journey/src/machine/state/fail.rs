//! `fail`: ends its scope with an error.

use meantime_core::{Failure, Fault};

use crate::definition::{Fail, Template};
use crate::machine::evaluate::{Computed, Encode};
use crate::machine::flow::{Flow, Trouble};
use crate::machine::run::Run;
use crate::machine::saved::FrameId;

impl Run<'_> {
    pub(in crate::machine) fn enter_fail(
        &mut self,
        id: FrameId,
        fail: &Fail,
    ) -> Result<Flow, Fault> {
        let (code, reason) = (self.said(id, &fail.code)?, self.said(id, &fail.reason)?);
        Ok(match (code, reason) {
            (Ok(code), Ok(reason)) => Flow::fail(Failure::new(code, reason)),
            (Err(trouble), _) | (_, Err(trouble)) => trouble.into(),
        })
    }

    /// A text that says something.
    fn said(&mut self, id: FrameId, template: &Template) -> Computed<String> {
        let filled = self.fill(id, template, Encode::Plain)?;
        Ok(filled.and_then(|text| {
            let is_empty = text.trim().is_empty();
            let trouble = || Trouble::internal("the code or the reason of a failure is empty");
            if is_empty { Err(trouble()) } else { Ok(text) }
        }))
    }
}
