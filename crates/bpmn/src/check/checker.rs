//! The walk over a process that runs all checks.

use crate::model::{Node, Process};
use crate::problem::{Code, Problems};

/// Checks a process that was read.
pub(crate) fn check(process: &Process, problems: &mut Problems) {
    let mut check = ProcessChecker { process, problems };
    check.check_flows();
    check.check_scopes();
    check.check_gateways();
    check.check_events();
    check.check_compensation();
}

pub(super) struct ProcessChecker<'a> {
    pub(super) process: &'a Process,
    pub(super) problems: &'a mut Problems,
}

impl ProcessChecker<'_> {
    pub(super) fn error(&mut self, code: Code, node: &Node, what: &str) {
        self.problems.error(code, node.position, format!("`{}`: {what}", node.id));
    }

    pub(super) fn error_with_help(&mut self, code: Code, node: &Node, what: &str, help: &str) {
        let message = format!("`{}`: {what}", node.id);
        self.problems.error_with_help(code, node.position, message, help);
    }

    pub(super) fn warn(&mut self, code: Code, node: &Node, what: &str, help: &str) {
        self.problems.warn(code, node.position, format!("`{}`: {what}", node.id), help);
    }
}
