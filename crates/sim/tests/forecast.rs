//! O3 as a property: the forecast lists what fires, whatever was done to a schedule before: limits,
//! pauses, timers that were moved, frozen and released, changes, triggers, backfills of past and
//! future occurrences, downtime.

use std::collections::BTreeSet;
use std::sync::Arc;

use meantime_core::time::{Cron, First, Rule, Span, Zone};
use meantime_core::{
    CatchUp, InstanceId, Json, Limits, OccurrenceOutcome, OnExisting, Overlap, ScheduleChange,
    ScheduleInput, ScheduleSpec, Timestamp,
};
use meantime_kernel::command::{Command, Reply, ScheduleAction, TimerEdit, Wait};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::schedule::{Buckets, Fire, Forecast, Outlook, ScheduleView};
use meantime_kernel::store::{InstanceRow, MemoryStore, OccurrenceRow, Page, TimerFilter};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};

const MINUTE_MS: i64 = 60_000;

/// A random case: a schedule and the operations on it, which are printed if the property fails.
struct Case {
    entropy: SeededEntropy,
    sim: SimKernel,
    schedule: InstanceId,
    story: Vec<String>,
}

fn below(entropy: &mut SeededEntropy, count: u64) -> u64 {
    entropy.next() % count
}

fn pick<T: Clone>(entropy: &mut SeededEntropy, from: &[T]) -> T {
    let place = below(entropy, u64::try_from(from.len()).unwrap_or(1));
    from[usize::try_from(place).unwrap_or(0)].clone()
}

fn span(entropy: &mut SeededEntropy) -> Span {
    Span::parse(pick(entropy, &["PT1M", "PT7M", "PT10M", "PT1H", "P1D"])).expect("a span")
}

fn cron(entropy: &mut SeededEntropy) -> Cron {
    Cron::parse(pick(entropy, &["*/10 * * * *", "0 * * * *", "30 2 * * *", "*/20 * * * * *"]))
        .expect("cron")
}

fn zone(entropy: &mut SeededEntropy) -> Zone {
    pick(entropy, &["UTC", "Europe/Berlin", "Asia/Kolkata"]).parse().expect("a zone")
}

fn spec(entropy: &mut SeededEntropy, now: Timestamp) -> ScheduleSpec {
    let minutes = i64::try_from(below(entropy, 180)).unwrap_or(0) - 90;
    let anchor = now.saturating_add_millis(minutes * MINUTE_MS);
    let (interval, zone) = (span(entropy), zone(entropy));
    let rule = match below(entropy, 3) {
        0 => Rule::cron(cron(entropy), zone, anchor),
        1 => Rule::every(anchor, interval, zone, First::AfterInterval).expect("a rule"),
        _ => Rule::every(anchor, interval, zone, First::AtAnchor).expect("a rule"),
    };
    let context = ScheduleInput::Context(Json::parse("{\"n\":1}").expect("JSON"));
    let overlaps = [Overlap::Skip, Overlap::QueueOne, Overlap::Allow, Overlap::CancelPrevious];
    ScheduleSpec {
        definition: "run".to_owned(),
        version: 1,
        start: None,
        subject: None,
        label: None,
        rule,
        max_runs: pick(entropy, &[None, Some(3), Some(12)]),
        overlap: pick(entropy, &overlaps),
        catch_up: pick(entropy, &[CatchUp::Coalesce, CatchUp::Skip, CatchUp::All]),
        input: pick(entropy, &[ScheduleInput::default(), ScheduleInput::default(), context]),
        anchored: true,
        is_binding: false,
    }
}

fn change(entropy: &mut SeededEntropy, now: Timestamp) -> ScheduleChange {
    let mut change = ScheduleChange::default();
    match below(entropy, 7) {
        0 => change.interval = Some(span(entropy)),
        1 => change.cron = Some(cron(entropy)),
        2 => change.zone = Some(zone(entropy)),
        3 => change.max_runs = Some(pick(entropy, &[None, Some(5), Some(20)])),
        4 => change.catch_up = Some(pick(entropy, &[CatchUp::All, CatchUp::Skip])),
        5 => change.overlap = Some(pick(entropy, &[Overlap::Allow, Overlap::Skip])),
        _ => {
            let minutes = i64::try_from(below(entropy, 400)).unwrap_or(0) - 200;
            change.start_at = Some(now.saturating_add_millis(minutes * MINUTE_MS));
        }
    }
    change
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let mut sim = SimKernel::with_probes(Arc::new(MemoryStore::new()), "probe run\nend\n");
        let spec = spec(&mut entropy, sim.now().engine);
        let story = vec![format!("{seed}: {spec:?}")];
        let (spec, on_existing) = (Box::new(spec), OnExisting::AddAnother);
        let (_, status) = sim.call(Command::PutSchedule { spec, on_existing }, Wait::Quiet);
        let CallStatus::Answered(Ok(Reply::Scheduled { schedule })) = status else {
            panic!("{status:?}")
        };
        Self { entropy, sim, schedule, story }
    }

    fn row(&self) -> InstanceRow {
        let row = block_on(self.sim.store.instance(self.schedule)).expect("readable");
        row.expect("a schedule")
    }

    fn view(&self) -> Option<ScheduleView> {
        let row = self.row();
        if row.phase.is_ended() { None } else { ScheduleView::of_instance(&row) }
    }

    /// Ledger rows with the outcome `started`.
    fn started(&self) -> Vec<OccurrenceRow> {
        let page = Page::first(usize::MAX);
        let rows = block_on(self.sim.store.occurrences(self.schedule, page)).expect("readable");
        rows.into_iter().filter(|it| it.occurrence.outcome == OccurrenceOutcome::Started).collect()
    }

    fn filled(&self, view: &ScheduleView) -> BTreeSet<Timestamp> {
        let occurrences = self.started().into_iter().map(|row| row.occurrence.scheduled_at);
        occurrences.filter(|scheduled_at| Some(*scheduled_at) > view.mark).collect()
    }

    fn act(&mut self, action: ScheduleAction) {
        self.story.push(format!("{} {action:?}", self.sim.now().engine));
        let schedule = self.schedule;
        self.sim
            .call(Command::Schedule { schedule, action, audit: AuditInfo::default() }, Wait::Quiet);
    }

    fn edit(&mut self, edit: TimerEdit) {
        let filter = TimerFilter { instance: Some(self.schedule), ..TimerFilter::default() };
        let rows = block_on(self.sim.store.timers(filter, Page::first(1))).expect("readable");
        let Some(timer) = rows.first().map(|row| row.id) else { return };
        self.story.push(format!("{} {edit:?}", self.sim.now().engine));
        let audit = AuditInfo::default();
        self.sim.call(Command::EditTimer { timer, edit, audit }, Wait::Quiet);
    }

    /// Performs a random operation.
    fn interfere(&mut self) {
        let now = self.sim.now().engine;
        let minutes = i64::try_from(below(&mut self.entropy, 150)).unwrap_or(0);
        let later = now.saturating_add_millis(minutes * MINUTE_MS + 17);
        match below(&mut self.entropy, 11) {
            0 => self.act(ScheduleAction::Pause),
            1 | 2 => self.act(ScheduleAction::Resume),
            3 => self.act(ScheduleAction::Trigger),
            4 => {
                let from = now.saturating_add_millis(-minutes * MINUTE_MS);
                let to = pick(&mut self.entropy, &[now, later]);
                self.act(ScheduleAction::Backfill { from, to });
            }
            5 | 6 => {
                let change = change(&mut self.entropy, now);
                self.act(ScheduleAction::Change(Box::new(change)));
            }
            7 => self.edit(TimerEdit::Freeze),
            8 => self.edit(TimerEdit::Release),
            9 => {
                let edit = pick(&mut self.entropy, &[TimerEdit::Move(later), TimerEdit::Fire]);
                self.edit(edit);
            }
            _ => {
                self.story.push(format!("{now} down until {later}"));
                self.sim.stop_until(later);
            }
        }
    }

    fn pass(&mut self, most_minutes: u64) {
        let ms = i64::try_from(below(&mut self.entropy, most_minutes * 60_000)).unwrap_or(0);
        let to = self.sim.now().engine.saturating_add_millis(ms + 1);
        self.sim.advance_to(to);
    }

    /// Reads the forecast, lets the time pass, and compares.
    fn check(&mut self) -> usize {
        let from = self.sim.now().engine;
        let hours = i64::try_from(1 + below(&mut self.entropy, 60)).unwrap_or(1);
        let to = from.saturating_add_millis(hours * 10 * MINUTE_MS);
        let limits = Limits::default();
        let view = self.view();
        let mut foreseen: Vec<Fire> = Vec::new();
        let mut paged = 0;
        if let Some(view) = &view {
            let filled = self.filled(view);
            let outlook = Outlook::new(view, from, &filled, &limits);
            foreseen.extend(outlook.fires(from, to));
            self.counts(&outlook, from, to, &foreseen);
            paged = pages(self.schedule, &outlook, from, to);
        }
        self.sim.advance_to(to.saturating_add_millis(-1));
        let fired = self.started().into_iter().filter(|row| row.decided_at >= from);
        let fired =
            fired.map(|row| Fire { at: row.decided_at, scheduled_at: row.occurrence.scheduled_at });
        let mut fired: Vec<Fire> = fired.collect();
        fired.sort_unstable();
        let story = || format!("{}\nat {from} until {to}: {view:?}", self.story.join("\n"));
        assert_eq!(foreseen, fired, "forecast and fired\n{}", story());
        assert_eq!(paged, fired.len(), "pages lose or repeat some\n{}", story());
        fired.len()
    }

    /// The counts agree with the listed entries, in the whole window and in parts of it.
    fn counts(&self, outlook: &Outlook<'_>, from: Timestamp, to: Timestamp, foreseen: &[Fire]) {
        let count = u64::try_from(foreseen.len()).unwrap_or(u64::MAX);
        assert_eq!(outlook.count(from, to), count, "{}", self.story.join("\n"));
        for bucket_ms in [7 * MINUTE_MS, 3_600_000] {
            let mut buckets = Buckets::new(from, to, bucket_ms);
            buckets.add_schedule(outlook);
            for (begin, count) in buckets.finish() {
                let end = begin.saturating_add_millis(bucket_ms).min(to);
                let inside = foreseen.iter().filter(|fire| begin <= fire.at && fire.at < end);
                assert_eq!(inside.count(), usize::try_from(count).unwrap_or(0), "{begin}");
            }
        }
    }
}

/// The number of entries on all pages of a forecast together; each entry occurs once.
fn pages(schedule: InstanceId, outlook: &Outlook<'_>, from: Timestamp, to: Timestamp) -> usize {
    let (mut seen, mut after) = (BTreeSet::new(), None);
    loop {
        let mut page = Forecast::new(from, to, after, 7);
        page.add_schedule(schedule, outlook, "run");
        let (entries, more) = page.finish();
        after = entries.last().map(|(key, _)| *key);
        for (key, _) in entries {
            assert!(seen.insert(key), "{key:?} comes twice");
        }
        if !more {
            return seen.len();
        }
    }
}

#[test]
fn o3_what_is_forecast_is_what_fires_whatever_was_done_before() {
    let mut fired = 0;
    for seed in 0..600 {
        let mut case = Case::new(seed);
        for _ in 0..below(&mut case.entropy, 8) {
            case.pass(120);
            case.interfere();
        }
        case.pass(1);
        fired += case.check();
        case.pass(1);
        fired += case.check();
    }
    assert!(fired > 5_000, "{fired} runs say little");
}
