//! Schedules at scale, and preview, forecast and firing compared with each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::time::{Cron, First, Rule, Span, Zone};
use meantime_core::{
    CatchUp, Cx, Effect, Event, InstanceId, Json, Limits, Notation, OnExisting, Overlap,
    ScheduleInput, ScheduleSpec, Start, StartCause, State, Timestamp,
};
use meantime_kernel::command::{Command, Reply};
use meantime_kernel::random::{Entropy, SeededEntropy};
use meantime_kernel::schedule::{
    Forecast, Outlook, ScheduleNotation, ScheduleView, schedule_source,
};
use meantime_kernel::store::{InstanceFilter, MemoryStore, Page, Phase, Store};
use meantime_sim::harness::{CallStatus, SimKernel, block_on};
use meantime_store::sqlite::{Options, SqliteStore};

const START: &str = "2026-01-01T00:00:00Z";

fn start() -> Timestamp {
    Timestamp::parse(START).expect("an instant")
}

fn spec(rule: Rule) -> ScheduleSpec {
    ScheduleSpec {
        definition: "run".to_owned(),
        version: 1,
        start: None,
        subject: None,
        label: None,
        rule,
        max_runs: None,
        overlap: Overlap::Allow,
        catch_up: CatchUp::Coalesce,
        input: ScheduleInput::default(),
        anchored: true,
        is_binding: false,
    }
}

/// A random but realistic rule.
fn random_rule(entropy: &mut SeededEntropy) -> Rule {
    const ZONES: [&str; 5] =
        ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];
    let mut pick = |count: u64| entropy.next() % count;
    let zone: Zone = ZONES[usize::try_from(pick(5)).unwrap_or(0)].parse().expect("a zone");
    let ms = i64::try_from(pick(400 * 86_400_000)).unwrap_or(0);
    let anchor = start().saturating_add_millis(ms - 30 * 86_400_000);
    if pick(2) == 0 {
        let text = match pick(6) {
            0 => format!("PT{}M", 1 + pick(300)),
            1 => format!("PT{}H", 1 + pick(50)),
            2 => format!("P{}D", 1 + pick(20)),
            3 => format!("P{}W", 1 + pick(5)),
            4 => format!("P{}M", 1 + pick(13)),
            _ => format!("P{}DT{}H", pick(3), 1 + pick(23)),
        };
        let (interval, first) = (Span::parse(&text).expect("a span"), First::AtAnchor);
        Rule::Every { anchor, interval, zone, first, count: None, until: None }
    } else {
        let hour = ["*", "*/3", "2", "0,12", "1-3"][usize::try_from(pick(5)).unwrap_or(0)];
        let day = ["*", "1", "15", "L", "31"][usize::try_from(pick(5)).unwrap_or(0)];
        let text = format!("{} {hour} {day} * *", pick(60));
        Rule::cron(Cron::parse(&text).expect("cron"), zone, anchor)
    }
}

fn cx(now: Timestamp, turn_no: u64, limits: &Limits) -> Cx<'_> {
    let instance = InstanceId::new(1, 1);
    let (deadline, key, catches) = (None, None, &[] as &[String]);
    Cx { now, turn_no, instance, version: 1, started_at: now, deadline, key, catches, limits }
}

/// Runs a schedule by its own timers and returns the occurrences that it started, in order.
fn fired(spec: &ScheduleSpec, count: usize) -> (State, Vec<Timestamp>) {
    let (notation, limits) = (ScheduleNotation, Limits::default());
    let definition = notation.compile(&schedule_source(), &limits).definitions.remove(0);
    let input = Json::of(spec).expect("a schedule is JSON");
    let begin = Start::new(StartCause::Api, input);
    // Long before the first occurrence, so that none is missed.
    let mut now = Timestamp::parse("2020-01-01T00:00:00Z").expect("an instant");
    let mut turn = notation.start(&definition, &begin, &cx(now, 1, &limits)).expect("it starts");
    let first = turn.state.clone();
    let mut occurrences = Vec::new();
    for turn_no in 2.. {
        let timer = turn.effects.iter().enumerate().find_map(|(place, effect)| match effect {
            Effect::StartTimer { due_at, .. } => Some((place, *due_at)),
            _ => None,
        });
        let Some((place, due_at)) = timer.filter(|_| occurrences.len() < count) else { break };
        let key = cx(now, turn_no - 1, &limits).key_of(place);
        now = now.max(due_at);
        let events = [Event::TimerFired { key, due_at }];
        let cx = cx(now, turn_no, &limits);
        turn = notation.advance(&definition, &turn.state, &events, &cx).expect("it advances");
        occurrences.extend(turn.effects.iter().filter_map(|effect| match effect {
            Effect::StartChild(child) => child.scheduled_at,
            _ => None,
        }));
    }
    (first, occurrences)
}

#[test]
fn o3_preview_forecast_and_firing_agree_on_ten_thousand_rules() {
    let mut entropy = SeededEntropy::new(7);
    for number in 0..10_000 {
        let spec = spec(random_rule(&mut entropy));
        let (state, occurrences) = fired(&spec, 4);
        let view = ScheduleView::read(&state).expect("a schedule");
        let (filled, limits) = (BTreeSet::new(), Limits::default());
        let preview = view.preview(Timestamp::MIN, &filled, &limits, occurrences.len());
        assert_eq!(preview, occurrences, "rule {number}: {spec:?}");
        let (Some(from), Some(last)) = (occurrences.first(), occurrences.last()) else { continue };
        let to = last.saturating_add_millis(1);
        let outlook = Outlook::new(&view, Timestamp::MIN, &filled, &limits);
        let mut page = Forecast::new(*from, to, None, 100);
        page.add_schedule(InstanceId::new(1, 1), &outlook, "run");
        let (due, _) = page.finish();
        let foreseen: Vec<Timestamp> = due.iter().map(|(key, _)| key.at).collect();
        assert_eq!(foreseen, occurrences, "rule {number}: {spec:?}");
        assert_eq!(
            usize::try_from(outlook.count(*from, to)),
            Ok(occurrences.len()),
            "rule {number}"
        );
    }
}

/// A thousand subjects whose first occurrence is in the same minute; returns the number of commits.
fn thousand_subjects(store: Arc<dyn Store>, crash_after: Option<u64>) -> u64 {
    let sim = SimKernel::with_probes(store, "probe run\nend\n");
    let mut sim = sim.crash_after(crash_after);
    let hour = Span::parse("PT1H").expect("a span");
    let at = start().saturating_add_millis(3_600_000);
    let rule = Rule::every(at, hour, Zone::utc(), First::AtAnchor).expect("an interval");
    let commands = (0..1_000).map(|number| {
        let spec = ScheduleSpec { subject: Some(format!("s{number}")), ..spec(rule.clone()) };
        Command::PutSchedule { spec: Box::new(spec), on_existing: OnExisting::Fail }
    });
    sim.call_all(commands.collect());
    sim.advance_to(at);
    let all = InstanceFilter::default();
    let rows = block_on(sim.store.instances(all, Page::first(usize::MAX))).expect("readable");
    let mut started = BTreeMap::new();
    let mut subjects = BTreeSet::new();
    for row in rows.iter().filter(|row| row.meta.lineage.is_none() && !row.phase.is_ended()) {
        let view = ScheduleView::read(&row.state).expect("a schedule");
        subjects.insert(view.spec.subject.clone());
        let lines = block_on(sim.store.occurrences(row.id, Page::first(10))).expect("readable");
        started
            .insert(row.id, lines.iter().map(|it| it.occurrence.scheduled_at).collect::<Vec<_>>());
    }
    assert_eq!(subjects.len(), 1_000);
    assert!(
        started.values().all(|occurrences| *occurrences == [at]),
        "each subject has its one run"
    );
    let runs = rows.iter().filter(|row| row.meta.lineage.is_some());
    let phases: Vec<Phase> = runs.map(|row| row.phase).collect();
    assert_eq!(phases, vec![Phase::Completed; 1_000]);
    sim.commits()
}

#[test]
fn s2_a_thousand_subjects_at_one_instant_start_once_each_across_crashes() {
    let commits = thousand_subjects(Arc::new(MemoryStore::new()), None);
    for part in 1..=6 {
        thousand_subjects(Arc::new(MemoryStore::new()), Some(commits * part / 7));
    }
}

#[test]
fn s2_a_thousand_subjects_at_one_instant_on_sqlite() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("meantime.db");
    let store = Arc::new(SqliteStore::open(path, Options::default()).expect("a new store"));
    thousand_subjects(store.clone(), None);
    assert_eq!(block_on(store.check()).expect("readable"), Vec::<String>::new());
}

/// All occurrences of a schedule over ten years, with real runs.
fn ten_years(rule: Rule) -> Vec<Timestamp> {
    let mut sim = SimKernel::with_probes(Arc::new(MemoryStore::new()), "probe run\nend\n");
    let (spec, on_existing) = (Box::new(spec(rule)), OnExisting::AddAnother);
    let command = Command::PutSchedule { spec, on_existing };
    let (_, status) = sim.call(command, meantime_kernel::command::Wait::Quiet);
    let CallStatus::Answered(Ok(Reply::Scheduled { schedule })) = status else {
        panic!("{status:?}")
    };
    sim.advance_to(Timestamp::parse("2036-01-01T00:00:00Z").expect("an instant"));
    let lines = block_on(sim.store.occurrences(schedule, Page::first(usize::MAX)));
    let mut occurrences: Vec<Timestamp> =
        lines.expect("readable").iter().map(|line| line.occurrence.scheduled_at).collect();
    occurrences.reverse();
    occurrences
}

#[test]
fn s1_month_ends_over_ten_years() {
    let anchor = Timestamp::parse("2026-01-31T09:00:00Z").expect("an instant");
    let month = Span::parse("P1M").expect("a span");
    let rule = Rule::every(anchor, month, Zone::utc(), First::AtAnchor).expect("a rule");
    let occurrences = ten_years(rule);
    assert_eq!(occurrences.len(), 120);
    for (number, scheduled_at) in occurrences.iter().enumerate() {
        // It is the last day of its month: the next day is the first of a month.
        let next = scheduled_at.saturating_add_millis(86_400_000).to_string();
        assert_eq!(&next[8..], "01T09:00:00Z", "occurrence {number} is {scheduled_at}");
    }
}

#[test]
fn s13_sundays_across_clock_changes_over_ten_years() {
    let zones = [
        ("Europe/Berlin", 20),
        ("America/New_York", 20),
        ("Australia/Lord_Howe", 20),
        ("Pacific/Auckland", 20),
        ("Asia/Kolkata", 0),
    ];
    for (name, expected) in zones {
        let zone: Zone = name.parse().expect("a zone");
        let cron = Cron::parse("30 2 * * SUN").expect("cron");
        let occurrences = ten_years(Rule::cron(cron, zone, start()));
        assert!((521..=522).contains(&occurrences.len()), "{name}: {} Sundays", occurrences.len());
        let (week, hour) = (7 * 86_400_000, 3_600_000);
        let changes = occurrences.windows(2).filter(|pair| {
            let shift = (pair[1].saturating_since(pair[0]) - week).abs();
            assert!(shift <= hour, "{name}: {} then {}", pair[0], pair[1]);
            shift > 0
        });
        // An occurrence that was moved out of a gap counts twice: before and after it.
        let count = changes.count();
        assert!(count >= expected && (expected > 0 || count == 0), "{name}: {count} changes");
    }
}
