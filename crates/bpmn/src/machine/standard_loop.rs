//! Standard loops: repetitions of one activity, one after another, in the enclosing scope.

use meantime_core::{Failure, Json};

use super::json;
use super::state::{ElementInstanceId, ElementRole, QueuedStep};
use super::turn::Machine;
use crate::incident_code::IncidentCode;
use crate::model::LoopCharacteristics;

impl Machine<'_> {
    pub(super) fn begin_loop(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        if let Some(element) = self.element_mut(id) {
            element.role = ElementRole::Loop(0);
        }
        self.next_round(id)
    }

    /// One repetition has ended.
    pub(super) fn loop_iteration_done(&mut self, id: ElementInstanceId) {
        if let Err(failure) = self.next_round(id) {
            self.raise_incident(id, failure);
        }
    }

    /// Starts the next repetition, or ends the loop.
    fn next_round(&mut self, id: ElementInstanceId) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let Some(LoopCharacteristics::StandardLoop { test_before, condition, maximum }) =
            &node.repeat
        else {
            return Ok(());
        };
        let Some(&ElementRole::Loop(rounds)) = self.element(id).map(|it| &it.role) else {
            return Ok(());
        };
        let maximum = match maximum {
            Some(maximum) => Some(self.maximum(id, maximum)?),
            None => None,
        };
        let mut again = maximum.is_none_or(|maximum| u64::from(rounds) < maximum);
        if let Some(condition) = condition
            && again
            && (*test_before || rounds > 0)
        {
            again = self.evaluate_condition(condition, id)?;
        }
        if !again {
            self.complete(id, Json::null());
            return Ok(());
        }
        if let Some(element) = self.element_mut(id) {
            element.role = ElementRole::Loop(rounds + 1);
        }
        self.set(id, "loopCounter", Json::from(u64::from(rounds) + 1));
        let inner = self.create(self.element(id).and_then(|it| it.node), Some(id));
        self.state.steps.push_back(QueuedStep::Run(inner));
        Ok(())
    }

    fn maximum(
        &mut self,
        id: ElementInstanceId,
        maximum: &crate::expression::Expression,
    ) -> Result<u64, Failure> {
        let value = self.evaluate(maximum, id)?;
        json::scalar_text(&value)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| IncidentCode::NotANumber.failure(format!("loopMaximum is {value}")))
    }
}
