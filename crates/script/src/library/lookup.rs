//! Looks up library names.

use super::function::{Builtin, FUNCTIONS};

/// The meanings of a free name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Global {
    /// A function that is also a namespace, such as `String` or `Number`, is treated as a function.
    Function(Builtin),
    Namespace(&'static str),
    Undefined,
    /// `NaN` or `Infinity`.
    Number(f64),
}

/// The meanings of a namespace's member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Member {
    Function(Builtin),
    Int(i64),
    Float(f64),
    InstanceId,
    InstanceKey,
}

const CONSTANTS: &[(&str, &str, Member)] = &[
    ("Math", "PI", Member::Float(std::f64::consts::PI)),
    ("Math", "E", Member::Float(std::f64::consts::E)),
    ("Math", "LN2", Member::Float(std::f64::consts::LN_2)),
    ("Math", "LN10", Member::Float(std::f64::consts::LN_10)),
    ("Math", "LOG2E", Member::Float(std::f64::consts::LOG2_E)),
    ("Math", "LOG10E", Member::Float(std::f64::consts::LOG10_E)),
    ("Math", "SQRT2", Member::Float(std::f64::consts::SQRT_2)),
    ("Math", "SQRT1_2", Member::Float(std::f64::consts::FRAC_1_SQRT_2)),
    ("Number", "MAX_SAFE_INTEGER", Member::Int(9_007_199_254_740_991)),
    ("Number", "MIN_SAFE_INTEGER", Member::Int(-9_007_199_254_740_991)),
    ("Number", "MAX_VALUE", Member::Float(f64::MAX)),
    ("Number", "MIN_VALUE", Member::Float(5e-324)),
    ("Number", "EPSILON", Member::Float(f64::EPSILON)),
    ("Number", "NaN", Member::Float(f64::NAN)),
    ("Number", "POSITIVE_INFINITY", Member::Float(f64::INFINITY)),
    ("Number", "NEGATIVE_INFINITY", Member::Float(f64::NEG_INFINITY)),
    ("Workflow", "id", Member::InstanceId),
    ("Workflow", "key", Member::InstanceKey),
];

/// The meaning of a free name.
pub(crate) fn global(name: &str) -> Option<Global> {
    match name {
        "undefined" => return Some(Global::Undefined),
        "NaN" => return Some(Global::Number(f64::NAN)),
        "Infinity" => return Some(Global::Number(f64::INFINITY)),
        _ => {}
    }
    let function = FUNCTIONS.iter().find(|entry| entry.0.is_empty() && entry.1 == name);
    let namespace = || FUNCTIONS.iter().find(|entry| entry.0 == name && !name.is_empty());
    match function {
        Some(entry) => Some(Global::Function(entry.2)),
        None => namespace().map(|entry| Global::Namespace(entry.0)),
    }
}

/// The meaning of a namespace's member.
pub(crate) fn member(namespace: &str, name: &str) -> Option<Member> {
    let function = FUNCTIONS.iter().find(|entry| (entry.0, entry.1) == (namespace, name));
    let constant = || CONSTANTS.iter().find(|entry| (entry.0, entry.1) == (namespace, name));
    match function {
        Some(entry) => Some(Member::Function(entry.2)),
        None => constant().map(|entry| entry.2),
    }
}

/// All free names, for suggestions.
pub(crate) fn global_names() -> impl Iterator<Item = &'static str> {
    let names = FUNCTIONS.iter().map(|entry| if entry.0.is_empty() { entry.1 } else { entry.0 });
    names.chain(["undefined", "NaN", "Infinity"])
}

/// All members of a namespace, in the order of the table.
pub(crate) fn member_names(namespace: &str) -> impl Iterator<Item = &'static str> {
    let functions = FUNCTIONS.iter().filter(move |entry| entry.0 == namespace);
    let constants = CONSTANTS.iter().filter(move |entry| entry.0 == namespace);
    functions.map(|entry| entry.1).chain(constants.map(|entry| entry.1))
}
