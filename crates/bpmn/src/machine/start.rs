//! How an instance begins.

use meantime_core::{Failure, Fault, Json, Start, StartCause, Turn, Verdict};

use super::json::object_entries;
use super::state::{Phase, ROOT, Role, Then};
use super::turn::Machine;
use crate::model::NodeRef;
use crate::trouble::Trouble;

impl Machine<'_> {
    /// The first turn: the input becomes the variables of the process.
    pub(crate) fn start(mut self, start: &Start) -> Result<Turn, Fault> {
        let at = match self.start_event(start) {
            Ok(at) => at,
            Err(problem) => return self.refused(Trouble::UnknownStart, &problem),
        };
        let variables = match (object_entries(&start.input), &start.cause) {
            (Some(entries), _) => entries,
            (None, _) if start.input.is_null() => std::collections::BTreeMap::new(),
            // Nobody could be told: a payload that is one value is called `result`.
            (None, StartCause::Message { .. } | StartCause::Signal { .. } | StartCause::Child) => {
                super::json::handed(&start.input)
            }
            (None, _) => {
                return self.refused(Trouble::InputNotAnObject, "the input must be a JSON object");
            }
        };
        let root = self.create(None, None);
        if let Some(element) = self.element_mut(root) {
            element.role = Role::Scope;
            element.variables = variables;
            element.then = Some(Then::Start { node: at });
        }
        self.go_on(root);
        self.run();
        self.finish(vec![Verdict::taken()])
    }

    /// Arms the event sub-processes of the process, then starts it.
    pub(super) fn set_up_process(&mut self) -> Result<(), Failure> {
        let process = self.process;
        self.arm_event_subs(ROOT, &process.body)?;
        let Some(element) = self.element_mut(ROOT) else { return Ok(()) };
        element.phase = Phase::Active;
        let start = match element.then.take() {
            Some(Then::Start { node }) => node,
            _ => None,
        };
        self.start_body(ROOT, &process.body, start);
        Ok(())
    }

    /// The start event that was named, or the plain one, or the only one.
    fn start_event(&self, start: &Start) -> Result<Option<NodeRef>, String> {
        let starts = &self.process.body.starts;
        if let Some(place) = &start.at {
            let found = starts.iter().find(|at| *self.process.node(**at).id == **place);
            return match found {
                Some(at) => Ok(Some(*at)),
                None => Err(format!("there is no start event {place:?}")),
            };
        }
        let is_plain = |at: &&NodeRef| self.process.node(**at).is_plain_start();
        match (starts.iter().find(is_plain), starts.as_slice()) {
            (Some(plain), _) => Ok(Some(*plain)),
            (None, [] | [_]) => Ok(starts.first().copied()),
            (None, _) => Err("there are several start events and none of them is plain".to_owned()),
        }
    }

    fn refused(self, trouble: Trouble, problem: &str) -> Result<Turn, Fault> {
        let problem = Json::of(&problem).unwrap_or_default();
        self.finish(vec![Verdict::Refused { code: trouble.code().to_owned(), problem }])
    }
}
