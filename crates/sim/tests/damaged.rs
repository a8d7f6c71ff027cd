//! A row that cannot be decoded affects its own instance only: the instance gets an incident, all
//! others continue, also after a restart, and it can be cancelled (I10).

use std::sync::Arc;

use meantime_core::{InstanceId, Json};
use meantime_kernel::command::{ClaimCommand, Command, Error, Reply, Report, StartCommand, Wait};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{
    IncidentCause, IncidentRow, InstanceFilter, InstanceRow, Page, Phase, Store,
};
use meantime_sim::harness::{CallStatus, SimKernel, SlowTurns, block_on};
use meantime_store::postgres::cluster::{Database, database};
use meantime_store::postgres::{Options, PostgresStore};
use meantime_store::sqlite::{self, SqliteStore};
use tempfile::TempDir;

const PROBES: &str = "
probe sleeper
timer t PT10S
await t
end

probe work
task w mail
await w
end

probe troubled
incident t E_ELEMENT
await t
end

probe working
task w mail
incident t E_ELEMENT
await t
await w
end

probe faulty
signal s go
await s
fault E_TURN

probe waits
signal s go
await s
end

probe parent
child c unlucky
await c
end

probe unlucky
fault E_START
";

/// Ways to damage the instance `VICTIM`: `BAD` are bytes that cannot be decoded, `SPOILT` is an
/// open list that can be repaired, and `OTHER` is an unknown id.
const DAMAGES: &[(&str, &str)] = &[
    ("the open list", "UPDATE instance SET open = BAD WHERE id_order = VICTIM"),
    ("the packed rest", "UPDATE instance SET meta = BAD WHERE id_order = VICTIM"),
    (
        "the packed rest of one that goes on by itself",
        "UPDATE instance SET meta = BAD, phase = 'yielding' WHERE id_order = VICTIM",
    ),
    ("a start", "UPDATE instance SET phase = 'starting', state = BAD WHERE id_order = VICTIM"),
    (
        "an event",
        "INSERT INTO inbox (id_order, seq, id_random, arrived_at, event) \
         SELECT id_order, 1, id_random, 0, BAD FROM instance WHERE id_order = VICTIM",
    ),
];

const OTHER: &str = "00000000000000000000000000000001";

/// A store, and a function that damages it.
struct DamagedStore {
    store: Arc<dyn Store>,
    harm: Harm,
}

enum Harm {
    File(TempDir),
    Database(Box<Database>),
}

impl DamagedStore {
    fn all() -> [Self; 2] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("meantime.db");
        let file = SqliteStore::open(path, sqlite::Options::default()).expect("a new store");
        let database = database().expect("PostgreSQL");
        let options = Options { shared: false, ..database.options() };
        let shared = block_on(PostgresStore::open(options)).expect("a new store");
        [
            Self { store: Arc::new(file), harm: Harm::File(directory) },
            Self { store: Arc::new(shared), harm: Harm::Database(Box::new(database)) },
        ]
    }

    /// A database that several nodes may share.
    fn shared() -> Self {
        let database = database().expect("PostgreSQL");
        let store = block_on(PostgresStore::open(database.options())).expect("a new store");
        Self { store: Arc::new(store), harm: Harm::Database(Box::new(database)) }
    }

    fn damage(&self, statement: &str, victim: InstanceId) {
        let statement = statement.replace("VICTIM", &victim.order().to_string());
        match &self.harm {
            Harm::File(directory) => {
                let path = directory.path().join("meantime.db");
                let file = rusqlite::Connection::open(path).expect("it opens");
                let spoilt = "CAST(x'ff' || open AS BLOB)";
                let statement = statement.replace("SPOILT", spoilt).replace("BAD", "x'ff'");
                let statement = statement.replace("OTHER", &format!("x'{OTHER}'"));
                let changed = file.execute(&statement, []);
                assert_eq!(changed.expect("it can be changed"), 1, "{statement}");
            }
            Harm::Database(database) => {
                let statement = statement.replace("SPOILT", "BAD || open");
                let statement = statement.replace("BAD", "'\\xff'::bytea");
                let statement = statement.replace("OTHER", &format!("'\\x{OTHER}'::bytea"));
                database.execute(&statement).expect("it can be changed");
            }
        }
    }
}

fn start(sim: &mut SimKernel, definition: &str) -> InstanceId {
    let start = StartCommand { definition: definition.to_owned(), ..StartCommand::default() };
    match sim.call(Command::Start(start), Wait::Quiet).1 {
        CallStatus::Answered(Ok(Reply::Started { instance, .. })) => instance,
        other => panic!("{other:?}"),
    }
}

fn row(sim: &SimKernel, id: InstanceId) -> InstanceRow {
    block_on(sim.store.instance(id)).expect("it reads").expect("it is there")
}

fn incidents(sim: &SimKernel, id: InstanceId) -> Vec<IncidentRow> {
    block_on(sim.store.incidents(Some(id), Page::first(9))).expect("they read")
}

fn audit() -> AuditInfo {
    AuditInfo { actor: "test".to_owned(), reason: "it is damaged".to_owned() }
}

fn advance(sim: &mut SimKernel, ms: i64) {
    let target = sim.now().engine.saturating_add_millis(ms);
    sim.advance_to(target);
}

#[test]
fn a_damaged_instance_is_set_aside_and_all_others_go_on() {
    for (what, statement) in DAMAGES {
        for place in DamagedStore::all() {
            let mut sim = SimKernel::with_probes(place.store.clone(), PROBES);
            let victim = start(&mut sim, "sleeper");
            let others = [start(&mut sim, "sleeper"), start(&mut sim, "sleeper")];
            place.damage(statement, victim);
            sim.crash();
            sim.run();
            advance(&mut sim, 60_000);
            for other in others {
                assert_eq!(row(&sim, other).phase, Phase::Completed, "{what}");
            }
            assert!(!row(&sim, victim).phase.is_ended(), "{what}");
            assert_eq!(sim.counters().damaged, 1, "{what}");
            // The next process finds the damage again, and records nothing new.
            sim.crash();
            sim.run();
            advance(&mut sim, 60_000);
            let raised = incidents(&sim, victim);
            let [incident] = raised.as_slice() else { panic!("{what}: {raised:?}") };
            assert_eq!(incident.failure.code, "instance_damaged", "{what}");
            assert_eq!(incident.cause, IncidentCause::Damage, "{what}");
            let troubled = InstanceFilter { incident: Some(true), ..InstanceFilter::default() };
            let found = block_on(sim.store.instances(troubled, Page::first(9))).expect("a list");
            assert_eq!(found.iter().map(|it| it.id).collect::<Vec<_>>(), [victim], "{what}");
            let payload = Json::null();
            let signal = Command::Signal { instance: victim, name: "go".to_owned(), payload };
            let answer = sim.call(signal, Wait::Quiet).1;
            assert_eq!(answer, CallStatus::Answered(Err(Error::InstanceDamaged(victim))), "{what}");
            let retry = Command::RetryIncident { incident: incident.id, audit: audit() };
            let answer = sim.call(retry, Wait::Quiet).1;
            assert_eq!(answer, CallStatus::Answered(Err(Error::InstanceDamaged(victim))), "{what}");
            let cancel = Command::Cancel { instance: victim, audit: audit() };
            let answer = sim.call(cancel, Wait::Quiet).1;
            assert_eq!(answer, CallStatus::Answered(Ok(Reply::Done)), "{what}");
            assert_eq!(row(&sim, victim).phase, Phase::Cancelled, "{what}");
            assert!(incidents(&sim, victim).is_empty(), "{what}");
            assert_eq!(block_on(sim.store.check()).expect("a check"), [""; 0], "{what}");
            sim.crash();
            sim.run();
            let late = start(&mut sim, "sleeper");
            advance(&mut sim, 60_000);
            assert_eq!(row(&sim, late).phase, Phase::Completed, "{what}");
            assert_eq!(sim.counters().damaged, 0, "{what}");
        }
    }
}

#[test]
fn a_damaged_instance_that_was_repaired_goes_on_after_a_retry() {
    for place in DamagedStore::all() {
        let mut sim = SimKernel::with_probes(place.store.clone(), PROBES);
        let victim = start(&mut sim, "sleeper");
        place.damage("UPDATE instance SET open = SPOILT WHERE id_order = VICTIM", victim);
        sim.crash();
        sim.run();
        advance(&mut sim, 60_000);
        let incident = incidents(&sim, victim)[0].id;
        place.damage("UPDATE instance SET open = substr(open, 2) WHERE id_order = VICTIM", victim);
        let retry = Command::RetryIncident { incident, audit: audit() };
        assert_eq!(sim.call(retry, Wait::Quiet).1, CallStatus::Answered(Ok(Reply::Done)));
        assert!(incidents(&sim, victim).is_empty());
        // Its timer fires at the latest in the next process.
        sim.crash();
        sim.run();
        assert_eq!(row(&sim, victim).phase, Phase::Completed);
    }
}

#[test]
fn a_task_that_cannot_be_decoded_keeps_no_other_from_being_claimed() {
    for place in DamagedStore::all() {
        let mut sim = SimKernel::with_probes(place.store.clone(), PROBES);
        let victim = start(&mut sim, "work");
        let other = start(&mut sim, "work");
        place.damage("UPDATE task SET spec = BAD WHERE id_order = VICTIM", victim);
        let worker = "w".to_owned();
        let claim = ClaimCommand { worker, max: 1, lease_ms: 60_000, ..ClaimCommand::default() };
        let claimed = match sim.call(Command::Claim(claim), Wait::Quiet).1 {
            CallStatus::Answered(Ok(Reply::Tasks(tasks))) => tasks,
            other => panic!("{other:?}"),
        };
        let [task] = claimed.as_slice() else { panic!("{claimed:?}") };
        assert_eq!(task.id.0.instance, other, "the damaged one stands before it");
        let report = Report::Completed(Json::null());
        let report = Command::Report { task: task.id, token: Some(task.token), report };
        assert_eq!(sim.call(report, Wait::Quiet).1, CallStatus::Answered(Ok(Reply::Done)));
        assert_eq!(row(&sim, other).phase, Phase::Completed);
        assert_eq!(incidents(&sim, victim).len(), 1);
        let problems = block_on(sim.store.check()).expect("a check");
        assert!(problems.iter().any(|it| it.contains("`task` cannot be read")), "{problems:?}");
        let cancel = Command::Cancel { instance: victim, audit: audit() };
        assert_eq!(sim.call(cancel, Wait::Quiet).1, CallStatus::Answered(Ok(Reply::Done)));
        assert_eq!(row(&sim, victim).phase, Phase::Cancelled);
        assert_eq!(block_on(sim.store.check()).expect("a check"), [""; 0]);
    }
}

fn send(sim: &mut SimKernel, command: Command) -> Result<Reply, Error> {
    match sim.call(command, Wait::Quiet).1 {
        CallStatus::Answered(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_incident_that_cannot_be_decoded_is_shown_and_harms_nobody() {
    for place in DamagedStore::all() {
        let mut sim = SimKernel::with_probes(place.store.clone(), PROBES);
        let troubled = start(&mut sim, "troubled");
        let faulty = start(&mut sim, "faulty");
        let lost = start(&mut sim, "working");
        let other = start(&mut sim, "troubled");
        let (name, payload) = ("go".to_owned(), Json::null());
        let signal = Command::Signal { instance: faulty, name, payload };
        assert_eq!(send(&mut sim, signal), Ok(Reply::Done));
        for victim in [troubled, faulty, lost] {
            place.damage("UPDATE incident SET cause = BAD WHERE id_order = VICTIM", victim);
        }
        place.damage("UPDATE incident SET id = OTHER WHERE id_order = VICTIM", lost);
        let all = block_on(sim.store.incidents(None, Page::first(9))).expect("they read");
        let damaged = all.iter().filter(|it| it.failure.code == "store_row_damaged").count();
        assert_eq!((all.len(), damaged), (4, 3), "{all:?}");
        let problems = block_on(sim.store.check()).expect("a check");
        assert_eq!(problems.len(), 3, "{problems:?}");
        let retry = |sim: &mut SimKernel, id| {
            let incident = incidents(sim, id)[0].id;
            send(sim, Command::RetryIncident { incident, audit: audit() })
        };
        // These instances know which events are held.
        for whole in [troubled, other] {
            assert_eq!(retry(&mut sim, whole), Ok(Reply::Done));
            assert_eq!(row(&sim, whole).phase, Phase::Completed);
        }
        assert_eq!(retry(&mut sim, faulty), Ok(Reply::Done));
        let raised = incidents(&sim, faulty);
        let codes: Vec<_> = raised.iter().map(|it| it.failure.code.as_str()).collect();
        assert_eq!(codes, ["E_TURN"], "it was tried again");
        // This one does not, and may have a held task.
        assert_eq!(retry(&mut sim, lost), Err(Error::InstanceDamaged(lost)));
        for victim in [faulty, lost] {
            let cancel = Command::Cancel { instance: victim, audit: audit() };
            assert_eq!(send(&mut sim, cancel), Ok(Reply::Done));
            assert_eq!(row(&sim, victim).phase, Phase::Cancelled);
        }
        let all = block_on(sim.store.incidents(None, Page::first(9))).expect("they read");
        assert_eq!(all, []);
        assert_eq!(block_on(sim.store.check()).expect("a check"), [""; 0]);
    }
}

#[test]
fn an_instance_that_is_damaged_during_a_slow_turn_can_be_cancelled_and_harms_nobody() {
    for place in DamagedStore::all().into_iter().chain([DamagedStore::shared()]) {
        let is_shared = place.store.is_shared();
        let mut sim = SimKernel::with_probes(place.store.clone(), PROBES);
        let [finished, cancelled, other] = [(); 3].map(|()| start(&mut sim, "waits"));
        let signal = |instance| {
            let (name, payload) = ("go".to_owned(), Json::null());
            Command::Signal { instance, name, payload }
        };
        sim.set_slow_turns(SlowTurns::Held);
        let (slow, status) = sim.call(signal(finished), Wait::Quiet);
        let (late, too) = sim.call(signal(cancelled), Wait::Quiet);
        assert_eq!((status, too), (CallStatus::Waiting, CallStatus::Waiting));
        sim.set_slow_turns(SlowTurns::Before);
        for victim in [finished, cancelled] {
            place.damage("UPDATE instance SET open = BAD WHERE id_order = VICTIM", victim);
        }
        // The cancel comes before the turn, and finds that the notation cannot be called.
        let cancel = |instance| Command::Cancel { instance, audit: audit() };
        assert_eq!(send(&mut sim, cancel(cancelled)), Ok(Reply::Done));
        assert_eq!(row(&sim, cancelled).phase, Phase::Cancelled);
        assert_eq!(
            sim.call_status(late),
            CallStatus::Answered(Err(Error::InstanceEnded(cancelled)))
        );
        assert_eq!(send(&mut sim, signal(other)), Ok(Reply::Done));
        assert_eq!(row(&sim, other).phase, Phase::Completed);
        sim.set_slow_turns(SlowTurns::None);
        sim.run();
        if is_shared {
            // The rows that the turn depends on are read again, and cannot be decoded.
            assert_eq!(
                sim.call_status(slow),
                CallStatus::Answered(Err(Error::InstanceDamaged(finished)))
            );
            assert_eq!(incidents(&sim, finished).len(), 1);
            assert_eq!(send(&mut sim, cancel(finished)), Ok(Reply::Done));
            assert_eq!(row(&sim, finished).phase, Phase::Cancelled);
        } else {
            // No other node writes here: the row in memory is intact and replaces the damaged one.
            assert_eq!(sim.call_status(slow), CallStatus::Answered(Ok(Reply::Done)));
            assert_eq!(row(&sim, finished).phase, Phase::Completed);
        }
        assert_eq!(incidents(&sim, finished), []);
        assert_eq!(block_on(sim.store.check()).expect("a check"), [""; 0]);
    }
}

#[test]
fn a_start_that_faulted_is_not_damaged_when_somebody_retries_it() {
    for place in DamagedStore::all() {
        let mut sim = SimKernel::with_probes(place.store.clone(), PROBES);
        let parent = start(&mut sim, "parent");
        let children = block_on(sim.store.children(parent)).expect("they read");
        let [child] = children.as_slice() else { panic!("{children:?}") };
        for _ in 0..2 {
            let raised = incidents(&sim, child.id);
            let codes: Vec<_> = raised.iter().map(|it| it.failure.code.as_str()).collect();
            assert_eq!(codes, ["E_START"]);
            let retry = Command::RetryIncident { incident: raised[0].id, audit: audit() };
            assert_eq!(send(&mut sim, retry), Ok(Reply::Done));
        }
        assert_eq!(sim.counters().damaged, 0);
    }
}
