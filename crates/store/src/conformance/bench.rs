//! Helpers for cases: rows with defaults, and a store that is called synchronously.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use meantime_core::{
    DefinitionId, Event, IncidentId, InstanceId, Json, State, TaskId, TaskSpec, TimerId, Timestamp,
    Trigger,
};
use meantime_kernel::store::{
    Accept, ClaimQuery, ConditionalWrite, DefinitionRow, Error, Fence, FetchRequest, Fetched,
    InboxRow, InstanceRow, NewDefinition, Partition, Phase, Plan, Recovered, Store, TaskRow,
    TimerKind, TimerRow, Unit, UnitDone, UnitResult, Wanted, Write,
};

/// The time of the cases.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_000_000);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future to its end on this thread, without an async runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A store under test.
pub(super) struct Bench<'a> {
    pub(super) store: &'a dyn Store,
}

impl<'a> Bench<'a> {
    pub(super) fn new(store: &'a dyn Store) -> Self {
        Self { store }
    }

    /// Waits for an answer that must not be an error.
    #[expect(clippy::unused_self, reason = "so that cases read as calls of the bench")]
    pub(super) fn get<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> T {
        block_on(answer).expect("the store answers")
    }

    /// Commits units together, with the next batch number.
    pub(super) fn commit_at(&self, now: Timestamp, units: Vec<Unit>) -> Vec<UnitResult> {
        let batch = self.recover().batch + 1;
        let plan = Plan { batch, now, units, lease_term: None };
        self.get(self.store.commit(Fetched::default(), plan))
    }

    pub(super) fn commit(&self, units: Vec<Unit>) -> Vec<UnitResult> {
        self.commit_at(NOW, units)
    }

    /// Commits one unit, which must take effect.
    pub(super) fn done_at(&self, now: Timestamp, unit: Unit) -> UnitDone {
        match self.commit_at(now, vec![unit]).pop() {
            Some(UnitResult::Done(done)) => done,
            other => panic!("expected a unit to take effect, got {other:?}"),
        }
    }

    pub(super) fn done(&self, unit: Unit) -> UnitDone {
        self.done_at(NOW, unit)
    }

    /// Writes rows without conditions.
    pub(super) fn write(&self, writes: Vec<Write>) {
        self.done(Unit { writes, ..Unit::default() });
    }

    pub(super) fn apply(&self, apply: ConditionalWrite) -> UnitDone {
        self.done(Unit { conditional_writes: vec![apply], ..Unit::default() })
    }

    pub(super) fn recover(&self) -> Recovered {
        self.get(self.store.recover(Partition::ALL))
    }

    pub(super) fn instance(&self, id: InstanceId) -> Option<InstanceRow> {
        self.get(self.store.instance(id))
    }

    /// The inbox of an instance, without held events.
    pub(super) fn inbox(&self, id: InstanceId) -> Vec<InboxRow> {
        self.inbox_head(id, 1_000)
    }

    pub(super) fn inbox_head(&self, id: InstanceId, inbox_limit: usize) -> Vec<InboxRow> {
        let instances = vec![Wanted { id, row: false, inbox: true }];
        let request = FetchRequest { now: NOW, instances, inbox_limit, ..FetchRequest::default() };
        let fetched = self.get(self.store.fetch(request));
        fetched.instances.into_iter().next().expect("one entry per wanted instance").inbox
    }

    /// Ids of the tasks that a query gets.
    pub(super) fn claim(&self, query: ClaimQuery) -> Vec<TaskId> {
        let claims = vec![query];
        let request = FetchRequest { now: NOW, claims, ..FetchRequest::default() };
        let fetched = self.get(self.store.fetch(request));
        let tasks = fetched.claims.into_iter().next().expect("one list per query");
        tasks.into_iter().map(|task| task.id).collect()
    }

    /// Deploys a definition and returns its number.
    pub(super) fn deploy(&self, name: &str, source: &str, triggers: Vec<Trigger>) -> DefinitionId {
        let done = self.apply(deploy(name, source, triggers));
        done.deployed.first().expect("a deploy answers").0
    }
}

/// An id whose random part uses all bits, so that signs are tested too.
pub(super) fn id(number: u64) -> InstanceId {
    InstanceId::new(number << 15, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn incident_id(number: u64) -> IncidentId {
    IncidentId::new(number, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn at(millis: i64) -> Timestamp {
    NOW.saturating_add_millis(millis)
}

pub(super) fn json(text: &str) -> Json {
    Json::parse(text).expect("cases write good JSON")
}

/// A running instance at turn 1.
pub(super) fn instance(number: u64) -> InstanceRow {
    let state = State::new(1, b"state".as_slice());
    let row = InstanceRow::accepted(id(number), DefinitionId(1), NOW);
    InstanceRow { turn_no: 1, phase: Phase::Running, state, ..row }
}

/// The row at its next turn.
pub(super) fn next(row: &InstanceRow) -> InstanceRow {
    InstanceRow { turn_no: row.turn_no + 1, ..row.clone() }
}

/// The row at its next turn, which ends the instance.
pub(super) fn ended(row: &InstanceRow) -> InstanceRow {
    InstanceRow { phase: Phase::Completed, ended_at: Some(NOW), ..next(row) }
}

pub(super) fn start(row: &InstanceRow) -> Unit {
    Unit { fence: Fence::Insert(Arc::new(row.clone())), ..Unit::default() }
}

/// The unit of the turn that leads to the row.
pub(super) fn turn(row: &InstanceRow) -> Unit {
    let fence = Fence::Turn { row: Arc::new(row.clone()), expected: row.turn_no - 1 };
    Unit { fence, ..Unit::default() }
}

/// A timer of the instance `number`, due so many milliseconds after [`NOW`].
pub(super) fn timer(number: u64, ordinal: u32, due: i64) -> TimerRow {
    TimerRow {
        id: TimerId(id(number).effect(1, ordinal)),
        due_at: at(due),
        frozen: false,
        kind: TimerKind::Element,
        definition: DefinitionId(1),
        element: "wait".to_owned(),
    }
}

/// A task of the instance `number` that can be claimed now.
pub(super) fn task(number: u64, ordinal: u32) -> TaskRow {
    let spec = TaskSpec::worker("mail", "send", json("{\"to\":1}"));
    TaskRow::ready(TaskId(id(number).effect(1, ordinal)), spec, DefinitionId(1), NOW)
}

pub(super) fn insert_task(row: &TaskRow) -> Write {
    Write::InsertTask(Box::new(row.clone()))
}

/// An event for the instance `number`.
pub(super) fn event(number: u64, seq: u64) -> InboxRow {
    let reason = format!("event {seq}");
    let event = Event::Cancel { reason };
    InboxRow { instance: id(number), seq, at: NOW, event, origin: None, held: None }
}

pub(super) fn deploy(name: &str, source: &str, triggers: Vec<Trigger>) -> ConditionalWrite {
    let row = DefinitionRow {
        id: DefinitionId(0),
        name: name.to_owned(),
        version: 0,
        notation: "flow".to_owned(),
        label: None,
        hash: format!("hash of {source}"),
        deployed_at: NOW,
        source_name: format!("{name}.flow"),
        source: source.into(),
        files: Vec::new(),
        triggers,
        retired: false,
        paused: None,
    };
    ConditionalWrite::Deploy(Box::new(NewDefinition { row, accept: Accept::default() }))
}
