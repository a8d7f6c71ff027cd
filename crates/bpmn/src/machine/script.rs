//! Script tasks: they run in the engine, within the turn.

use meantime_core::{Failure, Json};

use super::json;
use super::state::ElementInstanceId;
use super::turn::Machine;
use super::variables::VisibleVariables;
use crate::expression::Expression;

impl Machine<'_> {
    pub(super) fn run_script(
        &mut self,
        id: ElementInstanceId,
        code: &Expression,
        result: Option<&str>,
    ) -> Result<(), Failure> {
        let environment = self.environment();
        let visible = VisibleVariables { machine: self, from: id };
        let (outcome, ops) = code.run(&visible, &environment);
        self.ops += ops;
        let outcome = outcome?;
        for (name, value) in outcome.assigned {
            self.assign(id, &name, value);
        }
        let output = match result {
            Some(name) => json::object([(&name.to_owned(), &outcome.value)]),
            None => Json::null(),
        };
        self.complete(id, output);
        Ok(())
    }
}
