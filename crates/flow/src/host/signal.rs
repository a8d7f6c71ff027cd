//! `Signal.next`: a wait for a signal, with a second timer if it has a timeout.

use meantime_core::{Channel, Effect};
use meantime_script::{EffectKind, EffectRequest, EffectStartError, StartedEffect};
use serde::Deserialize;

use super::options::{name, options};
use super::task::arg;
use super::time::UnparsedTime;
use super::turn::{TurnHost, position_text};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an object")]
struct SignalOptions {
    #[serde(default)]
    timeout: Option<UnparsedTime>,
}

impl TurnHost<'_> {
    pub(super) fn start_signal(
        &mut self,
        request: &EffectRequest,
    ) -> Result<StartedEffect, EffectStartError> {
        let most = self.cx.limits.name_bytes;
        let name = name(arg(request, 0), "the name of the signal", most)?;
        let options: SignalOptions = options(arg(request, 1), "Signal.next")?;
        let due_at = match &options.timeout {
            Some(timeout) => Some(timeout.due_after(self.cx.now)?),
            None => None,
        };
        let element = position_text(request.position);
        let channel = Channel::Signal { name: name.clone() };
        let key = self.push(Effect::Subscribe { element: element.clone(), channel });
        let timer = due_at.map(|due_at| self.push(Effect::StartTimer { element, due_at }));
        Ok(StartedEffect { what: EffectKind::Signal, key, timer, name })
    }
}
