//! The budget of an evaluation.

use meantime_core::pause_point;

use super::fault::{Fault, Result};

/// The nesting depth of containers.
pub(super) const MAX_NESTING: u32 = 256;

/// The remaining budget.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// Operations: steps of the evaluator, and elements visited by library functions.
    pub(crate) ops: u64,
    /// Bytes of new texts, arrays and objects, counted when they are created.
    pub(crate) bytes: u64,
    /// The nesting depth of function calls.
    pub(crate) calls: u32,
    /// The size of one text, in bytes.
    pub(crate) text: usize,
}

impl Budget {
    pub(super) fn spend(&mut self, ops: u64) -> Result<()> {
        match self.ops.checked_sub(ops) {
            Some(left) => {
                pause_point::pass(self.ops, left);
                self.ops = left;
                Ok(())
            }
            None => Err(Fault::limit("the evaluation takes too many operations")),
        }
    }

    pub(super) fn allocate(&mut self, bytes: usize) -> Result<()> {
        match self.bytes.checked_sub(bytes as u64) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(Fault::limit("the evaluation needs too much memory")),
        }
    }

    pub(super) fn check_text(&self, bytes: usize) -> Result<()> {
        if bytes > self.text {
            return Err(Fault::limit(format!("a text is longer than {} bytes", self.text)));
        }
        Ok(())
    }
}
