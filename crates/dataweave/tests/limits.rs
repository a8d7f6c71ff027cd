//! Hostile scripts end with an error, never with a hang, a crash or excessive memory.

use meantime_core::Timestamp;
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use proptest::prelude::*;

fn context() -> EvalContext {
    let limits = EvalLimits {
        ops: 300_000,
        bytes: 8 << 20,
        text_bytes: 1 << 20,
        output_bytes: 1 << 16,
        ..EvalLimits::default()
    };
    EvalContext { now: Timestamp::from_millis(0), seed: 7, limits }
}

/// The code of the failure; panics if there is none.
fn failure(script: &str) -> String {
    let compilation = Script::compile(script, &[]);
    let Some(script) = compilation.script else {
        let error = compilation.diagnostics.first().expect("a reason");
        return error.code.clone();
    };
    let error = script.evaluate_to_json(Vec::new(), &context()).expect_err("a limit");
    error.code().to_owned()
}

#[test]
fn budgets_hold_for_hostile_scripts() {
    for script in [
        // Operations.
        "(1 to 1000000000000) map $",
        "(1 to 9223372036854775807) filter false",
        "sum(1 to 1000000000000)",
        "(1 to 100000) map ((x) -> (1 to 100000) reduce ($ + $$))",
        "sizeOf((1 to 1000000) ++ (1 to 1000000))",
        "(1 to 1000000) joinBy ','",
        "0.5 to 1000000000000",
        // Recursion, also tail recursion.
        "do { fun f(x) = f(x + 1) --- f(0) }",
        "do { fun f(x) = 1 + f(x + 1) --- f(0) }",
        "do { fun f(x) = g(x) fun g(x) = [f(x)] --- f(0) }",
        "do { var f = (g) -> g(g) --- f(f) }",
        // Growth of texts.
        "(1 to 100) reduce ((i, acc = 'ab') -> acc ++ acc)",
        "(1 to 100) reduce ((i, acc = 'ab') -> \"$(acc)$(acc)\")",
        "'ab' dw::core::Strings::repeat 1000000000",
        "dw::core::Strings::leftPad('a', 1000000000)",
        "(1 to 40) reduce ((i, acc = 'aa') -> acc replace 'a' with 'aaaa')",
        "dw::core::Strings::replaceAll((1 to 30) reduce ((i, acc = 'aa') -> acc), '', 'x') then \
         (1 to 60) reduce ((i, acc = 'aa') -> dw::core::Strings::replaceAll(acc, 'a', 'aaa'))",
        // Growth of arrays and objects.
        "(1 to 100) reduce ((i, acc = [1]) -> acc ++ acc)",
        "(1 to 100) reduce ((i, acc = {a: 1}) -> acc ++ acc)",
        // Depth of data and of nested functions.
        "(1 to 100000) reduce ((i, acc = []) -> [acc])",
        "(1 to 100000) reduce ((i, acc = {}) -> {a: acc})",
        "(1 to 10000) reduce ((i, acc = () -> 1) -> () -> [acc])",
        // Numbers.
        "9 pow 1000000000",
        "(1 to 100) reduce ((i, acc = 3) -> acc * acc)",
        "1e1000000000",
        "dw::core::Numbers::fromHex(dw::core::Strings::repeat('f', 1000000))",
        // The result itself.
        "(1 to 60000) map 'abcdef'",
        "1 to 100000000",
        // Sorting.
        "(1 to 1000000) orderBy -$",
    ] {
        let code = failure(script);
        let is_limit = code == "dataweave_limit" || code == "dataweave_syntax";
        assert!(is_limit, "{script}: {code}");
    }
}

#[test]
fn regular_expressions_cannot_take_for_ever() {
    let script = r"(dw::core::Strings::repeat('a', 300) ++ 'd') matches /((a|a)+)\1[bc]/";
    let code = failure(script);
    assert!(code == "dataweave_limit", "{code}");
}

#[test]
fn nesting_of_the_source_is_bounded() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{a: ", "}"),
        ("{(", ")}"),
        ("-", ""),
        ("!", ""),
        ("not ", ""),
        ("if (true) ", " else 1"),
        ("if (", ") 1 else 2"),
        ("(x) -> ", ""),
        ("do { ", " }"),
        ("\"$(", ")\""),
        ("f(", ")"),
        ("1 as {a: ", "}"),
        ("1 is ((", ") -> Any)"),
        ("1 match { case x if (", ") -> 1 }"),
        ("(a = ", ")"),
        ("using (a = ", ") 1"),
    ] {
        let script = format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
        let compilation = Script::compile(&script, &[]);
        assert!(compilation.script.is_none(), "{open}");
    }
}

#[test]
fn long_chains_are_bounded() {
    for link in [" + 1", " ++ 1", " default 1", ".a", "[0]", " and true", " as Number", " | 1"] {
        let script = format!("1{}", link.repeat(30_000));
        let compilation = Script::compile(&script, &[]);
        assert!(compilation.script.is_none(), "{link}");
    }
}

#[test]
fn deep_but_allowed_nesting_fits_the_stack() {
    let script = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let script = Script::compile(&script, &[]).script.expect("allowed");
    assert!(script.evaluate_to_json(Vec::new(), &context()).is_ok());
    let recursive = "do { fun f(x) = if (x == 0) [] else [[f(x - 1)]] --- sizeOf(f(100)) }";
    let script = Script::compile(recursive, &[]).script.expect("allowed");
    assert_eq!(script.evaluate_to_json(Vec::new(), &context()).as_deref(), Ok("1"));
    let calls =
        "do { fun f(x) = if (x == 0) 0 else 1 + (do { var y = f(x - 1) --- y }) --- f(250) }";
    let script = Script::compile(calls, &[]).script.expect("allowed");
    assert_eq!(script.evaluate_to_json(Vec::new(), &context()).as_deref(), Ok("250"));
}

#[test]
fn the_same_inputs_give_the_same_result() {
    let source = "[uuid(), random(), randomInt(100), now(), uuid()]";
    let script = Script::compile(source, &[]).script.expect("no errors");
    let once = script.evaluate_to_json(Vec::new(), &context()).expect("a result");
    assert_eq!(script.evaluate_to_json(Vec::new(), &context()).as_deref(), Ok(once.as_str()));
    let other = EvalContext { seed: 8, ..context() };
    assert_ne!(script.evaluate_to_json(Vec::new(), &other).expect("a result"), once);
}

/// Fragments of the language, which are combined at random.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "1",
        "-",
        "2.5",
        "\"a\"",
        "'b$(",
        "$",
        "$$",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        "a",
        "b",
        "payload",
        ".",
        "..",
        ".*",
        ".@",
        "[?(",
        "?",
        "!",
        "==",
        "~=",
        "<",
        ">=",
        "+",
        "++",
        "--",
        "*",
        "/",
        "/x/",
        "|",
        "|2024-01-31|",
        "|P1D|",
        "->",
        "->",
        "map",
        "filter",
        "reduce",
        "match",
        "{ case",
        "case",
        "is",
        "as",
        "String",
        "Number",
        "{format: \"0\"}",
        "else",
        "if",
        "unless",
        "not",
        "and",
        "or",
        "default",
        "do",
        "var x =",
        "fun f(",
        "=",
        "---",
        "using (",
        "update",
        "case .a",
        "at",
        "type T =",
        "import * from dw::core::Strings",
        "upper",
        "sizeOf",
        "null",
        "true",
        "to",
        "orderBy",
        "with",
        "replace",
        "%dw 2.0\n",
        "output application/json\n",
        "@",
        "#",
        "\\",
        "\"",
        "'",
        "`",
        "\n",
        " ",
        "é",
        "😀",
        "<T>",
        "&",
        "^",
    ]);
    prop::collection::vec(piece, 1..25).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_on_pieces_of_the_language(source in pieces()) {
        run(&source);
    }

    #[test]
    fn nothing_panics_on_any_text(source in ".{0,60}") {
        run(&source);
    }

    #[test]
    fn dates_and_patterns_never_panic(
        date in "\\|[0-9PTZ:.+-]{1,24}\\|",
        pattern in "[yuMLdDEeQqwWaBhHkKmsSAnNVzOXxZ'\\[\\]#0,.;%-]{0,12}",
    ) {
        run(&format!("{date} as String {{format: \"{pattern}\"}}"));
        run(&format!("\"{date}\" as DateTime {{format: \"{pattern}\"}}"));
        run(&format!("1234.5 as String {{format: \"{pattern}\"}}"));
        run(&format!("\"1,234.5\" as Number {{format: \"{pattern}\"}}"));
    }

    #[test]
    fn numbers_never_panic(a in "-?[0-9]{1,30}(\\.[0-9]{1,30})?(e-?[0-9]{1,4})?", b in "-?[0-9]{1,4}(\\.[0-9]{1,2})?") {
        for operator in ["+", "-", "*", "/", "mod", "pow", "to", "==", "<"] {
            run(&format!("(({a}) {operator} ({b})) then [$ as String, $][0]"));
        }
        run(&format!("[round({a}), floor({a}), ceil({a}), sqrt({a}), abs({a})]"));
    }
}

/// Compiles, and evaluates if that succeeded: any result or error is accepted.
fn run(source: &str) {
    let compilation = Script::compile(source, &["payload"]);
    if let Some(script) = compilation.script {
        let context =
            EvalContext { limits: EvalLimits { ops: 20_000, ..context().limits }, ..context() };
        let _ = script.evaluate_to_json(Vec::new(), &context);
    }
}
