//! Starts: with keys, deadlines, tags, versions, and repeated with the same idempotency key.

use meantime_core::{Json, Timestamp};
use meantime_kernel::command::{Command, StartCommand, Wait};

use crate::simulation::programs::{CORRELATION_KEYS, program_name};
use crate::simulation::run::Simulation;

impl Simulation {
    pub(super) fn start_instance(&mut self) {
        if self.workload.rng.percent(15) && self.repeat_call() {
            return;
        }
        let now = self.now();
        let rng = &mut self.workload.rng;
        let number = rng.below(self.workload.programs.texts.len());
        let mut start =
            StartCommand { definition: program_name(number), ..StartCommand::default() };
        if rng.percent(15) {
            start.key = Some(rng.pick(&CORRELATION_KEYS).to_owned());
        }
        if rng.percent(25) {
            start.idempotency = Some(format!("request-{}", self.workload.serial));
        }
        if rng.percent(15) {
            start.deadline_at = Some(instant_after(now, rng.between(-1_000, 100_000)));
        }
        if rng.percent(10) {
            start.tags = vec!["tagged".to_owned()];
        }
        if rng.percent(5) {
            start.version = Some(u32::try_from(rng.between(1, 3)).unwrap_or(1));
        }
        if rng.percent(2) {
            "nobody".clone_into(&mut start.definition);
        }
        let wait = if rng.percent(25) { Wait::Idle } else { Wait::Quiet };
        let is_refused = rng.percent(2);
        start.input = self.workload.payload();
        if is_refused {
            start.input = Json::of(&"refuse").unwrap_or_default();
        }
        let is_repeatable = start.idempotency.is_some();
        let number = self.send_command_and_wait("start", Command::Start(start), wait);
        if let Some(number) = number.filter(|_| is_repeatable) {
            self.workload.repeatable.push(number);
        }
    }

    /// Repeats a call that is idempotent.
    pub(super) fn repeat_call(&mut self) -> bool {
        let Some(number) = self.workload.rng.pick_optional(&self.workload.repeatable).copied()
        else {
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
        self.send_command(name, command);
        true
    }
}

fn instant_after(now: Timestamp, ms: i64) -> Timestamp {
    now.saturating_add_millis(ms)
}
