//! `apiKeyValidate:v1` and `jwtValidate:v1`: the engine checks the credential of the inbound
//! request.
//!
//! The engine answers `{ok: true, value}` or `{ok: false, problem}`, which become
//! `context.<authVar>.<method>` and `context.<authVar>.<method>.problem`. A credential that is
//! missing or invalid is data for the journey; an engine without the required profile is an error.

use meantime_core::{Fault, Json, RetryPolicy, TaskKind, TaskOutcome, TaskSpec};
use meantime_value::Value;

use super::result::is_ok;
use crate::definition::{AuthCheck, State};
use crate::json;
use crate::machine::overlay::ContextChange;
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{StateError, Transition};

impl Run<'_> {
    pub(in crate::machine) fn enter_auth(
        &mut self,
        id: FrameId,
        check: &AuthCheck,
    ) -> Result<Transition, Fault> {
        let source = check.source.as_ref().map(|source| {
            serde_json::json!({
                "location": source.location,
                "name": source.name,
                "scheme": source.scheme,
            })
        });
        let input = serde_json::json!({
            "profile": check.profile,
            "source": source,
            "request": self.frame(id)?.request,
        });
        let spec = TaskSpec {
            kind: TaskKind::Engine,
            retry: RetryPolicy::never(),
            ..TaskSpec::worker(check.kind.name(), self.element_path(id), Json::from(&input))
        };
        Ok(self.wait_for_task(spec))
    }

    pub(super) fn auth_done(
        &mut self,
        id: FrameId,
        state: &State,
        check: &AuthCheck,
        outcome: &TaskOutcome,
    ) -> Result<Transition, Fault> {
        let answer = match outcome {
            TaskOutcome::Completed(answer) => json::parse(answer)?,
            TaskOutcome::Failed { failure, .. } => {
                let text = format!("{}: {}", failure.code, failure.message);
                return Ok(StateError::internal(text).into());
            }
        };
        self.record_gone_request(id, outcome)?;
        let part = |name: &str| -> Value {
            json::get(&answer, &[name.to_owned()]).cloned().unwrap_or_default()
        };
        // Each method replaces its own object completely, also a value that a caller may have put
        // there, so that the success of one method cannot hide the failure of another.
        let path = vec![check.auth_var.clone(), check.kind.field().to_owned()];
        let checked = if is_ok(&answer) {
            part("value")
        } else {
            json::object_of([("problem", part("problem"))])
        };
        self.write(id, &ContextChange::put(path, checked))?;
        Self::next_transition(state)
    }
}
