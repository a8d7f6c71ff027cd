//! The host of a script that runs to completion at once: it starts and saves nothing.

use meantime_core::{EffectKey, InstanceId, Json, SplitMix64, Timestamp};

use super::host::{EffectKind, EffectRequest, EffectStartError, Host, StartedEffect};

/// A host without effects.
pub(super) struct PureHost<'a> {
    now: Timestamp,
    seed: u64,
    draws: u64,
    key: Option<&'a str>,
}

impl<'a> PureHost<'a> {
    pub(super) fn new(now: Timestamp, seed: u64, key: Option<&'a str>) -> Self {
        Self { now, seed, draws: 0, key }
    }
}

impl Host for PureHost<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn instance(&self) -> InstanceId {
        InstanceId::new(0, self.seed)
    }

    fn key(&self) -> Option<&str> {
        self.key
    }

    fn random(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(1);
        SplitMix64::nth(self.seed, self.draws)
    }

    fn has_room(&self, _effects: usize) -> bool {
        true
    }

    fn start(&mut self, _request: &EffectRequest) -> Result<StartedEffect, EffectStartError> {
        Err(EffectStartError::type_error("nothing can be started outside of an instance"))
    }

    fn cancel(&mut self, _what: EffectKind, _key: EffectKey) {}

    fn log(&mut self, _level: &'static str, _message: Json, _data: Option<Json>) {}
}
