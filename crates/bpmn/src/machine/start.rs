//! Starting an instance.

use std::collections::BTreeMap;

use meantime_core::{Failure, Fault, Json, Start, StartCause, Turn, Verdict};

use super::json::object_entries;
use super::state::{Continuation, ElementPhase, ElementRole, ROOT};
use super::turn::Machine;
use super::variables::PayloadVariables;
use crate::expression::Expression;
use crate::incident_code::IncidentCode;
use crate::model::{EventTrigger, NodeRef};

type Variables = BTreeMap<String, Json>;

impl Machine<'_> {
    /// The first turn: the input becomes the variables of the process.
    pub(crate) fn start(mut self, start: &Start) -> Result<Turn, Fault> {
        let variables = match (object_entries(&start.input), &start.cause) {
            (Some(entries), _) => entries,
            (None, _) if start.input.is_null() => Variables::new(),
            // These starts have no caller that could correct the input, so a payload that is a
            // single value becomes the variable `result`.
            (None, StartCause::Message { .. } | StartCause::Signal { .. } | StartCause::Child) => {
                super::json::payload_variables(&start.input)
            }
            (None, _) => {
                return self
                    .refused(IncidentCode::InputNotAnObject, "the input must be a JSON object");
            }
        };
        let at = match self.start_event(start, &variables) {
            Ok(at) => at,
            Err(problem) => return self.refused(IncidentCode::UnknownStart, &problem),
        };
        let root = self.create(None, None);
        if let Some(element) = self.element_mut(root) {
            element.role = ElementRole::Scope;
            element.variables = variables;
            element.then = Some(Continuation::Start { node: at });
        }
        self.resume_element(root);
        self.run();
        self.finish(vec![Verdict::taken()])
    }

    /// Arms the event sub-processes of the process, then starts it.
    pub(super) fn set_up_process(&mut self) -> Result<(), Failure> {
        let process = self.process;
        self.arm_event_sub_processes(ROOT, &process.body)?;
        let Some(element) = self.element_mut(ROOT) else { return Ok(()) };
        element.phase = ElementPhase::Active;
        let start = match element.then.take() {
            Some(Continuation::Start { node }) => node,
            _ => None,
        };
        self.start_body(ROOT, &process.body, start);
        Ok(())
    }

    /// The named start event, else the plain one, else one whose condition the input satisfies,
    /// else the only one.
    fn start_event(&mut self, start: &Start, input: &Variables) -> Result<Option<NodeRef>, String> {
        let process = self.process;
        let starts = &process.body.starts;
        if let Some(event_id) = &start.at {
            let found = starts.iter().find(|at| *self.process.node(**at).id == **event_id);
            return match found {
                Some(at) => Ok(Some(*at)),
                None => Err(format!("there is no start event {event_id:?}")),
            };
        }
        let is_plain = |at: &&NodeRef| self.process.node(**at).is_plain_start();
        if let Some(plain) = starts.iter().find(is_plain) {
            return Ok(Some(*plain));
        }
        let mut conditions = 0;
        for at in starts {
            let Some(EventTrigger::Conditional(condition)) = self.process.node(*at).trigger()
            else {
                continue;
            };
            conditions += 1;
            if self.condition_holds_for(condition, input)? {
                return Ok(Some(*at));
            }
        }
        if conditions > 0 && conditions == starts.len() {
            return Err("no start event has a condition that holds".to_owned());
        }
        match starts.as_slice() {
            [] | [_] => Ok(starts.first().copied()),
            _ => Err("there are several start events and none of them is plain".to_owned()),
        }
    }

    /// Whether the input satisfies the condition of a start event; a missing variable does not.
    fn condition_holds_for(
        &mut self,
        condition: &Expression,
        input: &Variables,
    ) -> Result<bool, String> {
        let environment = self.environment();
        let evaluated = condition.evaluate(&PayloadVariables { values: input }, &environment);
        self.ops += evaluated.ops;
        match evaluated.value {
            Ok(value) => match value.as_str() {
                "true" => Ok(true),
                "false" | "null" => Ok(false),
                other => Err(format!("the condition `{condition}` gives {other}")),
            },
            Err(failure) => Err(failure.message),
        }
    }

    fn refused(self, code: IncidentCode, problem: &str) -> Result<Turn, Fault> {
        let problem = Json::text(problem);
        self.finish(vec![Verdict::Refused { code: code.code().to_owned(), problem }])
    }
}
