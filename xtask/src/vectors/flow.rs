//! Expressions for flow scripts: every operator on every kind of value, every method with every
//! kind of argument, and forms of the language. Where all combinations are too many, a seed chooses
//! some.

mod programs;
mod tables;

pub(super) use programs::programs as all_programs;

use tables::{
    BINARY_OPERATORS, BITWISE_OPERATORS, DATE_TEXTS, DIFFERING_FUNCTIONS, IMPRECISE_FUNCTIONS,
    JSON_TEXTS, LIST_METHODS, LISTS, MATH_FUNCTIONS, NUMBER_METHODS, NUMBER_TEXTS, NUMBERS,
    OBJECTS, PATTERN_TEXTS, PATTERNS, TEXT_METHODS, TEXTS, VALUES,
};

/// Forms of the language, one case per line.
const LANGUAGE_FORMS: &str = include_str!("forms.txt");

/// The same for classes and the objects of the library.
const OBJECT_FORMS: &str = include_str!("objects.txt");

/// A random number generator that gives the same numbers on every machine.
struct SeededChoice(u64);

impl SeededChoice {
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
    /// Expressions with exactly one correct value.
    pub(super) exact: Vec<String>,
    /// Calls of functions whose last digits depend on the implementation.
    pub(super) near: Vec<String>,
}

pub(super) fn expressions() -> Expressions {
    let mut choice = SeededChoice(0x006d_6561_6e74_696d);
    let mut all = Vec::new();
    operators(&mut choice, &mut all);
    methods(&mut choice, &mut all);
    library(&mut choice, &mut all);
    nested(&mut choice, &mut all);
    all.extend(LANGUAGE_FORMS.lines().filter(|it| !it.is_empty()).map(str::to_owned));
    bases(&mut choice, &mut all);
    all.extend(OBJECT_FORMS.lines().filter(|it| !it.is_empty()).map(str::to_owned));
    objects(&mut choice, &mut all);
    functions(&mut choice, &mut all);
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|it| seen.insert(it.clone()));
    let calls = |it: &str, names: &[&str]| {
        names.iter().any(|name| it.starts_with(&format!("Math.{name}(")))
    };
    let (mut near, exact): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| calls(it, DIFFERING_FUNCTIONS));
    near.extend(imprecise_calls(&mut choice));
    near.retain(|it| seen.insert(format!("near {it}")));
    Expressions { exact, near }
}

/// A number of the kind that scripts use: small or large, whole or with a few decimals.
fn any_number(choice: &mut SeededChoice) -> String {
    match choice.below(4) {
        0 => format!("{}", choice.below(1000)),
        1 => format!("{}.{}", choice.below(100), choice.below(100)),
        2 => format!("0.{:09}{:07}", choice.below(1_000_000_000), choice.below(10_000_000)),
        _ => format!("{}.{}", choice.below(1_000_000), choice.below(1_000_000_000)),
    }
}

/// Numbers in other bases.
fn bases(choice: &mut SeededChoice, all: &mut Vec<String>) {
    for radix in ["2", "3", "7", "8", "16", "20", "32", "36"] {
        for _ in 0..25 {
            all.push(format!("({}).toString({radix})", any_number(choice)));
        }
        for power in ["53", "54", "64", "65", "200"] {
            all.push(format!("(2 ** {power} + 2 ** ({power} - 50)).toString({radix})"));
        }
    }
}

/// Functions whose results are the same in every implementation, to the last digit.
fn functions(choice: &mut SeededChoice, all: &mut Vec<String>) {
    for name in ["sqrt", "log2", "tan"] {
        for _ in 0..50 {
            all.push(format!("Math.{name}({})", any_number(choice)));
        }
    }
    for name in ["atan2", "hypot"] {
        for _ in 0..50 {
            all.push(format!("Math.{name}({}, {})", any_number(choice), any_number(choice)));
        }
    }
    for _ in 0..50 {
        let (one, other, third) = (any_number(choice), any_number(choice), any_number(choice));
        all.push(format!("Math.hypot({one}, {other}, {third})"));
    }
    // The exact result is a whole number, so these are compared exactly.
    for shape in [
        "[$0, $1, $2, $3, $4, $5, $6, $7].map(k => Math.cbrt(k * k * k))",
        "[1, 10, 100, 1000, 1e4, 1e5, 1e6, 1e9, 1e15, 1e22, 0.1, 0.01, 1e-7].map(x => Math.log10(x))",
        "[0, -0].map(x => [Math.sin(x), Math.cos(x), Math.cbrt(x), Math.log10(x)])",
        "[NaN, Infinity, -Infinity].map(x => [Math.sin(x), Math.cos(x), Math.cbrt(x), Math.log10(x)])",
    ] {
        let mut text = shape.to_owned();
        for place in 0..8 {
            text = text.replace(&format!("${place}"), &choice.below(1000).to_string());
        }
        all.push(text);
    }
}

fn imprecise_calls(choice: &mut SeededChoice) -> Vec<String> {
    let mut all = Vec::new();
    for name in IMPRECISE_FUNCTIONS {
        for _ in 0..200 {
            all.push(match *name {
                "pow" => format!("Math.pow({}, {})", any_number(choice), any_number(choice)),
                name => format!("Math.{name}({})", any_number(choice)),
            });
        }
    }
    all
}

/// A literal, in parentheses where it would mean something else without them.
fn value(text: &str) -> String {
    if text.starts_with(['{', '-']) || text.contains(' ') && !text.starts_with(['\'', '[']) {
        format!("({text})")
    } else {
        text.to_owned()
    }
}

fn operators(choice: &mut SeededChoice, all: &mut Vec<String>) {
    for op in BINARY_OPERATORS {
        for _ in 0..120 {
            let (left, right) = (value(choice.one(VALUES)), value(choice.one(VALUES)));
            all.push(format!("{left} {op} {right}"));
        }
    }
    for op in BITWISE_OPERATORS {
        for _ in 0..10 {
            let (left, right) = (value(choice.one(VALUES)), value(choice.one(VALUES)));
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

fn methods(choice: &mut SeededChoice, all: &mut Vec<String>) {
    let tables = [(TEXTS, TEXT_METHODS), (LISTS, LIST_METHODS), (NUMBERS, NUMBER_METHODS)];
    for (values, table) in tables {
        for (name, calls) in table {
            for args in *calls {
                let rounds = if values == NUMBERS { 6 } else { 3 };
                for _ in 0..rounds {
                    let receiver = choice.one(values);
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

fn library(choice: &mut SeededChoice, all: &mut Vec<String>) {
    for name in MATH_FUNCTIONS {
        for number in NUMBERS {
            all.push(format!("Math.{name}({number})"));
        }
        for _ in 0..6 {
            all.push(format!("Math.{name}({})", choice.one(VALUES)));
        }
    }
    for name in ["min", "max", "hypot", "pow", "atan2"] {
        for _ in 0..30 {
            all.push(format!("Math.{name}({}, {})", choice.one(NUMBERS), choice.one(NUMBERS)));
            all.push(format!("Math.{name}({}, {})", choice.one(VALUES), choice.one(VALUES)));
        }
    }
    for text in NUMBER_TEXTS {
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
            choice.one(&["2", "8", "10", "1", "37", "0", "'16'", "NaN", "null", "3.9", "-1"])
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

/// Bit operators, collections, dates and regular expressions with arguments of every kind.
fn objects(choice: &mut SeededChoice, all: &mut Vec<String>) {
    for op in BITWISE_OPERATORS {
        for _ in 0..110 {
            let (left, right) = (value(choice.one(VALUES)), value(choice.one(VALUES)));
            all.push(format!("{left} {op} {right}"));
        }
    }
    for item in VALUES {
        let item = value(item);
        for shape in [
            "~$V",
            "void $V",
            "$V instanceof Object",
            "[new Map([[$V, 1]]).get($V), new Set([$V, $V]).size]",
            "[...new Set([$V, 1, $V])]",
            "new Date($V).getTime()",
            "(() => { const d = new Date(0); d.setHours($V); return d.getTime() })()",
            "(() => { const d = new Date(1e12); d.setMonth($V, 1); return d.toISOString() })()",
            "structuredClone($V)",
            "encodeURIComponent($V)",
            "btoa($V)",
            "new Error($V).message",
            "[1, 2, 3].with(0, $V)",
            "[3, $V, 1].toSorted()",
            "[$V].toReversed()",
            "Math.clz32($V)",
            "Math.imul($V, 3)",
            "Math.fround($V)",
            "(() => { class A { x = $V } return new A() })()",
            "(() => { const o = { get a() { return $V } }; return o.a })()",
            "(() => { var v = $V; { var v = [v] } return v })()",
            "/a/.test($V)",
            "'a1'.replace(/\\d/, $V)",
            "new RegExp('a').exec($V)",
            "Object.isFrozen($V)",
            "Object.freeze({ k: $V })",
        ] {
            all.push(shape.replace("$V", &item));
        }
    }
    for pattern in PATTERNS {
        for text in PATTERN_TEXTS {
            for shape in [
                "$P.test($T)",
                "$P.exec($T)",
                "$T.match($P)",
                "$T.replace($P, '[$&]')",
                "$T.split($P)",
                "$T.search($P)",
            ] {
                all.push(shape.replace("$P", pattern).replace("$T", text));
            }
        }
    }
    for _ in 0..400 {
        let number = |choice: &mut SeededChoice, range: usize| {
            let whole = choice.below(range * 2).to_string();
            if choice.below(4) == 0 { format!("-{whole}") } else { whole }
        };
        let (year, month, day) =
            (1500 + choice.below(1000), number(choice, 12), number(choice, 31));
        let (hour, minute) = (number(choice, 24), number(choice, 60));
        let call = choice.one(&[
            "toISOString()",
            "toString()",
            "toUTCString()",
            "getTime()",
            "getDay()",
            "toDateString()",
            "getUTCDate()",
        ]);
        all.push(format!("new Date({year}, {month}, {day}, {hour}, {minute}).{call}"));
    }
    for date in DATE_TEXTS {
        all.push(format!("new Date({date}).getTime()"));
    }
}

/// Expressions within expressions.
fn nested(choice: &mut SeededChoice, all: &mut Vec<String>) {
    for _ in 0..900 {
        all.push(expression(choice, 3));
    }
}

fn expression(choice: &mut SeededChoice, depth: usize) -> String {
    if depth == 0 {
        return value(choice.one(VALUES));
    }
    let mut inner = || expression(choice, depth - 1);
    let (one, other) = (inner(), inner());
    match choice.below(10) {
        0 => format!("({one} ? {other} : {})", value(choice.one(VALUES))),
        1 => format!("[{one}, {other}]"),
        2 => format!("`${{{one}}}|${{{other}}}`"),
        3 => format!("String({one})"),
        4 => format!("({{ a: {one}, b: {other} }})"),
        5 => format!("[{one}, {other}].map((x, i) => [i, typeof x])"),
        6 => format!("(x => [x, x {} x])({one})", choice.one(&["+", "-", "*", "===", "<"])),
        7 => format!("[{one}, ...[{other}]].length"),
        _ => format!("({one} {} {other})", choice.one(BINARY_OPERATORS)),
    }
}
