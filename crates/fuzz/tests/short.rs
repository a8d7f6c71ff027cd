//! The first cases of every target, as a short version of `cargo xtask fuzz`.

use meantime_fuzz::{TARGETS, Target, run_case};

/// Cases of each target.
const CASES_PER_TARGET: u64 = 300;

fn assert_no_failure(name: &str) {
    let target = Target::find(name).expect("a target");
    for case in 0..CASES_PER_TARGET {
        if let Err(failure) = run_case(target, 1, case) {
            panic!("{failure:?}");
        }
    }
}

#[test]
fn every_target_has_a_test() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, NAMES);
}

macro_rules! targets {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            assert_no_failure(stringify!($name));
        })*
    };
}

targets! {
    json number time pattern dataweave format feel script schema journey bpmn flow openapi surface
    row log form id
}
