//! Signals, messages, broadcasts and steps.

use meantime_core::{Json, Message};
use meantime_kernel::command::{Command, Wait};

use crate::simulation::programs::{
    BROADCASTS, KEYS, MESSAGES, SIGNALS, STEPS, start_broadcast, start_message,
};
use crate::simulation::run::Run;

impl Run {
    pub(super) fn signal(&mut self) {
        // Several at one moment share a turn.
        let count = self.load.chance.pick(&[1, 1, 2, 3]);
        let Some(instance) = self.some_instance() else { return };
        for _ in 0..count {
            let name = self.load.chance.pick(&SIGNALS).to_owned();
            let payload = self.load.payload();
            let is_settled = self.load.chance.percent(10);
            let wait = if is_settled { Wait::Idle } else { Wait::Quiet };
            let command = Command::Signal { instance, name, payload };
            self.ask_and_wait("signal", command, wait);
        }
    }

    /// A payload that breaks the turn that takes it.
    pub(super) fn poison(&mut self) {
        let Some(instance) = self.some_live() else { return };
        let chance = &mut self.load.chance;
        let payload = Json::of(&chance.pick(&["poison", "panic"])).unwrap_or_default();
        let command = if chance.percent(70) {
            Command::Signal { instance, name: chance.pick(&SIGNALS).to_owned(), payload }
        } else {
            let (name, key) = (chance.pick(&MESSAGES).to_owned(), chance.pick(&KEYS).to_owned());
            Command::Publish(Message { name, key, payload, ttl_ms: None, id: None })
        };
        self.ask("poison", command);
    }

    pub(super) fn publish(&mut self) {
        if self.load.chance.percent(20) && self.repeat() {
            return;
        }
        let programs = self.load.programs.texts.len();
        let chance = &mut self.load.chance;
        let name = if chance.percent(30) {
            start_message(chance.below(programs))
        } else {
            chance.pick(&MESSAGES).to_owned()
        };
        let key = if chance.percent(5) { String::new() } else { chance.pick(&KEYS).to_owned() };
        let ttl_ms = chance.pick(&[None, None, Some(0), Some(5_000), Some(864_000_000)]);
        let id = chance.percent(40).then(|| format!("message-{}", self.load.serial));
        let is_repeatable = id.is_some();
        let payload = self.load.payload();
        let command = Command::Publish(Message { name, key, payload, ttl_ms, id });
        if let Some(number) = self.ask("publish", command).filter(|_| is_repeatable) {
            self.load.repeatable.push(number);
        }
    }

    pub(super) fn broadcast(&mut self) {
        let programs = self.load.programs.texts.len();
        let chance = &mut self.load.chance;
        let name = if chance.percent(40) {
            start_broadcast(chance.below(programs))
        } else {
            chance.pick(&BROADCASTS).to_owned()
        };
        let payload = self.load.payload();
        self.ask("broadcast", Command::Broadcast { name, payload });
    }

    pub(super) fn submit(&mut self) {
        let Some(instance) = self.some_instance() else { return };
        let step = self.load.chance.pick(&STEPS).to_owned();
        let payload = self.load.payload();
        let payload = if self.load.chance.percent(85) {
            Json::parse(&format!("{{\"field\":{payload}}}")).unwrap_or_default()
        } else {
            payload
        };
        self.ask("submit", Command::Submit { instance, step, payload, bound: None });
    }
}
