//! Scripts that exceed limits: each of them ends, with the same result on every machine.

use meantime_core::Limits;

use crate::host::{eval_with, program};
use meantime_script::compile_script;

fn run(text: &str) -> String {
    let limits = Limits {
        value_bytes: 1 << 20,
        string_bytes: 1 << 16,
        entries: 1_000,
        call_depth: 32,
        ..Limits::default()
    };
    eval_with(text, "{}", &limits)
}

const CALLS: &str = "fault call_depth_limit: more than 32 calls within calls";
const VALUES: &str = "fault value_limit: values take more than 1048576 bytes";
const STRING: &str = "fault string_limit: a string has more than 65536 bytes";
const ENTRIES: &str = "fault entries_limit: a list or object has more than 1000 entries";

/// A script, and how it ends.
const HOSTILE: &[(&str, &str)] = &[
    ("function f() { return f() } return f()", CALLS),
    ("const f = x => g(x); const g = x => f(x); return f(1)", CALLS),
    ("function f(n) { return [1].map(() => f(n + 1)) } return f(0)", CALLS),
    ("function f(n) { return [2, 1].sort(() => f(n + 1)) } return f(0)", CALLS),
    ("let s = \"x\"; while (true) { s += s }", STRING),
    ("return \"x\".repeat(100000000000)", STRING),
    ("return \"x\".padStart(9007199254740991)", STRING),
    ("return \"abc\".replaceAll(\"\", \"y\".repeat(60000))", STRING),
    ("let a = \"x\".repeat(60000); return `${a}${a}`", STRING),
    ("return \"ab\".repeat(30000).split(\"\")", ENTRIES),
    ("let l = []; while (true) { l.push(1) }", ENTRIES),
    ("let l = [1]; while (true) { l = l.concat(l) }", ENTRIES),
    ("let l = [1]; while (true) { l = [...l, ...l] }", ENTRIES),
    ("let o = {}; for (let i = 0; ; i++) { o[\"k\" + i] = i }", ENTRIES),
    ("return Array.from({ length: 100000 })", ENTRIES),
    ("let l = [1]; while (true) { l.unshift(...l) }", ENTRIES),
    ("let all = []; for (let i = 0; ; i++) { all.push(\"x\".repeat(60000) + i) }", VALUES),
    (
        "let n = null; while (true) { n = { next: n, pad: \"x\".repeat(1000) + Math.random() } }",
        VALUES,
    ),
    (
        "let l = []; l[999999] = 1; return l",
        "threw TypeError: index 999999 is behind the end of the list (0) and would leave holes",
    ),
    (
        "let o = {}; o.o = o; return JSON.stringify(o)",
        "threw TypeError: the value cannot be written as JSON: it contains itself",
    ),
    (
        "let l = []; for (let i = 0; i < 300; i++) { l = [l] } return l",
        "the result: the value cannot be written as JSON: it is nested too deeply",
    ),
    (
        "return JSON.parse(\"[\".repeat(500))",
        "threw TypeError: this JSON cannot be kept unchanged: nested deeper than 256 levels at line 1 column 257",
    ),
    (
        "let a = []; a.push(a); return `${a}`",
        "threw TypeError: the list is nested too deeply to be a string",
    ),
    (
        "let a = [1]; a.push(a); return a.flat(1000000).length",
        "threw TypeError: the list is nested too deeply to be flat",
    ),
    ("let a = []; a.push(a, a); return a.flat(60)", ENTRIES),
    ("let a = 1; for (let i = 0; i < 60; i++) { a = [a, a] } return `${a}`.length", "threw"),
    ("let a = 1; for (let i = 0; i < 60; i++) { a = [a, a] } return JSON.stringify(a)", "fault"),
    ("let a = 1; for (let i = 0; i < 60; i++) { a = { a, b: a } } return a", "fault"),
    ("let a = 1; for (let i = 0; i < 60; i++) { a = [a, a] } Log.info(a)", "fault"),
    (
        "return (9007199254740991).toFixed(101)",
        "threw RangeError: `toFixed` gives between 0 and 100 digits",
    ),
    ("return Math.max(...Array.from({ length: 900 }).fill(1), ...[2])", "2"),
    ("let x = 1; for (let i = 0; i < 100; i++) { x = x * 10 } return x", "1.0000000000000006e+100"),
    ("return [3, 1, 2].sort((a, b) => { throw \"no\" })", "threw no"),
    (
        "let l = [3, 1, 2]; l.sort((a, b) => { l.length; l.pop(); return a - b }); return l.length <= 3",
        "true",
    ),
    ("let l = [1, 2, 3]; l.map(x => l.pop()); return l", "[1]"),
    ("let l = [1]; let n = 0; l.forEach(x => { l.push(x); n++ }); return n", "1"),
    ("return \"x\"[\"__proto__\"]", "threw TypeError: `__proto__` of a string is not a value here"),
    ("return ({})[\"constructor\"]", "threw TypeError: `constructor` of an object is not a value"),
    ("return [][\"prototype\"]", "null"),
    ("throw { get: 1 }", "threw {\"get\":1}"),
    ("try { while (true) { throw 1 } } finally { return 2 }", "2"),
    (
        "let n = 0; for (let i = 0; i < 20000; i++) { try { null.x } catch (e) { n++ } } return n",
        "20000",
    ),
    (
        "let n = 0; for (let i = 0; i < 3000; i++) { n += \"abc\".repeat(1000).length } return n",
        "9000000",
    ),
    ("let k = 0; for (const c of \"é\".repeat(900)) { k++ } return k", "900"),
    ("return Object.fromEntries(Array.from({ length: 2000 }))", ENTRIES),
    ("return [1, 2].reduce((a, b) => a.x.y)", "threw TypeError: cannot read `y` of undefined"),
    (
        "let f = x => x; for (let i = 0; i < 1000; i++) { const g = f; f = y => g(y) } return f(1)",
        CALLS,
    ),
    (
        "let a = \"a\"; return a.localeCompare(\"b\")",
        "threw TypeError: a string has no method `localeCompare`",
    ),
    (
        "return Time.add(Time.now(), \"P99999999999Y\")",
        "threw RangeError: time out of range: the end of the duration",
    ),
    ("return Time.format(Time.now(), \"'\".repeat(2000)).length", "1000"),
];

#[test]
fn hostile_scripts_meet_their_limits() {
    let mut wrong = Vec::new();
    for (text, wanted) in HOSTILE {
        let found = run(text);
        if !found.starts_with(wanted) {
            wrong.push(format!(
                "{text}\n  wanted {wanted}\n  found  {}",
                found.chars().take(200).collect::<String>()
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Nesting is limited before the stack is used up: these sources are read or refused, and nothing
/// overflows.
#[test]
fn deep_sources_do_not_overflow() {
    let deep = |open: &str, inner: &str, close: &str, times: usize| {
        format!("return {}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let mut sources = Vec::new();
    for times in [20, 95, 150, 300, 2_000, 20_000] {
        sources.push(deep("(", "1", ")", times));
        sources.push(deep("[", "1", "]", times));
        sources.push(deep("{a:", "1", "}", times));
        sources.push(deep("-", "1", "", times));
        sources.push(deep("!", "1", "", times));
        sources.push(deep("await ", "1", "", times));
        sources.push(deep("x => ", "1", "", times));
        sources.push(deep("f(", "1", ")", times));
        sources.push(deep("`${", "1", "}`", times));
        sources.push(deep("1 ? ", "1", " : 1", times));
        sources.push(deep("1 + ", "1", "", times));
        sources.push(deep("1 ** ", "1", "", times));
        sources.push(deep("1 && ", "1", "", times));
        sources.push(deep("x", "", ".y", times));
        sources.push(deep("x", "", "[0]", times));
        sources.push(deep("x", "", "()", times));
        sources.push(deep("x = ", "1", "", times));
        sources.push(format!("{}{}", "{".repeat(times), "}".repeat(times)));
        sources.push(format!("{}1", "if (1) ".repeat(times)));
        sources.push(format!("{}1", "while (0) ".repeat(times)));
        sources.push(format!("{}1", "if (1) {} else ".repeat(times)));
        sources.push(format!("{}1{}", "function f() { ".repeat(times), "}".repeat(times)));
        sources.push(format!("{}{}", "try { ".repeat(times), "} finally {}".repeat(times)));
        sources.push(format!("let {}a{} = 1", "[".repeat(times), "]".repeat(times)));
        sources.push(format!("let {}a{} = 1", "{a: ".repeat(times), "}".repeat(times)));
        sources.push(format!("{}1", "l: ".repeat(times)));
        sources.push("(".repeat(times));
        sources.push("`${".repeat(times));
        sources.push("}".repeat(times));
    }
    for source in sources {
        let compiled = compile_script(&source.as_str().into(), "deep.flow.js");
        let _ = format!("{:?}", compiled.diagnostics);
    }
}

/// The cost of compiling grows linearly with the length of a source.
#[test]
fn long_sources_are_compiled() {
    let many = |line: fn(usize) -> String| (0..20_000).map(line).collect::<Vec<_>>().join("\n");
    let sources = [
        many(|n| format!("let v{n} = {n}")),
        many(|n| format!("v{n} = {n}")),
        many(|n| format!("const f{n} = x => x + {n}")),
        many(|n| format!("undefined_{n}()")),
        many(|n| format!("if (Inputs.a == {n}) {{ await Task.run(\"t{n}\", {{}}) }}")),
    ];
    for source in sources {
        let compiled = compile_script(&source.as_str().into(), "long.flow.js");
        assert!(compiled.diagnostics.len() <= 200);
    }
    let waits = many(|n| format!("let v{n} = {n}")) + "\nawait Task.delay(1)";
    let program = program(&waits);
    assert_eq!(program.workflows().len(), 1);
}
