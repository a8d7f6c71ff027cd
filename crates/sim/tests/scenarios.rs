//! Every scenario on every store, and every scenario with a crash after every commit.
//!
//! `UPDATE_EXPECT=1` rewrites the traces from the run on the in-memory store. The crates of the
//! notations run their own behaviours on that store (`tests/behaviours.rs`); here they run on the
//! other rigs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use meantime_kernel::store::{MemoryStore, Store};
use meantime_sim::harness::{CommitFault, FlakyStore, block_on};
use meantime_sim::scenario::{Scenario, ScenarioRun, difference, play, play_with_slow_turns};
use meantime_store::postgres::{Options, PostgresStore, cluster};

fn main() {
    let arguments = Arguments::from_args();
    // Probes panic on purpose; a trial reports its failure itself.
    std::panic::set_hook(Box::new(|_| {}));
    let mut trials = Vec::new();
    let mut cited = BTreeSet::new();
    for suite in SUITES {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(suite.directory);
        let scenarios = Scenario::all_in(&directory).expect("the scenarios can be read");
        for (number, (name, scenario)) in scenarios.into_iter().enumerate() {
            cited.extend(scenario.rules.iter().cloned());
            let is_played = |rig: &&Rig| {
                number % suite.every(rig.cost) == 0
                    && !(suite.is_checked_elsewhere && rig.name == EXPECTED)
            };
            for rig in RIGS.iter().filter(is_played) {
                let (scenario, run) = (scenario.clone(), rig.run);
                let test = format!("{}{}::{name}", suite.prefix, rig.name);
                trials.push(Trial::test(test, move || run(&scenario)));
            }
        }
    }
    trials.push(Trial::test("every_rule_is_cited", move || every_rule_is_cited(&cited)));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Scenarios of one kind: those of the kernel, or those of a notation.
struct Suite {
    prefix: &'static str,
    /// Relative to this crate.
    directory: &'static str,
    /// Slow rigs run on every n-th file.
    sample: usize,
    /// Whether the crate of the notation compares the traces on the in-memory store.
    is_checked_elsewhere: bool,
}

impl Suite {
    /// A rig of this cost runs on every n-th file.
    fn every(&self, cost: Cost) -> usize {
        match cost {
            Cost::Low => 1,
            Cost::High => self.sample,
            Cost::Most => self.sample * 8,
        }
    }
}

/// The cost of a rig.
#[derive(Clone, Copy)]
enum Cost {
    Low,
    /// It plays the script on a disk, or many times.
    High,
    /// It plays the script many times on a server.
    Most,
}

const SUITES: [Suite; 5] = [
    Suite { prefix: "", directory: "scenarios", sample: 1, is_checked_elsewhere: false },
    Suite { prefix: "flow::", directory: "../flow/tests/corpus", ..NOTATION },
    Suite { prefix: "journey::", directory: "../journey/tests/corpus", ..NOTATION },
    Suite { prefix: "bpmn::", directory: "../bpmn/tests/corpus", ..NOTATION },
    Suite {
        prefix: "examples::",
        directory: "../../examples/tests",
        sample: 1,
        is_checked_elsewhere: false,
    },
];

const NOTATION: Suite = Suite { prefix: "", directory: "", sample: 5, is_checked_elsewhere: true };

/// The rig that compares the traces on the in-memory store.
const EXPECTED: &str = "memory";

struct Rig {
    name: &'static str,
    cost: Cost,
    run: fn(&Scenario) -> Result<(), Failed>,
}

const RIGS: [Rig; 11] = [
    Rig { name: EXPECTED, cost: Cost::Low, run: |it| Ok(it.check()?) },
    Rig { name: "sqlite", cost: Cost::High, run: |it| traces_agree(it, &sqlite) },
    Rig { name: "again", cost: Cost::Low, run: plays_the_same_twice },
    Rig {
        name: "lost_answer",
        cost: Cost::High,
        run: |it| survives_lost(it, CommitFault::LostAnswer),
    },
    Rig {
        name: "lost_commit",
        cost: Cost::High,
        run: |it| survives_lost(it, CommitFault::LostCommit),
    },
    Rig { name: "slow_turns", cost: Cost::Low, run: slow_turns_end_the_same },
    Rig { name: "slow_turns_postgres", cost: Cost::Most, run: slow_turns_end_the_same_on_postgres },
    Rig { name: "crash_memory", cost: Cost::Low, run: |it| survives_every_crash(it, &memory) },
    Rig { name: "crash_sqlite", cost: Cost::High, run: |it| survives_every_crash(it, &sqlite) },
    Rig { name: "postgres", cost: Cost::High, run: |it| traces_agree(it, &postgres) },
    Rig { name: "crash_postgres", cost: Cost::Most, run: |it| survives_every_crash(it, &postgres) },
];

/// Gives a new store to a play and keeps it alive until the play has ended.
type OnStore = dyn Fn(&dyn Fn(Arc<dyn Store>) -> ScenarioRun) -> ScenarioRun;

fn memory(run: &dyn Fn(Arc<dyn Store>) -> ScenarioRun) -> ScenarioRun {
    run(Arc::new(MemoryStore::new()))
}

fn sqlite(run: &dyn Fn(Arc<dyn Store>) -> ScenarioRun) -> ScenarioRun {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("meantime.db");
    let options = meantime_store::sqlite::Options::default();
    let store = meantime_store::sqlite::SqliteStore::open(&path, options).expect("a new store");
    run(Arc::new(store))
}

fn postgres(run: &dyn Fn(Arc<dyn Store>) -> ScenarioRun) -> ScenarioRun {
    let database = cluster::database().expect("PostgreSQL");
    let options = Options { shared: false, ..database.options() };
    let store = block_on(PostgresStore::open(options)).expect("a new store");
    run(Arc::new(store))
}

fn traces_agree(scenario: &Scenario, on_store: &OnStore) -> Result<(), Failed> {
    let trace = on_store(&|store| play(scenario, store, None)).trace;
    Ok(scenario.compare(&trace)?)
}

/// The same script gives the same trace: no clock, randomness or hash map order influences it (I6,
/// I7).
fn plays_the_same_twice(scenario: &Scenario) -> Result<(), Failed> {
    let run = || memory(&|store| play(scenario, store, None)).trace;
    let (one, other) = (run(), run());
    if one == other { Ok(()) } else { Err(difference(&one, &other).into()) }
}

/// The result does not depend on which turns leave their batch because they take long, also across
/// crashes.
fn slow_turns_end_the_same(scenario: &Scenario) -> Result<(), Failed> {
    let whole = memory(&|store| play(scenario, store, None));
    let slow = memory(&|store| play_with_slow_turns(scenario, store, None));
    same_timelines(&whole, &slow, "with slow turns")?;
    // Commands of one instant may be processed in another order if some must be sent again.
    let together = scenario.script.iter().any(|line| line.starts_with("together"));
    for commit in (1..=slow.commits).filter(|_| !together) {
        let crashed = memory(&|store| play_with_slow_turns(scenario, store, Some(commit)));
        same_timelines(&whole, &crashed, &format!("with slow turns, after commit {commit}"))?;
    }
    Ok(())
}

/// The same where a slow turn gives up the locks of its batch, with a crash in the middle.
fn slow_turns_end_the_same_on_postgres(scenario: &Scenario) -> Result<(), Failed> {
    let whole = memory(&|store| play(scenario, store, None));
    let slow = postgres(&|store| play_with_slow_turns(scenario, store, None));
    same_timelines(&whole, &slow, "with slow turns")?;
    if scenario.script.iter().any(|line| line.starts_with("together")) {
        return Ok(());
    }
    let commit = slow.commits.div_ceil(2);
    let crashed = postgres(&|store| play_with_slow_turns(scenario, store, Some(commit)));
    same_timelines(&whole, &crashed, &format!("with slow turns, after commit {commit}"))
}

fn survives_every_crash(scenario: &Scenario, on_store: &OnStore) -> Result<(), Failed> {
    let whole = on_store(&|store| play(scenario, store, None));
    for commit in 1..=whole.commits {
        let crashed = on_store(&|store| play(scenario, store, Some(commit)));
        same_timelines(&whole, &crashed, &format!("after a crash at commit {commit}"))?;
    }
    Ok(())
}

fn same_timelines(whole: &ScenarioRun, other: &ScenarioRun, when: &str) -> Result<(), Failed> {
    for (name, story) in &whole.timelines {
        let after = other.timelines.get(name).cloned().unwrap_or_default();
        if *story != after {
            let difference = difference(&story.join("\n"), &after.join("\n"));
            let trace = &other.trace;
            return Err(format!("{when}, {name} differs:\n{difference}\n{trace}").into());
        }
    }
    Ok(())
}

/// A commit whose answer was lost is never repeated blindly, and never discarded if it took effect
/// (I2).
fn survives_lost(scenario: &Scenario, fault: CommitFault) -> Result<(), Failed> {
    if fault == CommitFault::LostCommit && scenario.commit_ms > 0 {
        // A lost commit takes time as well, so everything after it is later.
        return Ok(());
    }
    // Commands of one instant may be processed in another order the second time.
    let sorted = |play: &ScenarioRun| {
        let mut timelines = play.timelines.clone();
        for lines in timelines.values_mut() {
            lines.sort();
        }
        timelines
    };
    let whole = memory(&|store| play(scenario, store, None));
    // The first commit deploys the built-in definition, before the script begins.
    for commit in 2..=whole.commits + 1 {
        let faults = BTreeMap::from([(commit, fault)]);
        let lost =
            memory(&|store| play(scenario, Arc::new(FlakyStore::new(store, faults.clone())), None));
        if sorted(&lost) != sorted(&whole) {
            let text = |play: &ScenarioRun| format!("{:#?}", sorted(play));
            let difference = difference(&text(&whole), &text(&lost));
            return Err(format!("with commit {commit} lost:\n{difference}").into());
        }
    }
    Ok(())
}

fn every_rule_is_cited(cited: &BTreeSet<String>) -> Result<(), Failed> {
    let series: BTreeMap<&str, u32> =
        [("T", 13), ("D", 8), ("S", 15), ("F", 3), ("O", 3), ("I", 12), ("B", 10)].into();
    let journeys = [("JT", 13), ("JP", 6), ("JS", 17), ("JE", 8), ("JC", 3), ("JR", 10)];
    let wanted = series
        .iter()
        .map(|(letter, count)| (*letter, *count))
        .chain(journeys)
        .flat_map(|(letter, count)| (1..=count).map(move |number| format!("{letter}{number}")));
    let missing: Vec<String> = wanted.filter(|rule| !cited.contains(rule)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("no scenario cites {}", missing.join(", ")).into())
}
