//! The names that values inherit in JavaScript.
//!
//! In JavaScript, reading one of them gives a function. Such functions are not values here, so the
//! machine throws an error instead of returning `undefined`.

use super::method::Kind;

const OBJECT: &[&str] = &[
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
];

const LIST: &[&str] = &[
    "at",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toReversed",
    "toSorted",
    "toSpliced",
    "unshift",
    "values",
    "with",
];

const TEXT: &[&str] = &[
    "anchor",
    "at",
    "big",
    "blink",
    "bold",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "fixed",
    "fontcolor",
    "fontsize",
    "includes",
    "indexOf",
    "isWellFormed",
    "italics",
    "lastIndexOf",
    "link",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "small",
    "split",
    "startsWith",
    "strike",
    "sub",
    "substr",
    "substring",
    "sup",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
];

const NUMBER: &[&str] = &["toExponential", "toFixed", "toPrecision"];

const FUNCTION: &[&str] =
    &["apply", "arguments", "bind", "call", "caller", "length", "name", "prototype"];

/// Whether a value of a kind inherits a name in JavaScript.
pub(crate) fn is_inherited(kind: Kind, name: &str) -> bool {
    let own = match kind {
        Kind::List => LIST,
        Kind::Text => TEXT,
        Kind::Number => NUMBER,
        Kind::Function => FUNCTION,
        Kind::Bool
        | Kind::Record
        | Kind::Map
        | Kind::Set
        | Kind::Date
        | Kind::Regex
        | Kind::Iterator => &[][..],
    };
    own.contains(&name) || OBJECT.contains(&name)
}
