//! A killed process loses and doubles nothing (P1 to P3). The long version is
//! `cargo xtask soak kill --rounds N`.

use std::path::Path;

use meantime_sim::kill::kill_rounds;

#[test]
fn nothing_acknowledged_is_lost_or_doubled_by_kill_9() {
    let directory = tempfile::tempdir().expect("a directory");
    let binary = Path::new(env!("CARGO_BIN_EXE_meantime-rig"));
    let report = kill_rounds(binary, directory.path(), 3, 5, |_| ());
    assert!(report.lost.is_empty(), "{:#?}", report.lost);
    assert!(report.wrong.is_empty(), "{:#?}", report.wrong);
    // A run that hit nothing, or did nothing, proves nothing.
    assert_eq!(report.kills, 5);
    assert!(report.interrupted > 0 && report.taken_unheard + report.repeated > 0, "{report:?}");
    assert_eq!((report.instances, report.done, report.fired), (450, 450, 150));
}
