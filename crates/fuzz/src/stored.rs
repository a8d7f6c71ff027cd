//! Stored bytes: packed rows, saved schedules, and the log that an ended process left.
//!
//! Seeds of packed rows are valid bytes, written as hexadecimal digits so that a case can be shown
//! and mutated as a text; its bytes are then damaged once more.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};

use meantime_core::{
    Answer, Channel, Cx, Definition, EffectKey, Event, InstanceId, Json, Limits, Notation as _,
    Outcome, ParentClose, Start, StartCause, State, TaskKind, Timestamp,
};
use meantime_kernel::history::{AuditInfo, CancelCause, Edit, Record, pack, unpack};
use meantime_kernel::open::{Key, Open, OpenSubscription, OpenTask, OpenTimer};
use meantime_kernel::schedule::{ScheduleNotation, ScheduleView, schedule_source};
use meantime_kernel::store::{InstanceMeta, Lineage, StartedBy, TimerKind};
use meantime_store::sqlite::fuzz::{WalSummary, log_of_transactions, read_log};

use crate::case_random::CaseRandom;
use crate::mutate::corrupt_bytes;

/// Specifications of schedules.
const SCHEDULES: &[&str] = &[
    r#"{"definition":"main","version":1,"rule":{"kind":"every","anchor":"2026-01-01T00:00:00Z","interval":"PT10S","zone":"UTC","first":"after_interval"},"maxRuns":3,"overlap":"allow","catchUp":"all","input":{"input":null}}"#,
    r#"{"definition":"main","version":1,"rule":{"kind":"cron","cron":"0 2 * * *","zone":"Europe/Berlin","from":"2026-01-01T00:00:00Z"},"overlap":"queue","catchUp":"coalesce","input":{"context":{"a":[1]}}}"#,
    r#"{"definition":"main","version":1,"start":"later","rule":{"kind":"once","at":"2026-01-01T02:00:00Z"},"overlap":"skip","catchUp":"skip","input":{"input":{"b":"x"}}}"#,
];

/// Numbers of frames of the longest log that a case writes.
const MAX_FRAMES: usize = 40;

pub(crate) fn row_seeds() -> Vec<String> {
    let (parent, at) = (InstanceId::new(7, 9).effect(3, 1), Timestamp::from_millis(1_767_225_600));
    let timer = OpenTimer { due_at: at, kind: TimerKind::Element, frozen: false };
    let task = OpenTask { kind: TaskKind::Worker, detached: true };
    let channel = Channel::Signal { name: "go".to_owned() };
    let open = Open {
        timers: BTreeMap::from([(Key::DEADLINE, timer), (Key(2, 3), timer)]),
        tasks: BTreeMap::from([(Key(2, 4), task)]),
        subscriptions: BTreeMap::from([(Key(2, 5), OpenSubscription { channel, seq: 8 })]),
        children: 2,
        ..Open::default()
    };
    let meta = InstanceMeta {
        lineage: Some(Lineage {
            parent,
            root: InstanceId::new(1, 2),
            depth: 3,
            catches: vec!["CODE".to_owned()],
            close: ParentClose::Detach,
            hands_on: true,
            is_abandoned: false,
        }),
        tags: vec!["a".to_owned(), "é".to_owned()],
        ops: 70_000,
        outcome: Some(Outcome::Completed { output: Json::null(), context: Json::text("x") }),
        started_by: Some(StartedBy {
            name: "order".to_owned(),
            key: "k".to_owned(),
            others: Vec::new(),
        }),
        awaited_at: Some(vec![1, 2]),
        summary: Json::parse("{\"a\":[1.5e300]}").ok(),
        ..InstanceMeta::default()
    };
    let audit = Some(AuditInfo { actor: "operator".to_owned(), reason: "late".to_owned() });
    let (kind, element) = (TimerKind::Element, "wait".to_owned());
    let records = vec![
        Record::Started { cause: StartCause::Api, input: Json::text("input") },
        Record::TimerArmed { key: parent, kind, element, due_at: at },
        Record::TimerEdited {
            key: parent,
            kind,
            edit: Edit::Moved,
            from: at,
            to: at,
            audit: audit.clone().unwrap_or_default(),
        },
        Record::TimerFired { key: parent, kind, due_at: at, audit },
        Record::TimerCancelled { key: parent, kind, due_at: at, cause: CancelCause::ScopeLeft },
    ];
    let mut rows = vec![open.to_bytes(), encode(&meta), pack(&records)];
    rows.extend(SCHEDULES.iter().filter_map(|spec| started_schedule(spec)));
    rows.iter().map(|bytes| to_hex(bytes)).collect()
}

/// Whatever the bytes are, a decoder ends with a value or an error, and a value that was read is
/// written so that it is read again.
pub(crate) fn fuzz_row(text: &str, random: &mut CaseRandom) {
    let bytes = corrupt_bytes(&from_hex(text), random);
    if let Ok(open) = Open::from_bytes(&bytes) {
        let _ = (open.deadline(), open.is_idle(), open.has_no_work());
        again(&open, &Open::from_bytes(&open.to_bytes()));
    }
    if let Ok(meta) = minicbor::decode::<InstanceMeta>(&bytes) {
        again(&meta, &minicbor::decode(&encode(&meta)));
    }
    if let Ok(records) = unpack(&bytes) {
        again(&records, &unpack(&pack(&records)));
    }
    advance_schedule(bytes, random);
}

fn again<T: Debug + PartialEq, E: Debug>(value: &T, read: &Result<T, E>) {
    assert!(read.as_ref().is_ok_and(|it| it == value), "{value:?} is read again as {read:?}");
}

fn encode<T: minicbor::Encode<()>>(value: &T) -> Vec<u8> {
    minicbor::to_vec(value).unwrap_or_default()
}

fn schedule() -> Option<Definition> {
    let compiled = ScheduleNotation.compile(&schedule_source(), &Limits::default());
    compiled.definitions.into_iter().next()
}

fn cx(limits: &Limits, turn_no: u64) -> Cx<'_> {
    let now = Timestamp::parse("2026-01-31T10:00:00Z").unwrap_or_default();
    Cx {
        now,
        turn_no,
        instance: InstanceId::new(1, 1),
        version: 1,
        started_at: now,
        deadline: None,
        key: None,
        catches: &[],
        limits,
    }
}

fn started_schedule(spec: &str) -> Option<Vec<u8>> {
    let limits = Limits::default();
    let start = Start::new(StartCause::Api, Json::parse(spec).ok()?);
    let turn = ScheduleNotation.start(&schedule()?, &start, &cx(&limits, 1)).ok()?;
    Some(turn.state.bytes.to_vec())
}

/// Gives events to a schedule whose state may be damaged.
fn advance_schedule(bytes: Vec<u8>, random: &mut CaseRandom) {
    let (limits, Some(definition)) = (Limits::default(), schedule()) else { return };
    let mut state = State::new(1, bytes);
    for turn_no in 2..6 {
        let _ = ScheduleNotation.inspect(&definition, &state);
        let Some(view) = ScheduleView::read(&state) else { return };
        let _ = (view.runs_left(), view.next_at());
        let key: EffectKey = InstanceId::new(1, 1).effect(turn_no - 1, 0);
        let due_at = view.next_at().unwrap_or_default();
        let span = "[\"2025-01-01T00:00:00Z\",\"2026-01-01T00:00:00Z\"]";
        let submitted = |step: &str, payload: &str| Event::Submitted {
            step: step.to_owned(),
            payload: Json::parse(payload).unwrap_or_default(),
            request_bindings: None,
        };
        let mut events = vec![
            Event::TimerFired { key, due_at },
            submitted("trigger", "null"),
            submitted("backfill", span),
            submitted("pause", "null"),
            submitted("resume", "null"),
            submitted("change", "{\"maxRuns\":2}"),
            Event::EffectDone { key, answer: Answer::Conflict { code: "key_taken".to_owned() } },
            Event::Continue,
        ];
        for _ in 0..random.below(8) {
            let at = random.below(events.len());
            events.swap_remove(at);
        }
        match ScheduleNotation.advance(&definition, &state, &events, &cx(&limits, turn_no)) {
            Ok(turn) => state = turn.state,
            Err(_) => return,
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads pairs of digits; everything else is skipped.
fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(16)).collect();
    let byte = |pair: &[u32]| u8::try_from(pair.iter().fold(0, |sum, it| sum * 16 + it)).ok();
    digits.chunks_exact(2).filter_map(byte).collect()
}

pub(crate) fn log_seeds() -> Vec<String> {
    ["1", "1 3 2", "2 2 2 2", "5", "1 1 1 1 1 1 1 1"].map(str::to_owned).to_vec()
}

/// Writes a log with transactions of as many frames as the numbers of the text say, and damages it.
pub(crate) fn fuzz_log(text: &str, random: &mut CaseRandom) {
    let mut left = MAX_FRAMES;
    let mut transactions = Vec::new();
    for number in text.split_whitespace().filter_map(|it| it.parse::<usize>().ok()) {
        let frames = number.min(left);
        left -= frames;
        transactions.extend((frames > 0).then_some(frames));
    }
    let log = log_of_transactions(&transactions);
    let frames: usize = transactions.iter().sum();
    let whole = read_log(&log);
    assert_eq!(whole.valid_frames, u64::try_from(frames).unwrap_or_default(), "nothing is damaged");
    assert!(whole.damage.is_none() && !whole.has_tail, "{whole:?}");
    let cut = log.get(..random.below(log.len() + 1)).unwrap_or_default();
    assert_eq!(read_log(cut).damage, None, "a log that ends early has lost nothing of its start");
    let damaged = corrupt_bytes(&log, random);
    let WalSummary { valid_frames, .. } = read_log(&damaged);
    let most = damaged.len() / FRAME_BYTES;
    assert!(valid_frames <= u64::try_from(most).unwrap_or_default(), "{valid_frames} of {most}");
    // Nothing but noise.
    let _ = read_log(&corrupt_bytes(text.as_bytes(), random));
}

/// The smallest frame: its header and a page of 512 bytes.
const FRAME_BYTES: usize = 24 + 512;
