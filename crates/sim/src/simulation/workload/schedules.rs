//! Schedules: every policy, and every operation on them.

use meantime_core::time::{Cron, First, Rule, Span, Zone};
use meantime_core::{
    CatchUp, Json, OnExisting, Overlap, ScheduleChange, ScheduleInput, ScheduleSpec, Timestamp,
};
use meantime_kernel::command::{Command, ScheduleAction};

use super::state::WorkloadState;
use crate::simulation::programs::program_name;
use crate::simulation::run::Simulation;

impl Simulation {
    pub(super) fn act_on_schedule(&mut self) {
        let now = self.now();
        let known = self.workload.rng.pick_optional(&self.workload.schedules).copied();
        let (Some(schedule), true) = (known, self.workload.rng.percent(65)) else {
            let spec = Box::new(self.workload.random_spec(now));
            let all = [OnExisting::Fail, OnExisting::Upsert, OnExisting::AddAnother];
            let on_existing = self.workload.rng.pick(&all);
            self.send_command("put schedule", Command::PutSchedule { spec, on_existing });
            return;
        };
        let (name, action) = match self.workload.rng.below(6) {
            0 => ("pause schedule", ScheduleAction::Pause),
            1 | 2 => ("resume schedule", ScheduleAction::Resume),
            3 => ("trigger schedule", ScheduleAction::Trigger),
            4 => {
                let back = self.workload.rng.pick(&[10_000, 600_000]);
                let from = now.saturating_add_millis(-back);
                ("backfill", ScheduleAction::Backfill { from, to: now })
            }
            _ => (
                "change schedule",
                ScheduleAction::Change(Box::new(self.workload.random_change(now))),
            ),
        };
        let audit = self.workload.audit();
        self.send_command(name, Command::Schedule { schedule, action, audit });
    }
}

impl WorkloadState {
    fn random_spec(&mut self, now: Timestamp) -> ScheduleSpec {
        let rule = self.random_rule(now);
        let rng = &mut self.rng;
        let number = rng.below(self.programs.texts.len());
        let overlaps = [Overlap::Skip, Overlap::QueueOne, Overlap::Allow, Overlap::CancelPrevious];
        let input = if rng.percent(25) {
            ScheduleInput::Context(Json::parse("{\"n\":1}").unwrap_or_default())
        } else {
            ScheduleInput::default()
        };
        ScheduleSpec {
            definition: program_name(number),
            version: rng.pick(&[1, 1, 1, 2]),
            start: None,
            subject: rng.pick(&[None, Some("ann".to_owned()), Some("bob".to_owned())]),
            label: None,
            rule,
            max_runs: rng.pick(&[None, Some(1), Some(4)]),
            overlap: rng.pick(&overlaps),
            catch_up: rng.pick(&[CatchUp::Coalesce, CatchUp::Skip, CatchUp::All]),
            input,
            anchored: false,
            is_binding: false,
        }
    }

    /// A random change; settings that are not given stay.
    fn random_change(&mut self, now: Timestamp) -> ScheduleChange {
        let spec = self.random_spec(now);
        let rng = &mut self.rng;
        let (interval, cron) = match &spec.rule {
            Rule::Once { .. } => (None, None),
            Rule::Every { interval, .. } => (Some(*interval), None),
            Rule::Cron { cron, .. } => (None, Some(cron.clone())),
        };
        ScheduleChange {
            generation: rng.pick(&[None, None, None, Some(0)]),
            start_at: rng.pick(&[None, Some(spec.rule.begins())]),
            interval,
            cron,
            max_runs: rng.pick(&[None, Some(None), Some(spec.max_runs)]),
            overlap: rng.pick(&[None, Some(spec.overlap)]),
            catch_up: rng.pick(&[None, Some(spec.catch_up)]),
            ..ScheduleChange::default()
        }
    }

    fn random_rule(&mut self, now: Timestamp) -> Rule {
        let rng = &mut self.rng;
        let anchor = now.saturating_add_millis(rng.pick(&[-3_600_000, -3_000, 0, 0, 2_000]));
        let rule = match rng.below(5) {
            0 => Rule::once(anchor),
            1 => {
                let text = rng.pick(&["*/5 * * * *", "*/10 * * * * *", "0 3 * * *"]);
                let cron = Cron::parse(text).expect("the expression is good");
                Rule::cron(cron, Zone::utc(), now)
            }
            _ => {
                let text = rng.pick(&["PT1S", "PT7S", "PT5M", "PT1H", "P1D"]);
                let interval = Span::parse(text).expect("the span is good");
                let first = First::AtAnchor;
                Rule::every(anchor, interval, Zone::utc(), first).expect("the rule is good")
            }
        };
        match rng.below(4) {
            0 => rule.limited(3),
            1 => rule.ending(now.saturating_add_millis(3_600_000)),
            _ => rule,
        }
    }
}
