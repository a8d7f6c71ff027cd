//! Overlays: what a branch reads, and what others read of its changes.

use meantime_value::Value;

use super::overlay::{ContextChange, Overlay, difference};
use crate::json;

fn value(text: &str) -> Value {
    meantime_value::json::read(text).expect("JSON")
}

fn path(text: &str) -> Vec<String> {
    text.split('.').map(str::to_owned).collect()
}

#[test]
fn jr1_the_deepest_written_path_wins() {
    let mut overlay = Overlay::default();
    overlay
        .record_change(&ContextChange::put(path("a"), value(r#"{"b":1,"c":2}"#)))
        .expect("it fits");
    overlay.record_change(&ContextChange::put(path("a.b"), value("3"))).expect("it fits");
    overlay.record_change(&ContextChange::remove(path("a.c"))).expect("it fits");
    let seen = overlay.apply_to(&value(r#"{"a":{"b":9,"d":9},"e":5}"#)).expect("it fits");
    assert_eq!(json::shown(&seen), r#"{"a":{"b":3},"e":5}"#);
}

#[test]
fn jr1_what_was_not_written_is_shared() {
    let mut overlay = Overlay::default();
    overlay.record_change(&ContextChange::put(path("a.b"), value("1"))).expect("it fits");
    overlay.record_change(&ContextChange::remove(path("gone"))).expect("it fits");
    let seen = overlay.apply_to(&value(r#"{"a":{"c":2},"gone":1,"new":3}"#)).expect("it fits");
    assert_eq!(json::shown(&seen), r#"{"a":{"c":2,"b":1},"new":3}"#);
}

#[test]
fn jr1_a_write_below_something_removed_makes_it_anew() {
    let mut overlay = Overlay::default();
    overlay.record_change(&ContextChange::remove(path("a"))).expect("it fits");
    overlay.record_change(&ContextChange::put(path("a.b"), value("1"))).expect("it fits");
    let seen = overlay.apply_to(&value(r#"{"a":{"c":2}}"#)).expect("it fits");
    assert_eq!(json::shown(&seen), r#"{"a":{"b":1}}"#);
}

#[test]
fn jr1_the_difference_is_recursive_over_objects_and_whole_elsewhere() {
    let old = value(r#"{"a":{"x":1,"y":2},"list":[1,2],"gone":1}"#);
    let new = value(r#"{"a":{"x":1,"y":3,"z":4},"list":[1],"added":null}"#);
    let changes: Vec<String> = difference(&old, &new)
        .iter()
        .map(|it| format!("{}={:?}", it.path.join("."), it.value.as_ref().map(json::shown)))
        .collect();
    let expected = [
        "gone=None",
        "a.y=Some(\"3\")",
        "a.z=Some(\"4\")",
        "list=Some(\"[1]\")",
        "added=Some(\"null\")",
    ];
    assert_eq!(changes, expected);
    let made = difference(&old, &new).iter().fold(old, |value, change| change.apply(&value));
    assert_eq!(made, value_of_same_keys(&made, &new));
}

/// Objects are compared with the order of their keys: the difference keeps the old order.
fn value_of_same_keys(made: &Value, new: &Value) -> Value {
    assert_eq!(difference(made, new), Vec::new());
    made.clone()
}
