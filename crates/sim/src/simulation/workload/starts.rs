//! Starts: with keys, deadlines, tags, versions, and once more with the same idempotency key.

use meantime_core::{Json, Timestamp};
use meantime_kernel::command::{Command, StartCommand, Wait};

use crate::simulation::programs::{KEYS, name_of};
use crate::simulation::run::Run;

impl Run {
    pub(super) fn start(&mut self) {
        if self.load.chance.percent(15) && self.repeat() {
            return;
        }
        let now = self.now();
        let chance = &mut self.load.chance;
        let number = chance.below(self.load.programs.texts.len());
        let mut start = StartCommand { definition: name_of(number), ..StartCommand::default() };
        if chance.percent(15) {
            start.key = Some(chance.pick(&KEYS).to_owned());
        }
        if chance.percent(25) {
            start.idempotency = Some(format!("request-{}", self.load.serial));
        }
        if chance.percent(15) {
            start.deadline_at = Some(soon(now, chance.between(-1_000, 100_000)));
        }
        if chance.percent(10) {
            start.tags = vec!["tagged".to_owned()];
        }
        if chance.percent(5) {
            start.version = Some(u32::try_from(chance.between(1, 3)).unwrap_or(1));
        }
        if chance.percent(2) {
            "nobody".clone_into(&mut start.definition);
        }
        let wait = if chance.percent(25) { Wait::Idle } else { Wait::Quiet };
        let is_refused = chance.percent(2);
        start.input = self.load.payload();
        if is_refused {
            start.input = Json::of(&"refuse").unwrap_or_default();
        }
        let is_repeatable = start.idempotency.is_some();
        let number = self.ask_and_wait("start", Command::Start(start), wait);
        if let Some(number) = number.filter(|_| is_repeatable) {
            self.load.repeatable.push(number);
        }
    }

    /// Sends something again that was made to be sent again.
    pub(super) fn repeat(&mut self) -> bool {
        let Some(number) = self.load.chance.pick_any(&self.load.repeatable).copied() else {
            return false;
        };
        let Some(call) = self.calls.get(usize::try_from(number).unwrap_or(1) - 1) else {
            return false;
        };
        let command = call.command.clone();
        let name = match command {
            Command::Publish(_) => "publish again",
            _ => "start again",
        };
        self.ask(name, command);
        true
    }
}

fn soon(now: Timestamp, ms: i64) -> Timestamp {
    now.saturating_add_millis(ms)
}
