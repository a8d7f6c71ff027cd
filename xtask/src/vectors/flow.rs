//! Expressions for flow scripts: every operator on every kind of value, every method with every
//! kind of argument, and forms of the language, chosen by a seed where all of them are too many.

/// Values of every kind, as they are written.
const VALUES: &[&str] = &[
    "undefined",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "7",
    "42",
    "255",
    "-17",
    "0.5",
    "1.5",
    "-2.5",
    "0.1",
    "1e21",
    "1e-7",
    "123456789.125",
    "9007199254740991",
    "4294967296",
    "NaN",
    "Infinity",
    "-Infinity",
    "''",
    "' '",
    "'0'",
    "'1'",
    "'-1'",
    "'1.5'",
    "'abc'",
    "'ABC'",
    "'0x1f'",
    "' 12 '",
    "'1e3'",
    "'Infinity'",
    "'a,b'",
    "'é'",
    "'😀'",
    "[]",
    "[1]",
    "[1, 2]",
    "['b', 'a']",
    "[[1], [2, 3]]",
    "[null]",
    "[undefined, 1]",
    "{}",
    "{ a: 1 }",
    "{ b: 2, 1: 'x' }",
];

/// Numbers, from the smallest to the largest.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "-1.5",
    "-2.5",
    "1.005",
    "1.45",
    "8.345",
    "0.000001",
    "1e-7",
    "1.23e-10",
    "5e-324",
    "2.2250738585072014e-308",
    "123.456",
    "1234.5678",
    "0.1 + 0.2",
    "1 / 3",
    "2 / 3",
    "100",
    "255",
    "256",
    "1e6",
    "1e15",
    "1e20",
    "1e21",
    "1.5e21",
    "123456789012345680000",
    "9007199254740991",
    "9007199254740992",
    "4294967295",
    "4294967296",
    "2147483648",
    "1e100",
    "1.7976931348623157e308",
    "NaN",
    "Infinity",
    "-Infinity",
    "0.49999999999999994",
    "4503599627370497.5",
    "25",
    "35.5",
    "1e-10",
    "99.995",
    "-1.005",
    "10.235",
    "0.3",
    "3.14159",
    "-255",
    "-0.1",
];

const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'abc'",
    "'ABC'",
    "'hello world'",
    "'a,b,,c'",
    "'  pad  '",
    "'aXbXc'",
    "'aaa'",
    "'$&'",
    "'0123456789'",
    "'é'",
    "'Straße'",
    "'ΑΣ'",
    "'İ'",
    "'😀'",
    "'a😀b'",
    "'\\n\\t x\\u00a0'",
    "'\\ufeffx'",
    "'1,2;3'",
];

const LISTS: &[&str] = &[
    "[]",
    "[1]",
    "[1, 2, 3]",
    "[3, 1, 2]",
    "[10, 9, 1]",
    "['b', 'a', 'C']",
    "[1, 'a', null]",
    "[undefined, 1, null]",
    "[[1, 2], [3, [4, [5]]]]",
    "[NaN, -0, 0]",
    "[true, false]",
    "[{ a: 1 }, { a: 2 }]",
    "[1, 1, 2, 1]",
    "['1', 1, '01']",
    "['a', undefined, 'b']",
    "[-1, -2, 5, 40, 100]",
    "['é', 'z', 'a', '😀']",
];

const OBJECTS: &[&str] = &[
    "{}",
    "{ a: 1 }",
    "{ a: 1, b: 2 }",
    "{ b: 1, a: 2 }",
    "{ 2: 'x', 1: 'y', a: 0 }",
    "{ a: undefined, b: null }",
    "{ a: { b: { c: 1 } } }",
    "{ a: [1, { b: 2 }] }",
    "{ '01': 1, 1: 2 }",
    "{ a: NaN, b: -0 }",
    "{ x: 'é', y: '\\u2028' }",
    "{ length: 2, 0: 'p', 1: 'q' }",
];

const BINARY: &[&str] = &[
    "+", "-", "*", "/", "%", "**", "==", "!=", "===", "!==", "<", "<=", ">", ">=", "&&", "||", "??",
];

const BITS: &[&str] = &["&", "|", "^", "<<", ">>", ">>>"];

/// Methods of strings and what they are called with, most of the time with sense.
const TEXT_METHODS: &[(&str, &[&str])] = &[
    ("includes", SEARCHES),
    ("indexOf", SEARCHES),
    ("lastIndexOf", SEARCHES),
    ("startsWith", SEARCHES),
    ("endsWith", SEARCHES),
    ("slice", PLACES),
    ("substring", PLACES),
    ("at", ONE_PLACE),
    ("charAt", ONE_PLACE),
    ("charCodeAt", ONE_PLACE),
    ("codePointAt", ONE_PLACE),
    (
        "split",
        &[
            "",
            "','",
            "''",
            "'X'",
            "', '",
            "',', 2",
            "',', 0",
            "',', -1",
            "'b'",
            "undefined",
            "undefined, 0",
            "null",
            "1",
        ],
    ),
    ("trim", &[""]),
    ("trimStart", &[""]),
    ("trimEnd", &[""]),
    ("toUpperCase", &[""]),
    ("toLowerCase", &[""]),
    ("toString", &[""]),
    ("replace", REPLACES),
    ("replaceAll", REPLACES),
    ("padStart", PADS),
    ("padEnd", PADS),
    ("repeat", &["0", "1", "3", "'2'", "-1", "Infinity", "1.9", "NaN", "-0.5"]),
    ("concat", &["", "'x'", "1, null", "[1], {}", "undefined"]),
    ("hasOwnProperty", &["0", "'length'", "'x'", "9"]),
];

const SEARCHES: &[&str] = &[
    "'a'",
    "'b'",
    "''",
    "'X'",
    "'lo'",
    "'a', 1",
    "'b', 1",
    "'', 2",
    "'a', -1",
    "'b', 99",
    "undefined",
    "null",
    "1",
    "'aa'",
    "'c', 3",
    "'a', NaN",
    "'a', '1'",
    "'l', 3",
    "'😀'",
    "'😀', 1",
    "'b', 2",
    "'b', Infinity",
    "'', 99",
    "'o', 4.9",
];
const PLACES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "1, 2",
    "2, 1",
    "-2, -1",
    "0, -1",
    "NaN",
    "undefined",
    "undefined, 2",
    "'1'",
    "1.9",
    "Infinity",
    "-Infinity",
    "0, 99",
    "null, 1",
    "3",
    "1, undefined",
    "-99, 2",
];
const ONE_PLACE: &[&str] =
    &["0", "1", "-1", "2", "99", "-99", "NaN", "'1'", "1.9", "undefined", "null", "Infinity"];
const REPLACES: &[&str] = &[
    "'a', 'b'",
    "'a', ''",
    "'', '-'",
    "'X', '$&$&'",
    "'a', '$$'",
    "'b', \"$`|$'\"",
    "'b', '$1'",
    "'a', '[$&]'",
    "'zz', 'y'",
    "'a', null",
    "'a', undefined",
    "undefined, 'u'",
    "1, 2",
    "'b', '$'",
    "'b', '$0'",
    "'b', '$<x>'",
    "'o', x => x.toUpperCase()",
    "'a', '$$&'",
];
const PADS: &[&str] = &[
    "5",
    "5, 'x'",
    "5, 'ab'",
    "0",
    "-1",
    "2, ''",
    "6, undefined",
    "4, 1",
    "'7', '-'",
    "3, null",
    "NaN",
    "7, '😀'",
    "8, 'é'",
];

const LIST_METHODS: &[(&str, &[&str])] = &[
    ("map", CALLBACKS),
    ("filter", CALLBACKS),
    ("forEach", CALLBACKS),
    ("find", CALLBACKS),
    ("findIndex", CALLBACKS),
    ("some", CALLBACKS),
    ("every", CALLBACKS),
    ("flatMap", &["x => [x, x]", "x => x", "(x, i) => [[i]]", "x => []", "1"]),
    (
        "reduce",
        &[
            "(a, x) => a + x",
            "(a, x) => a + x, 0",
            "(a, x) => a + x, ''",
            "(a, x, i) => a + i, 0",
            "(a, x, i, l) => l.length, 0",
            "(a, x) => [...a, x], []",
            "Math.max",
            "(a, x) => x, undefined",
        ],
    ),
    (
        "sort",
        &[
            "",
            "undefined",
            "(a, b) => a - b",
            "(a, b) => b - a",
            "() => 0",
            "() => 1",
            "() => -1",
            "(a, b) => a > b",
            "(a, b) => a < b ? -1 : 1",
            "null",
            "1",
            "(a, b) => NaN",
            "(a, b) => String(a) < String(b) ? -1 : 1",
        ],
    ),
    ("includes", ITEMS),
    ("indexOf", ITEMS),
    ("lastIndexOf", ITEMS),
    ("concat", &["", "4", "[4, 5]", "[[4]], 5", "'ab'", "null", "undefined", "{ a: 1 }"]),
    ("slice", PLACES),
    ("at", ONE_PLACE),
    (
        "splice",
        &[
            "",
            "0",
            "1",
            "1, 1",
            "1, 0, 'n'",
            "-1",
            "-1, 1",
            "0, 99",
            "undefined",
            "0, undefined",
            "0, -1",
            "99, 1, 'e'",
            "'1', '1'",
            "0, 0, 1, 2",
            "NaN, 1",
        ],
    ),
    ("push", &["", "1", "1, 2", "[3]", "undefined"]),
    ("unshift", &["", "1", "1, 2", "null"]),
    ("pop", &[""]),
    ("shift", &[""]),
    ("reverse", &[""]),
    ("join", &["", "'-'", "''", "undefined", "null", "1", "', '", "[1]"]),
    ("flat", &["", "0", "1", "2", "Infinity", "-1", "'2'", "undefined", "NaN"]),
    ("fill", &["0", "'x', 1", "0, 0, 1", "0, -1", "0, 1, -1", "[1]", "undefined", "7, NaN, 2"]),
    ("toString", &[""]),
    ("hasOwnProperty", &["0", "'0'", "'length'", "'map'", "5"]),
];

const CALLBACKS: &[&str] = &[
    "x => x",
    "(x, i) => i",
    "(x, i, l) => l.length",
    "x => x > 1",
    "x => !x",
    "x => typeof x",
    "x => [x]",
    "String",
    "Number",
    "Boolean",
    "parseInt",
    "x => x === undefined",
    "(x, i) => i > 0",
    "x => { throw new Error('e') }",
    "x => { throw x }",
    "1",
    "undefined",
    "isNaN",
    "Number.isInteger",
    "Array.isArray",
    "x => `${x}`",
    "({ a }) => a",
    "([a]) => a",
];
const ITEMS: &[&str] = &[
    "1",
    "2",
    "NaN",
    "0",
    "-0",
    "undefined",
    "null",
    "'a'",
    "1, 1",
    "1, -1",
    "1, 99",
    "1, -99",
    "'1'",
    "true",
    "1, NaN",
    "1, undefined",
    "2, '1'",
];

const NUMBER_METHODS: &[(&str, &[&str])] = &[
    (
        "toFixed",
        &[
            "",
            "0",
            "1",
            "2",
            "3",
            "5",
            "10",
            "20",
            "21",
            "100",
            "101",
            "-1",
            "NaN",
            "'2'",
            "1.9",
            "undefined",
        ],
    ),
    (
        "toPrecision",
        &["", "1", "2", "3", "5", "15", "17", "21", "100", "0", "101", "undefined", "'3'"],
    ),
    ("toExponential", &["", "0", "1", "2", "5", "17", "20", "-1", "undefined"]),
    (
        "toString",
        &[
            "",
            "2",
            "3",
            "7",
            "8",
            "10",
            "16",
            "20",
            "32",
            "36",
            "1",
            "37",
            "undefined",
            "'16'",
            "16.9",
        ],
    ),
];

const MATH: &[&str] = &[
    "abs", "ceil", "floor", "round", "trunc", "sign", "sqrt", "cbrt", "exp", "log", "log2",
    "log10", "sin", "cos", "tan",
];

/// Functions whose last digits the standard leaves to the implementation, and where ours differ
/// from Node's now and then. They are compared with a tolerance, apart from the others.
const OPEN: &[&str] = &["cbrt", "cos", "exp", "log", "log10", "pow", "sin"];

/// Those that differ on arguments that are always tried; the others are also among the exact ones.
const OFTEN_OTHERWISE: &[&str] = &["cbrt", "cos", "log10", "sin"];

const TO_NUMBER: &[&str] = &[
    "'12'",
    "'12px'",
    "'0x1f'",
    "'-0x1f'",
    "'0b11'",
    "'0o17'",
    "' 42 '",
    "'\\u00a07\\ufeff'",
    "''",
    "' '",
    "'.5'",
    "'5.'",
    "'.'",
    "'1e3'",
    "'1e'",
    "'-1.5e-3'",
    "'1e1000'",
    "'-'",
    "'+7'",
    "'+-7'",
    "'Infinity'",
    "'-Infinityx'",
    "'infinity'",
    "'NaN'",
    "'1_000'",
    "'1,5'",
    "'0.1.2'",
    "'z'",
    "'ff'",
    "'zz'",
    "'101'",
    "'-0'",
    "'00012'",
    "'9007199254740993'",
    "'123456789012345678901234567890'",
    "'0x20000000000001'",
    "'1n'",
    "'12e2'",
    "'077'",
    "'  -9 z'",
    "'\\n3\\t'",
    "'٣'",
    "'0X1F'",
    "'0x'",
    "'e5'",
    "'1 2'",
    "'--1'",
    "'1.7976931348623159e308'",
    "'5e-324'",
    "'2e-324'",
];

const JSON_TEXTS: &[&str] = &[
    "1",
    "-0",
    "1.50",
    "1e3",
    "true",
    "null",
    "\"a\"",
    "[1,2]",
    "{\"a\":1}",
    " [ 1 , 2 ] ",
    "{\"b\":1,\"a\":2}",
    "{\"2\":1,\"1\":2}",
    "",
    "{",
    "[1,]",
    "{a:1}",
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
    "\\u0041",
    "\"\\\\u0041\"",
    "\"\\\\ud83d\\\\ude00\"",
    "\"\\\\ud83d\"",
    "\"\\\\x41\"",
    "[[[[1]]]]",
    "{\"a\":{\"a\":1}}",
    "{\"a\":1,\"a\":2}",
    "9007199254740993",
    "1e400",
    "12345678901234567890",
    "'a'",
    "undefined",
    "[1] 2",
    "tru",
    "\"\\t\"",
    "-",
    "1e",
    "\"a",
];

/// Forms of the language, each a case of its own.
const FORMS: &str = include_str!("forms.txt");

/// A generator of numbers that is the same everywhere.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap_or(0)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.get(self.below(of.len())).copied().unwrap_or("0")
    }
}

/// Expressions without repetition, in a fixed order.
pub(super) struct Expressions {
    /// Those that have one value.
    pub(super) exact: Vec<String>,
    /// Calls of functions whose last digits are open.
    pub(super) near: Vec<String>,
}

pub(super) fn expressions() -> Expressions {
    let mut dice = Dice(0x006d_6561_6e74_696d);
    let mut all = Vec::new();
    operators(&mut dice, &mut all);
    methods(&mut dice, &mut all);
    library(&mut dice, &mut all);
    nested(&mut dice, &mut all);
    all.extend(FORMS.lines().filter(|it| !it.is_empty()).map(str::to_owned));
    bases(&mut dice, &mut all);
    functions(&mut dice, &mut all);
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|it| seen.insert(it.clone()));
    let calls = |it: &str, names: &[&str]| {
        names.iter().any(|name| it.starts_with(&format!("Math.{name}(")))
    };
    let (mut near, exact): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| calls(it, OFTEN_OTHERWISE));
    near.extend(open_functions(&mut dice));
    near.retain(|it| seen.insert(format!("near {it}")));
    Expressions { exact, near }
}

/// A number as scripts have them: small or large, whole or with a few digits behind the point.
fn any_number(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => format!("{}", dice.below(1000)),
        1 => format!("{}.{}", dice.below(100), dice.below(100)),
        2 => format!("0.{:09}{:07}", dice.below(1_000_000_000), dice.below(10_000_000)),
        _ => format!("{}.{}", dice.below(1_000_000), dice.below(1_000_000_000)),
    }
}

/// Numbers to other bases.
fn bases(dice: &mut Dice, all: &mut Vec<String>) {
    for radix in ["2", "3", "7", "8", "16", "20", "32", "36"] {
        for _ in 0..25 {
            all.push(format!("({}).toString({radix})", any_number(dice)));
        }
        for power in ["53", "54", "64", "65", "200"] {
            all.push(format!("(2 ** {power} + 2 ** ({power} - 50)).toString({radix})"));
        }
    }
}

/// Functions that are computed alike everywhere, to the last digit.
fn functions(dice: &mut Dice, all: &mut Vec<String>) {
    for name in ["sqrt", "log2", "tan"] {
        for _ in 0..50 {
            all.push(format!("Math.{name}({})", any_number(dice)));
        }
    }
    for name in ["atan2", "hypot"] {
        for _ in 0..50 {
            all.push(format!("Math.{name}({}, {})", any_number(dice), any_number(dice)));
        }
    }
    for _ in 0..50 {
        let (one, other, third) = (any_number(dice), any_number(dice), any_number(dice));
        all.push(format!("Math.hypot({one}, {other}, {third})"));
    }
    // Where the result is a whole number it is that, and nothing near it.
    for shape in [
        "[$0, $1, $2, $3, $4, $5, $6, $7].map(k => Math.cbrt(k * k * k))",
        "[1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e9, 1e15, 1e22, 0.1, 0.01, 1e-7].map(x => Math.log10(x))",
        "[0, -0].map(x => [Math.sin(x), Math.cos(x), Math.cbrt(x), Math.log10(x)])",
        "[NaN, Infinity, -Infinity].map(x => [Math.sin(x), Math.cos(x), Math.cbrt(x), Math.log10(x)])",
    ] {
        let mut text = shape.to_owned();
        for place in 0..8 {
            text = text.replace(&format!("${place}"), &dice.below(1000).to_string());
        }
        all.push(text);
    }
}

fn open_functions(dice: &mut Dice) -> Vec<String> {
    let mut all = Vec::new();
    for name in OPEN {
        for _ in 0..200 {
            all.push(match *name {
                "pow" => format!("Math.pow({}, {})", any_number(dice), any_number(dice)),
                name => format!("Math.{name}({})", any_number(dice)),
            });
        }
    }
    all
}

/// A literal in parentheses where it would mean something else without.
fn value(text: &str) -> String {
    if text.starts_with(['{', '-']) || text.contains(' ') && !text.starts_with(['\'', '[']) {
        format!("({text})")
    } else {
        text.to_owned()
    }
}

fn operators(dice: &mut Dice, all: &mut Vec<String>) {
    for op in BINARY {
        for _ in 0..120 {
            let (left, right) = (value(dice.one(VALUES)), value(dice.one(VALUES)));
            all.push(format!("{left} {op} {right}"));
        }
    }
    for op in BITS {
        for _ in 0..10 {
            let (left, right) = (value(dice.one(VALUES)), value(dice.one(VALUES)));
            all.push(format!("{left} {op} {right}"));
        }
    }
    for item in VALUES {
        let item = value(item);
        for op in ["-", "+", "!", "typeof ", "!!"] {
            all.push(format!("{op}{item}"));
        }
        for shape in [
            "`<${$V}>`",
            "[...[$V]]",
            "String($V)",
            "Number($V)",
            "Boolean($V)",
            "$V ? 1 : 2",
            "JSON.stringify($V)",
            "JSON.stringify([$V])",
            "JSON.stringify({ k: $V }, null, 2)",
            "[$V].includes($V)",
            "Array.isArray($V)",
            "isNaN($V)",
            "isFinite($V)",
            "Number.isInteger($V)",
            "Number.isSafeInteger($V)",
            "Number.isNaN($V)",
            "Number.isFinite($V)",
            "parseInt($V)",
            "parseFloat($V)",
            "({ [$V]: 1 })",
            "({ ...$V })",
            "$V?.a",
            "$V?.length",
            "$V?.[0]",
            "($V)['0']",
            "[$V, $V].sort()",
            "[$V].join('-')",
            "Object.is($V, 0)",
            "Array.from($V)",
            "Object.keys($V)",
            "Object.entries($V)",
            "(() => { let x = $V; x++; return x })()",
            "(() => { let x = $V; return [x--, x] })()",
            "(() => { let x = $V; x += 1; return x })()",
            "(() => { let x = 1; x -= $V; return x })()",
            "(() => { try { throw $V } catch (e) { return e } })()",
            "(() => { switch ($V) { case 1: return 'one'; case '1': return 'text'; case null: return 'null'; default: return 'other' } })()",
            "((a = 9) => a)($V)",
            "[...$V]",
            "(([a, b] = $V) => [a, b])()",
            "(({ a, length } = $V) => [a, length])()",
            "'a' in $V",
            "0 in $V",
        ] {
            all.push(shape.replace("$V", &item));
        }
    }
}

fn methods(dice: &mut Dice, all: &mut Vec<String>) {
    let tables = [(TEXTS, TEXT_METHODS), (LISTS, LIST_METHODS), (NUMBERS, NUMBER_METHODS)];
    for (values, table) in tables {
        for (name, calls) in table {
            for args in *calls {
                let rounds = if values == NUMBERS { 6 } else { 3 };
                for _ in 0..rounds {
                    let receiver = dice.one(values);
                    if matches!(
                        *name,
                        "splice"
                            | "push"
                            | "unshift"
                            | "pop"
                            | "shift"
                            | "reverse"
                            | "sort"
                            | "fill"
                    ) {
                        all.push(format!("(() => {{ const a = {receiver}; const r = a.{name}({args}); return [r, a] }})()"));
                    } else if values == NUMBERS {
                        all.push(format!("({receiver}).{name}({args})"));
                    } else {
                        all.push(format!("{receiver}.{name}({args})"));
                    }
                }
            }
        }
    }
    for number in NUMBERS {
        for call in [
            "toFixed(2)",
            "toFixed(0)",
            "toString()",
            "toString(2)",
            "toString(16)",
            "toPrecision(3)",
            "toExponential()",
        ] {
            all.push(format!("({number}).{call}"));
        }
        all.push(format!("String({number})"));
        all.push(format!("JSON.stringify({number})"));
    }
}

fn library(dice: &mut Dice, all: &mut Vec<String>) {
    for name in MATH {
        for number in NUMBERS {
            all.push(format!("Math.{name}({number})"));
        }
        for _ in 0..6 {
            all.push(format!("Math.{name}({})", dice.one(VALUES)));
        }
    }
    for name in ["min", "max", "hypot", "pow", "atan2"] {
        for _ in 0..30 {
            all.push(format!("Math.{name}({}, {})", dice.one(NUMBERS), dice.one(NUMBERS)));
            all.push(format!("Math.{name}({}, {})", dice.one(VALUES), dice.one(VALUES)));
        }
    }
    for text in TO_NUMBER {
        for call in [
            "Number($T)",
            "parseInt($T)",
            "parseFloat($T)",
            "parseInt($T, 16)",
            "parseInt($T, 36)",
            "+$T",
            "$T * 1",
            "$T == 1",
            "$T < 10",
        ] {
            all.push(call.replace("$T", text));
        }
        all.push(format!(
            "parseInt({text}, {})",
            dice.one(&["2", "8", "10", "1", "37", "0", "'16'", "NaN", "null", "3.9", "-1"])
        ));
    }
    for text in JSON_TEXTS {
        let text = text.replace('\'', "\\'");
        all.push(format!("JSON.parse('{text}')"));
    }
    for object in OBJECTS.iter().chain(LISTS) {
        for call in [
            "Object.keys($O)",
            "Object.values($O)",
            "Object.entries($O)",
            "Object.assign({}, $O)",
            "Object.assign({ a: 0, z: 1 }, $O, null)",
            "Object.fromEntries(Object.entries($O))",
            "JSON.stringify($O)",
            "JSON.stringify($O, null, 2)",
            "JSON.stringify($O, ['a', 'b', 1])",
            "JSON.stringify($O, null, '--')",
            "JSON.stringify($O, (k, v) => typeof v === 'number' ? v + 1 : v)",
            "JSON.parse(JSON.stringify($O))",
            "({ ...$O, n: 1 })",
            "Array.from($O)",
            "String($O)",
            "$O + ''",
            "(() => { const r = []; for (const k in $O) r.push(k, typeof k); return r })()",
            "(() => { const o = $O; delete o.a; return o })()",
            "(() => { const { a, ...r } = $O; return [a, r] })()",
            "$O.a?.b?.c",
            "$O?.['a']",
            "($O).hasOwnProperty('a')",
            "'a' in $O",
            "'1' in $O",
        ] {
            all.push(call.replace("$O", &format!("({object})")));
        }
    }
}

/// Expressions within expressions.
fn nested(dice: &mut Dice, all: &mut Vec<String>) {
    for _ in 0..900 {
        all.push(expression(dice, 3));
    }
}

fn expression(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return value(dice.one(VALUES));
    }
    let mut inner = || expression(dice, depth - 1);
    let (one, other) = (inner(), inner());
    match dice.below(10) {
        0 => format!("({one} ? {other} : {})", value(dice.one(VALUES))),
        1 => format!("[{one}, {other}]"),
        2 => format!("`${{{one}}}|${{{other}}}`"),
        3 => format!("String({one})"),
        4 => format!("({{ a: {one}, b: {other} }})"),
        5 => format!("[{one}, {other}].map((x, i) => [i, typeof x])"),
        6 => format!("(x => [x, x {} x])({one})", dice.one(&["+", "-", "*", "===", "<"])),
        7 => format!("[{one}, ...[{other}]].length"),
        _ => format!("({one} {} {other})", dice.one(BINARY)),
    }
}
