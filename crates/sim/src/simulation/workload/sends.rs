//! Signals, messages, broadcasts and steps.

use meantime_core::{Json, Message};
use meantime_kernel::command::{Command, Wait};

use crate::simulation::programs::{
    BROADCAST_NAMES, CORRELATION_KEYS, MESSAGE_NAMES, SIGNAL_NAMES, STEP_IDS, start_broadcast,
    start_message,
};
use crate::simulation::run::Simulation;

impl Simulation {
    pub(super) fn send_signals(&mut self) {
        // Several signals at one instant share a turn.
        let count = self.workload.rng.pick(&[1, 1, 2, 3]);
        let Some(instance) = self.random_instance() else { return };
        for _ in 0..count {
            let name = self.workload.rng.pick(&SIGNAL_NAMES).to_owned();
            let payload = self.workload.payload();
            let is_settled = self.workload.rng.percent(10);
            let wait = if is_settled { Wait::Idle } else { Wait::Quiet };
            let command = Command::Signal { instance, name, payload };
            self.send_command_and_wait("signal", command, wait);
        }
    }

    /// A payload that makes the turn that takes it panic.
    pub(super) fn send_poison(&mut self) {
        let Some(instance) = self.random_live_instance() else { return };
        let rng = &mut self.workload.rng;
        let payload = Json::of(&rng.pick(&["poison", "panic"])).unwrap_or_default();
        let command = if rng.percent(70) {
            Command::Signal { instance, name: rng.pick(&SIGNAL_NAMES).to_owned(), payload }
        } else {
            let (name, key) =
                (rng.pick(&MESSAGE_NAMES).to_owned(), rng.pick(&CORRELATION_KEYS).to_owned());
            Command::Publish(Message { name, key, payload, ttl_ms: None, id: None })
        };
        self.send_command("poison", command);
    }

    pub(super) fn publish_message(&mut self) {
        if self.workload.rng.percent(20) && self.repeat_call() {
            return;
        }
        let programs = self.workload.programs.texts.len();
        let rng = &mut self.workload.rng;
        let name = if rng.percent(30) {
            start_message(rng.below(programs))
        } else {
            rng.pick(&MESSAGE_NAMES).to_owned()
        };
        let key =
            if rng.percent(5) { String::new() } else { rng.pick(&CORRELATION_KEYS).to_owned() };
        let ttl_ms = rng.pick(&[None, None, Some(0), Some(5_000), Some(864_000_000)]);
        let id = rng.percent(40).then(|| format!("message-{}", self.workload.serial));
        let is_repeatable = id.is_some();
        let payload = self.workload.payload();
        let command = Command::Publish(Message { name, key, payload, ttl_ms, id });
        if let Some(number) = self.send_command("publish", command).filter(|_| is_repeatable) {
            self.workload.repeatable.push(number);
        }
    }

    pub(super) fn send_broadcast(&mut self) {
        let programs = self.workload.programs.texts.len();
        let rng = &mut self.workload.rng;
        let name = if rng.percent(40) {
            start_broadcast(rng.below(programs))
        } else {
            rng.pick(&BROADCAST_NAMES).to_owned()
        };
        let payload = self.workload.payload();
        self.send_command("broadcast", Command::Broadcast { name, payload });
    }

    pub(super) fn submit_step(&mut self) {
        let Some(instance) = self.random_instance() else { return };
        let step = self.workload.rng.pick(&STEP_IDS).to_owned();
        let payload = self.workload.payload();
        let payload = if self.workload.rng.percent(85) {
            Json::parse(&format!("{{\"field\":{payload}}}")).unwrap_or_default()
        } else {
            payload
        };
        self.send_command(
            "submit",
            Command::Submit { instance, step, payload, request_bindings: None },
        );
    }
}
