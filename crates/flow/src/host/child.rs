//! `Workflow.run`: a child of any notation.

use meantime_core::{ChildSpec, Effect, ParentClose};
use meantime_script::{EffectKind, EffectRequest, EffectStartError, StartedEffect};
use serde::Deserialize;

use super::options::{name, options};
use super::task::arg;
use super::time::UnparsedTime;
use super::turn::{TurnHost, position_text};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
struct ChildOptions {
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    deadline: Option<UnparsedTime>,
}

impl TurnHost<'_> {
    pub(super) fn start_child(
        &mut self,
        request: &EffectRequest,
    ) -> Result<StartedEffect, EffectStartError> {
        let most = self.cx.limits.name_bytes;
        let name = name(arg(request, 0), "the name of the workflow", most)?;
        let input = arg(request, 1).cloned().unwrap_or_default();
        self.check_payload(&input, request.position)?;
        let options: ChildOptions = options(arg(request, 2), "Workflow.run")?;
        let mut spec = ChildSpec::new(&name, position_text(request.position), input);
        spec.version = options.version;
        spec.key = options.key;
        if let Some(deadline) = &options.deadline {
            spec.deadline_at = Some(deadline.deadline_instant(self.cx.now)?);
        }
        // Errors of the child are thrown at the `await`, so that none becomes an incident in the
        // child.
        spec.catches = vec!["*".to_owned()];
        spec.parent_close = ParentClose::Detach;
        let key = self.push(Effect::StartChild(spec));
        Ok(StartedEffect { what: EffectKind::Child, key, timer: None, name })
    }
}
