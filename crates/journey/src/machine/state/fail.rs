//! `fail`: ends its scope with an error.

use meantime_core::Failure;

use crate::definition::Fail;
use crate::machine::flow::Flow;
use crate::machine::run::Run;

impl Run<'_> {
    pub(in crate::machine) fn enter_fail(fail: &Fail) -> Flow {
        Flow::fail(Failure::new(fail.code.clone(), fail.reason.clone()))
    }
}
