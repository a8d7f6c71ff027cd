//! A loss of power loses nothing that was acknowledged (P11), and the rig detects an injected
//! fault. The long version is `cargo xtask soak power --images N`.

use meantime_sim::power::{InjectedFault, PowerReport, cut_power};

fn run(images: usize, fault: InjectedFault) -> PowerReport {
    let directory = tempfile::tempdir().expect("a directory");
    let report = cut_power(directory.path(), 7, images, fault, |_| ());
    assert!(report.dropped > 0 && report.torn > 0 && report.reordered > 0, "no fault: {report:?}");
    assert!(report.acknowledged > images * 10, "no work: {report:?}");
    report
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_goes() {
    let report = run(100, InjectedFault::None);
    assert!(report.lost.is_empty(), "{:#?}", report.lost);
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
    assert_eq!(report.continued, 10, "a new process goes on with what is left");
}

#[test]
fn commits_that_are_not_synced_are_found() {
    let report = run(40, InjectedFault::Unsynced);
    assert!(!report.lost.is_empty());
    // What is left is an earlier consistent state: commits are missing, but nothing is damaged.
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}

#[test]
fn answers_before_the_sync_are_found() {
    let report = run(40, InjectedFault::EarlyAck);
    assert!(!report.lost.is_empty());
    assert!(report.problems.is_empty(), "{:#?}", report.problems);
}
