//! A killed process loses and doubles nothing (P1 to P3), and the rig detects an injected fault.
//! The long version is `cargo xtask soak kill --rounds N`.

use meantime_sim::kill::{KillPlan, KillReport, StoreKind, kill_rounds};

fn run(seed: u64, rounds: usize, early_ack: bool) -> KillReport {
    let directory = tempfile::tempdir().expect("a directory");
    let binary = env!("CARGO_BIN_EXE_meantime-rig").into();
    let directory_path = directory.path().to_owned();
    let kind = StoreKind::Sqlite;
    let plan = KillPlan { binary, kind, directory: directory_path, seed, rounds, early_ack };
    kill_rounds(&plan, |_| ())
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_by_kill_9() {
    // The moment of a kill depends on the machine. A run in which no kill hit a commit before its
    // answer proves nothing about such commits, so the test repeats runs until one did. Every run
    // must be clean.
    let hits = |report: &KillReport| {
        report.interrupted > 0 && report.applied_unanswered + report.repeated > 0
    };
    let mut reports = (3..9).map(|seed| {
        let report = run(seed, 8, false);
        assert!(report.lost.is_empty(), "{:#?}", report.lost);
        assert!(report.problems.is_empty(), "{:#?}", report.problems);
        assert_eq!(report.kills, 8);
        report
    });
    let report = reports.find(hits).expect("one of six runs hits a commit before its answer");
    assert!(report.stale > 0, "no late report was refused: {report:?}");
    assert!(report.instances > 100, "{report:?}");
    assert_eq!((report.done, report.fired * 3), (report.instances, report.instances));
}

#[test]
fn answers_before_the_commit_are_found() {
    assert!(!run(3, 20, true).lost.is_empty());
}
