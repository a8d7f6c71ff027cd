//! Rows with defaults, stores in their own databases, and blocking calls, for the tests.

use std::sync::Arc;

use meantime_core::{
    DefinitionId, Event, InstanceId, Json, State, TaskId, TaskSpec, TimerId, Timestamp,
};
use meantime_kernel::history::Record;
use meantime_kernel::store::{
    Accept, ChannelKey, ConditionalWrite, Error, Fence, FetchRequest, Fetched, HistoryRow,
    InboxRow, InstanceRow, MessageRow, Phase, Plan, Store, SubscriptionRow, TaskRow, TimerKind,
    TimerRow, Unit, UnitResult, Wanted, Write,
};
use meantime_store::conformance::block_on;
use meantime_store::postgres::cluster::{Database, database};
use meantime_store::postgres::{LeaseClock, Options, PostgresStore};

pub(crate) const NOW: Timestamp = Timestamp::from_millis(5_000_000);

/// A database for one test.
pub(crate) fn fresh_database() -> Database {
    database().expect("PostgreSQL")
}

pub(crate) fn open(options: Options) -> PostgresStore {
    block_on(PostgresStore::open(options)).expect("it opens")
}

/// A store that uses the database exclusively.
pub(crate) fn alone(database: &Database) -> PostgresStore {
    open(Options { shared: false, ..database.options() })
}

/// A node that shares the database and holds a lease; the test gives it the time.
pub(crate) fn node(database: &Database) -> PostgresStore {
    let store = open(Options { lease_clock: LeaseClock::Caller, ..database.options() });
    block_on(store.renew_lease(NOW)).expect("there is a node_lease");
    store
}

pub(crate) fn id(number: u64) -> InstanceId {
    InstanceId::new(number << 15, number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(crate) fn instance(number: u64) -> InstanceRow {
    let state = State::new(1, b"state".as_slice());
    let row = InstanceRow::accepted(id(number), DefinitionId(1), NOW);
    InstanceRow { turn_no: 1, phase: Phase::Running, state, ..row }
}

pub(crate) fn next(row: &InstanceRow) -> InstanceRow {
    InstanceRow { turn_no: row.turn_no + 1, ..row.clone() }
}

pub(crate) fn start(row: &InstanceRow) -> Unit {
    Unit { fence: Fence::Insert(Arc::new(row.clone())), ..Unit::default() }
}

/// The turn that leads to the row.
pub(crate) fn turn(row: &InstanceRow) -> Unit {
    let fence = Fence::Turn { row: Arc::new(row.clone()), expected: row.turn_no - 1 };
    Unit { fence, ..Unit::default() }
}

pub(crate) fn task(number: u64) -> TaskRow {
    let spec = TaskSpec::worker("mail", "send", Json::null());
    TaskRow::ready(TaskId(id(number).effect(1, 0)), spec, DefinitionId(1), NOW)
}

pub(crate) fn timer(number: u64, due: i64) -> TimerRow {
    TimerRow {
        id: TimerId(id(number).effect(1, 1)),
        due_at: NOW.saturating_add_millis(due),
        frozen: false,
        kind: TimerKind::Element,
        definition: DefinitionId(1),
        element: "wait".to_owned(),
    }
}

pub(crate) fn history(number: u64, seq: u64) -> HistoryRow {
    let key = id(number).effect(1, 0);
    let record = Record::TimerFired { key, kind: TimerKind::Element, due_at: NOW, audit: None };
    HistoryRow {
        seq,
        instance: id(number),
        turn_no: 1,
        at: NOW,
        previous: 0,
        records: vec![record],
    }
}

pub(crate) fn event(number: u64, seq: u64) -> InboxRow {
    let event = Event::Cancel { reason: "enough".to_owned() };
    InboxRow { instance: id(number), seq, at: NOW, event, origin: None, held: None }
}

pub(crate) fn publish(name: &str, key: &str, seq: u64) -> Unit {
    let channel = ChannelKey::message(name, key);
    let had = Vec::new();
    let message = MessageRow { channel, seq, payload: Json::null(), expires_at: None, had };
    let accept = Accept { ids: vec![id(1_000_000 + seq)], seq: 2_000_000 + seq };
    let ask = ConditionalWrite::Publish { message, id: None, accept };
    Unit { conditional_writes: vec![ask], ..Unit::default() }
}

pub(crate) fn subscribe(number: u64, name: &str, key: &str, seq: u64) -> Unit {
    let channel = ChannelKey::message(name, key);
    let effect = id(number).effect(1, 0);
    let definition = "waiter".to_owned();
    let subscription = SubscriptionRow { channel, seq, key: effect, definition };
    Unit {
        conditional_writes: vec![ConditionalWrite::Subscribe {
            subscription,
            seq: 3_000_000 + seq,
        }],
        ..Unit::default()
    }
}

pub(crate) fn try_commit(
    store: &dyn Store,
    fetched: Fetched,
    batch: u64,
    units: Vec<Unit>,
) -> Result<Vec<UnitResult>, Error> {
    block_on(store.commit(fetched, Plan { batch, now: NOW, units, lease_term: None }))
}

/// Commits units that must all take effect.
pub(crate) fn commit(store: &dyn Store, batch: u64, units: Vec<Unit>) {
    let results = try_commit(store, Fetched::default(), batch, units).expect("it commits");
    let done = results.iter().all(|result| matches!(result, UnitResult::Done(_)));
    assert!(done, "{results:?}");
}

/// Fetches instances for their turns.
pub(crate) fn fetch(store: &dyn Store, numbers: &[u64]) -> Fetched {
    let wanted = |number: &u64| Wanted { id: id(*number), row: true, inbox: true };
    let instances = numbers.iter().map(wanted).collect();
    let request = FetchRequest { now: NOW, instances, inbox_limit: 9, ..FetchRequest::default() };
    block_on(store.fetch(request)).expect("it can be fetched")
}

pub(crate) fn turn_of(store: &dyn Store, number: u64) -> Option<u64> {
    block_on(store.instance(id(number))).expect("it can be read").map(|row| row.turn_no)
}

/// One instance with a task, a timer, an event and a row of history.
pub(crate) fn full(number: u64) -> Unit {
    Unit {
        writes: vec![
            Write::InsertTask(Box::new(task(number))),
            Write::InsertTimer(timer(number, i64::try_from(number % 7).unwrap_or_default())),
            Write::History(history(number, number)),
            Write::PutInbox(Box::new(event(number, number))),
        ],
        ..start(&instance(number))
    }
}

pub(crate) fn deploy(name: &str) -> ConditionalWrite {
    let row = meantime_kernel::store::DefinitionRow {
        id: DefinitionId(0),
        name: name.to_owned(),
        version: 0,
        notation: "flow".to_owned(),
        label: None,
        hash: name.to_owned(),
        deployed_at: NOW,
        source_name: String::new(),
        source: name.into(),
        files: Vec::new(),
        triggers: Vec::new(),
        retired: false,
        paused: None,
    };
    let accept = Accept::default();
    ConditionalWrite::Deploy(Box::new(meantime_kernel::store::NewDefinition { row, accept }))
}

/// Runs a query on another connection and returns the numbers of its first row.
pub(crate) fn query(url: &str, sql: &str) -> Vec<i64> {
    let (url, sql) = (url.to_owned(), sql.to_owned());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async move {
        let (client, io) =
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("it connects");
        let io = tokio::spawn(io);
        let rows = client.query(&sql, &[]).await.expect("it can be asked");
        let columns = |row: &tokio_postgres::Row| {
            (0..row.len()).map(|column| row.get::<_, i64>(column)).collect::<Vec<_>>()
        };
        let numbers = rows.iter().flat_map(columns).collect();
        io.abort();
        numbers
    })
}

/// Runs a statement in a transaction that stays open until the returned value is dropped.
pub(crate) fn hold_lock(url: &str, sql: &str) -> tokio::runtime::Runtime {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sql = format!("BEGIN; {sql}");
    runtime.block_on(async {
        let (client, io) =
            tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("it connects");
        tokio::spawn(io);
        client.batch_execute(&sql).await.expect("it is locked");
        // The connection ends with its client.
        tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(client);
        });
    });
    runtime
}

/// The number of stored messages of a channel, and the number of subscriptions.
pub(crate) fn sides(database: &Database, channel: &ChannelKey) -> (i64, i64) {
    let of = format!("WHERE name = '{}' AND key = '{}'", channel.name, channel.key);
    let sql = format!(
        "SELECT (SELECT count(*) FROM message {of} AND had = ''), \
         (SELECT count(*) FROM subscription {of})"
    );
    let counts = query(database.url(), &sql);
    (counts[0], counts[1])
}
