//! The host of one turn: collects effects, and assigns their keys.

use meantime_core::{
    Cx, Effect, EffectKey, Fault, InstanceId, Json, Position, RetryPolicy, SplitMix64, Timestamp,
    instance_seed,
};
use meantime_script::{
    EffectKind, EffectRequest, EffectStartError, Host, Operation, StartedEffect,
};

/// The host of a script for one turn.
pub(crate) struct TurnHost<'a> {
    pub(super) cx: &'a Cx<'a>,
    pub(super) retry: RetryPolicy,
    effects: Vec<Effect>,
    draws: u64,
}

impl<'a> TurnHost<'a> {
    pub(crate) fn new(cx: &'a Cx<'a>, retry: RetryPolicy, effects: Vec<Effect>) -> Self {
        Self { cx, retry, effects, draws: 0 }
    }

    pub(crate) fn into_effects(self) -> Vec<Effect> {
        self.effects
    }

    /// Adds an effect; its position is its ordinal.
    pub(super) fn push(&mut self, effect: Effect) -> EffectKey {
        self.cx.push(&mut self.effects, effect)
    }

    /// Refuses a document that the kernel would refuse, with the position of the call.
    pub(super) fn check_payload(
        &self,
        json: &Json,
        position: Position,
    ) -> Result<(), EffectStartError> {
        let most = self.cx.limits.payload_bytes;
        if json.size() <= most {
            return Ok(());
        }
        let text = format!("a payload has {} bytes, the limit is {most}", json.size());
        let mut fault = Fault::new("payload_limit", text);
        fault.element = Some(position_text(position));
        Err(EffectStartError::Limit(fault))
    }
}

/// A position as effects and history name it: line and column.
pub(crate) fn position_text(position: Position) -> String {
    format!("{}:{}", position.line, position.column)
}

impl Host for TurnHost<'_> {
    fn now(&self) -> Timestamp {
        self.cx.now
    }

    fn instance(&self) -> InstanceId {
        self.cx.instance
    }

    fn key(&self) -> Option<&str> {
        self.cx.key
    }

    fn random(&mut self) -> u64 {
        self.draws += 1;
        // The seed is derived from the turn: a turn that is computed again draws the same numbers.
        SplitMix64::nth(instance_seed(self.cx.instance, &[self.cx.turn_no]), self.draws)
    }

    fn has_room(&self, effects: usize) -> bool {
        // A turn without effects always has room: otherwise a script could never continue.
        self.effects.is_empty() || self.effects.len() + effects <= self.cx.limits.slice_effects()
    }

    fn start(&mut self, request: &EffectRequest) -> Result<StartedEffect, EffectStartError> {
        match request.operation {
            Operation::Task => self.start_task(request),
            Operation::Delay => self.start_delay(request),
            Operation::Until => self.start_until(request),
            Operation::Signal => self.start_signal(request),
            Operation::Child => self.start_child(request),
            Operation::Http => self.start_http(request),
        }
    }

    fn cancel(&mut self, what: EffectKind, key: EffectKey) {
        self.push(match what {
            EffectKind::Task | EffectKind::Http => Effect::CancelTask { key },
            EffectKind::Timer => Effect::CancelTimer { key },
            EffectKind::Signal => Effect::Unsubscribe { key },
            EffectKind::Child => Effect::CancelChild { key },
        });
    }

    fn log(&mut self, level: &'static str, message: Json, data: Option<Json>) {
        let level = Json::text(level);
        let entries =
            [("level", Some(&level)), ("message", Some(&message)), ("data", data.as_ref())];
        let data = Json::object(entries.into_iter().filter_map(|(name, it)| Some((name, it?))));
        self.push(Effect::Record { kind: "log".to_owned(), data });
    }
}
