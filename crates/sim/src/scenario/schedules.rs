//! Script lines about schedules.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::time::{Cron, First, Rule, Span, Zone};
use meantime_core::{
    CatchUp, InstanceId, Json, Limits, OccurrenceOutcome, OnExisting, Overlap, SCHEDULE_DEFINITION,
    ScheduleChange, ScheduleInput, ScheduleSpec, Timestamp,
};
use meantime_kernel::command::{Command, Reply, ScheduleAction, Wait};
use meantime_kernel::schedule::{Due, DueOf, Forecast, Outlook, ScheduleView};
use meantime_kernel::store::{InstanceFilter, Page, TimerFilter};

use super::player::{Player, answer, audit};
use super::script::{ScriptLine, instant};
use crate::harness::{CallStatus, block_on};

impl Player<'_> {
    /// `schedule NAME DEFINITION every SPAN|cron EXPR [at=I] [zone=Z] [runs=N] [version=N] …`;
    /// blanks of a cron expression are written as `_`.
    pub(super) fn schedule(&mut self, line: &ScriptLine) -> String {
        let name = line.words[1].clone();
        let on_existing = match line.option("existing") {
            Some("upsert") => OnExisting::Upsert,
            Some("fail") => OnExisting::Fail,
            _ => OnExisting::AddAnother,
        };
        let spec = Box::new(self.spec(line));
        let (_, status) = self.sim.call(Command::PutSchedule { spec, on_existing }, Wait::Quiet);
        let store = self.sim.store.clone();
        if let Some(id) = self.tracer.newest_unnamed(&*store, SCHEDULE_DEFINITION) {
            self.tracer.set_name(id, &name);
        }
        match &status {
            CallStatus::Answered(Ok(Reply::Scheduled { .. })) => String::new(),
            status => answer(status),
        }
    }

    fn spec(&self, line: &ScriptLine) -> ScheduleSpec {
        let now = self.sim.now().engine;
        let zone: Zone = line.option("zone").map_or(Zone::utc(), |it| it.parse().expect("a zone"));
        let at = line.option("at").map_or(now, |text| instant(text, now));
        let text = line.words.get(4).map_or("", String::as_str);
        let mut rule = match line.words.get(3).map(String::as_str) {
            Some("every") => {
                let (anchor, interval) = (at, Span::parse(text).expect("a span"));
                let (first, count, until) = (First::AtAnchor, None, None);
                Rule::Every { anchor, interval, zone, first, count, until }
            }
            _ => Rule::cron(Cron::parse(&text.replace('_', " ")).expect("cron"), zone, at),
        };
        if let Some(until) = line.option("until") {
            rule = rule.ending(instant(until, now));
        }
        let json = |name: &str| line.option(name).map(|it| Json::parse(it).expect("JSON"));
        let input = json("input").map_or_else(ScheduleInput::default, ScheduleInput::Input);
        ScheduleSpec {
            definition: line.words.get(2).cloned().unwrap_or_default(),
            version: line.number("version").map_or(1, |it| u32::try_from(it).unwrap_or(1)),
            start: line.option("from").map(str::to_owned),
            subject: line.option("subject").map(str::to_owned),
            label: None,
            rule,
            max_runs: line.number("runs"),
            overlap: match line.option("overlap") {
                Some("queue") => Overlap::QueueOne,
                Some("allow") => Overlap::Allow,
                Some("cancel") => Overlap::CancelPrevious,
                _ => Overlap::Skip,
            },
            catch_up: match line.option("catchup") {
                Some("skip") => CatchUp::Skip,
                Some("all") => CatchUp::All,
                _ => CatchUp::Coalesce,
            },
            input: json("context").map_or(input, ScheduleInput::Context),
            anchored: line.option("at").is_some(),
            is_binding: false,
        }
    }

    /// The changes that a line gives; other settings stay.
    fn change(&self, line: &ScriptLine) -> ScheduleChange {
        let spec = self.spec(line);
        let given = |name: &str| line.option(name).is_some();
        let (interval, cron) = match spec.rule {
            Rule::Every { interval, .. } => (Some(interval), None),
            Rule::Cron { cron, .. } => (None, Some(cron)),
            Rule::Once { .. } => (None, None),
        };
        ScheduleChange {
            generation: line.number("generation"),
            start_at: given("at").then(|| instant(line.option("at").unwrap_or(""), self.now())),
            interval,
            cron,
            zone: line.option("zone").map(|it| it.parse().expect("a zone")),
            // `runs=none` removes the limit.
            max_runs: given("runs").then_some(spec.max_runs),
            overlap: given("overlap").then_some(spec.overlap),
            catch_up: given("catchup").then_some(spec.catch_up),
            input: line.option("input").map(|it| Json::parse(it).expect("JSON")),
        }
    }

    fn now(&self) -> Timestamp {
        self.sim.now().engine
    }

    /// `pause|resume|trigger NAME`, `backfill NAME FROM TO`, `change NAME DEFINITION every SPAN …`.
    pub(super) fn act_on_schedule(&mut self, line: &ScriptLine) -> String {
        let schedule = self.instance(&line.words[1]);
        let now = self.sim.now().engine;
        let (action, rest) = match line.words[0].as_str() {
            "pause" => (ScheduleAction::Pause, 2),
            "resume" => (ScheduleAction::Resume, 2),
            "trigger" => (ScheduleAction::Trigger, 2),
            "backfill" => {
                let (from, to) = (instant(&line.words[2], now), instant(&line.words[3], now));
                (ScheduleAction::Backfill { from, to }, 4)
            }
            _ => (ScheduleAction::Change(Box::new(self.change(line))), 5),
        };
        self.call(Command::Schedule { schedule, action, audit: audit(line, rest) })
    }

    fn schedule_view(&mut self, name: &str) -> Option<ScheduleView> {
        let id = self.instance(name);
        let row = block_on(self.sim.store.instance(id)).ok().flatten()?;
        ScheduleView::of_instance(&row).filter(|_| !row.phase.is_ended())
    }

    /// Future occurrences of a schedule for which a backfill has already started a run.
    fn filled(&self, schedule: InstanceId, view: &ScheduleView) -> BTreeSet<Timestamp> {
        let rows = block_on(self.sim.store.occurrences(schedule, Page::first(10_000)));
        let rows = rows.unwrap_or_default();
        let started =
            rows.iter().filter(|row| row.occurrence.outcome == OccurrenceOutcome::Started);
        started.map(|row| row.occurrence.scheduled_at).filter(|at| Some(*at) > view.mark).collect()
    }

    /// The state of a schedule.
    pub(super) fn show_schedule(&mut self, name: &str) -> String {
        let Some(view) = self.schedule_view(name) else { return "over".to_owned() };
        let next = view.next_at().map_or_else(|| "never".to_owned(), |at| at.to_string());
        let paused = if view.paused { ", paused" } else { "" };
        let context =
            if view.spec.evolves() { format!(", {}", view.last_context) } else { String::new() };
        let (runs, running) = (view.runs_executed, view.running);
        format!("next {next}, runs {runs}, running {running}{paused}{context}")
    }

    pub(super) fn preview(&mut self, name: &str, count: &str) -> String {
        let id = self.instance(name);
        let Some(view) = self.schedule_view(name) else { return String::new() };
        let (filled, limits) = (self.filled(id, &view), Limits::default());
        let occurrences = view.preview(self.now(), &filled, &limits, count.parse().unwrap_or(1));
        occurrences.iter().map(Timestamp::to_string).collect::<Vec<_>>().join("\n")
    }

    /// The ledger of a schedule, oldest occurrence first.
    pub(super) fn ledger(&mut self, name: &str) -> String {
        let id = self.instance(name);
        let store = self.sim.store.clone();
        self.tracer.instances(&*store);
        let rows = block_on(store.occurrences(id, Page::first(10_000))).unwrap_or_default();
        let lines = rows.iter().rev().map(|row| {
            let it = &row.occurrence;
            let until = if it.count > 1 {
                format!(" to {} ({})", it.last_at, it.count)
            } else {
                String::new()
            };
            let reason =
                if it.reason.is_empty() { String::new() } else { format!(": {}", it.reason) };
            format!("{}{until} {}{reason}", it.scheduled_at, it.outcome.name())
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Everything that will be due in a window.
    pub(super) fn forecast(&mut self, from: &str, to: &str) -> String {
        let now = self.sim.now().engine;
        let (from, to) = (instant(from, now), instant(to, now));
        let store = self.sim.store.clone();
        let window = TimerFilter {
            due_from: Some(from),
            due_before: Some(to),
            before_deadline: true,
            ..TimerFilter::default()
        };
        let timers = block_on(store.timers(window, Page::first(10_000))).unwrap_or_default();
        let all = InstanceFilter::default();
        let rows = block_on(store.instances(all, Page::first(usize::MAX))).unwrap_or_default();
        let views: BTreeMap<InstanceId, ScheduleView> = rows
            .iter()
            .filter(|row| !row.phase.is_ended())
            .filter_map(|row| Some((row.id, ScheduleView::of_instance(row)?)))
            .collect();
        let mut page = Forecast::new(from, to, None, 1_000);
        for row in timers.iter().filter(|row| !views.contains_key(&row.id.0.instance)) {
            page.add_timer(row);
        }
        for (id, view) in &views {
            let (filled, limits) = (self.filled(*id, view), Limits::default());
            let outlook = Outlook::new(view, now, &filled, &limits);
            page.add_schedule(*id, &outlook, &view.spec.definition);
        }
        let (entries, _) = page.finish();
        let lines = entries.iter().map(|(key, due)| match (key.of, due) {
            (DueOf::Timer(id), Due::Timer { kind, element, .. }) => {
                format!("{} {} {} {element}", key.at, kind.name(), self.tracer.key(id.0))
            }
            (DueOf::Occurrence(_, scheduled_at), Due::Occurrence { definition })
                if scheduled_at != key.at =>
            {
                format!("{} occurrence {definition} of {scheduled_at}", key.at)
            }
            (_, Due::Occurrence { definition }) => format!("{} occurrence {definition}", key.at),
            (_, Due::Timer { .. }) => String::new(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
