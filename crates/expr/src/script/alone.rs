//! What a script talks to that runs to its end at once: nothing is started, nothing is saved.

use meantime_core::{EffectKey, InstanceId, Json, SplitMix64, Timestamp};

use super::host::{Host, Refusal, Request, Started, What};

/// A host of nobody.
pub(super) struct Alone<'a> {
    now: Timestamp,
    seed: u64,
    draws: u64,
    key: Option<&'a str>,
}

impl<'a> Alone<'a> {
    pub(super) fn new(now: Timestamp, seed: u64, key: Option<&'a str>) -> Self {
        Self { now, seed, draws: 0, key }
    }
}

impl Host for Alone<'_> {
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

    fn start(&mut self, _request: &Request) -> Result<Started, Refusal> {
        Err(Refusal::type_error("nothing can be started outside of an instance"))
    }

    fn withdraw(&mut self, _what: What, _key: EffectKey) {}

    fn log(&mut self, _level: &'static str, _message: Json, _data: Option<Json>) {}
}
