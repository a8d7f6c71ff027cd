//! Schedules: every policy, and every hand that people lay on them.

use meantime_core::time::{Cron, First, Rule, Span, Zone};
use meantime_core::{
    CatchUp, Json, OnExisting, Overlap, ScheduleChange, ScheduleInput, ScheduleSpec, Timestamp,
};
use meantime_kernel::command::{Command, ScheduleAction};

use super::load::Load;
use crate::simulation::programs::name_of;
use crate::simulation::run::Run;

impl Run {
    pub(super) fn schedule(&mut self) {
        let now = self.now();
        let known = self.load.chance.pick_any(&self.load.schedules).copied();
        let (Some(schedule), true) = (known, self.load.chance.percent(65)) else {
            let spec = Box::new(self.load.spec(now));
            let all = [OnExisting::Fail, OnExisting::Upsert, OnExisting::AddAnother];
            let on_existing = self.load.chance.pick(&all);
            self.ask("put schedule", Command::PutSchedule { spec, on_existing });
            return;
        };
        let (name, action) = match self.load.chance.below(6) {
            0 => ("pause schedule", ScheduleAction::Pause),
            1 | 2 => ("resume schedule", ScheduleAction::Resume),
            3 => ("trigger schedule", ScheduleAction::Trigger),
            4 => {
                let back = self.load.chance.pick(&[10_000, 600_000]);
                let from = now.saturating_add_millis(-back);
                ("backfill", ScheduleAction::Backfill { from, to: now })
            }
            _ => ("change schedule", ScheduleAction::Change(Box::new(self.load.change(now)))),
        };
        let audit = self.load.audit();
        self.ask(name, Command::Schedule { schedule, action, audit });
    }
}

impl Load {
    fn spec(&mut self, now: Timestamp) -> ScheduleSpec {
        let rule = self.rule(now);
        let chance = &mut self.chance;
        let number = chance.below(self.programs.texts.len());
        let overlaps = [Overlap::Skip, Overlap::QueueOne, Overlap::Allow, Overlap::CancelPrevious];
        let input = if chance.percent(25) {
            ScheduleInput::Context(Json::parse("{\"n\":1}").unwrap_or_default())
        } else {
            ScheduleInput::default()
        };
        ScheduleSpec {
            definition: name_of(number),
            version: chance.pick(&[1, 1, 1, 2]),
            start: None,
            subject: chance.pick(&[None, Some("ann".to_owned()), Some("bob".to_owned())]),
            label: None,
            rule,
            max_runs: chance.pick(&[None, Some(1), Some(4)]),
            overlap: chance.pick(&overlaps),
            catch_up: chance.pick(&[CatchUp::Coalesce, CatchUp::Skip, CatchUp::All]),
            input,
            anchored: false,
            is_binding: false,
        }
    }

    /// Some things about a schedule, and what is not given stays.
    fn change(&mut self, now: Timestamp) -> ScheduleChange {
        let spec = self.spec(now);
        let chance = &mut self.chance;
        let (interval, cron) = match &spec.rule {
            Rule::Once { .. } => (None, None),
            Rule::Every { interval, .. } => (Some(*interval), None),
            Rule::Cron { cron, .. } => (None, Some(cron.clone())),
        };
        ScheduleChange {
            generation: chance.pick(&[None, None, None, Some(0)]),
            start_at: chance.pick(&[None, Some(spec.rule.begins())]),
            interval,
            cron,
            max_runs: chance.pick(&[None, Some(None), Some(spec.max_runs)]),
            overlap: chance.pick(&[None, Some(spec.overlap)]),
            catch_up: chance.pick(&[None, Some(spec.catch_up)]),
            ..ScheduleChange::default()
        }
    }

    fn rule(&mut self, now: Timestamp) -> Rule {
        let chance = &mut self.chance;
        let anchor = now.saturating_add_millis(chance.pick(&[-3_600_000, -3_000, 0, 0, 2_000]));
        let rule = match chance.below(5) {
            0 => Rule::once(anchor),
            1 => {
                let text = chance.pick(&["*/5 * * * *", "*/10 * * * * *", "0 3 * * *"]);
                let cron = Cron::parse(text).expect("the expression is good");
                Rule::cron(cron, Zone::utc(), now)
            }
            _ => {
                let text = chance.pick(&["PT1S", "PT7S", "PT5M", "PT1H", "P1D"]);
                let interval = Span::parse(text).expect("the span is good");
                let first = First::AtAnchor;
                Rule::every(anchor, interval, Zone::utc(), first).expect("the rule is good")
            }
        };
        match chance.below(4) {
            0 => rule.limited(3),
            1 => rule.ending(now.saturating_add_millis(3_600_000)),
            _ => rule,
        }
    }
}
