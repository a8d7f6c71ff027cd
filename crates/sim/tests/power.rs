//! A loss of power takes nothing that was acknowledged (P11), and the rig would see it if it did.
//! The long version is `cargo xtask soak power --images N`.

use meantime_sim::power::{Plant, PowerReport, cut_power};

fn run(images: usize, plant: Plant) -> PowerReport {
    let directory = tempfile::tempdir().expect("a directory");
    let report = cut_power(directory.path(), 7, images, plant, |_| ());
    assert!(report.dropped > 0 && report.torn > 0 && report.reordered > 0, "no fault: {report:?}");
    assert!(report.acknowledged > images * 10, "no work: {report:?}");
    report
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_goes() {
    let report = run(100, Plant::None);
    assert!(report.lost.is_empty(), "{:#?}", report.lost);
    assert!(report.wrong.is_empty(), "{:#?}", report.wrong);
    assert_eq!(report.continued, 10, "a new process goes on with what is left");
}

#[test]
fn commits_that_are_not_synced_are_found() {
    let report = run(40, Plant::Unsynced);
    assert!(!report.lost.is_empty());
    // What is left is a state that existed: less, but not damaged.
    assert!(report.wrong.is_empty(), "{:#?}", report.wrong);
}

#[test]
fn answers_before_the_sync_are_found() {
    let report = run(40, Plant::EarlyAnswer);
    assert!(!report.lost.is_empty());
    assert!(report.wrong.is_empty(), "{:#?}", report.wrong);
}
