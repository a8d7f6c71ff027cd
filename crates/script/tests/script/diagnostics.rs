//! Errors, warnings, and the positions at which the caret points.
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use meantime_core::Severity;
use meantime_script::compile_script;

/// All problems of a script, with a caret below each.
fn check(text: &str, wanted: &Expect) {
    let compiled = compile_script(&text.into(), "test.flow.js");
    let mut found = String::new();
    for it in &compiled.diagnostics {
        let severity = if it.severity == Severity::Error { "error" } else { "warning" };
        let line = text.lines().nth(it.start.line as usize - 1).unwrap_or_default();
        let caret = " ".repeat(it.start.column as usize - 1);
        let help = it.help.as_ref().map_or_else(String::new, |help| format!(" [{help}]"));
        writeln!(found, "{line}\n{caret}^ {severity} {}: {}{help}", it.code, it.message)
            .expect("a string can be written to");
    }
    let has_errors = compiled.diagnostics.iter().any(|it| it.severity == Severity::Error);
    assert_eq!(compiled.program.is_none(), has_errors, "{found}");
    wanted.assert_eq(&found);
}

#[test]
fn a_good_script_has_no_problems() {
    check("let a = Inputs.a ?? 1\nreturn a + 1", &expect![[""]]);
}

#[test]
fn all_syntax_problems_are_found_at_once() {
    check(
        "let a = \nlet b = 2 +\nlet c = ]\nif (a { return 1 }\nreturn a + b + c @",
        &expect![[r#"
            let b = 2 +
            ^ error F001: expected an expression, found `let`
            let c = ]
            ^ error F001: expected an expression, found `let`
            let c = ]
                    ^ error F001: expected an expression, found `]`
            if (a { return 1 }
                  ^ error F001: expected `)`, found `{`
            return a + b + c @
                             ^ error F001: expected the end of the statement, found `@`
        "#]],
    );
}

#[test]
fn what_has_no_end_is_named_where_it_begins() {
    check(
        "let a = \"open\nlet b = 'x\nreturn [a, b]",
        &expect![[r#"
        let a = "open
                ^ error F002: this string does not end on its line [close it with the same quote, or use a template in back-ticks]
        let b = 'x
                ^ error F002: this string does not end on its line [close it with the same quote, or use a template in back-ticks]
    "#]],
    );
    check(
        "let a = `open ${1 + 1\nreturn a",
        &expect![[r#"
            return a
            ^ error F001: expected the rest of the template, found `return`
        "#]],
    );
    check(
        "/* never closed\nreturn 1",
        &expect![[r#"
        /* never closed
        ^ error F002: this comment has no `*/`
    "#]],
    );
    check(
        "if (Inputs.a) {\n  return 1\n",
        &expect![[r#"
        if (Inputs.a) {
                      ^ error F002: this block has no closing `}`
    "#]],
    );
    check(
        "return [1, 2",
        &expect![[r#"
        return [1, 2
                    ^ error F002: expected `]`, found the end of the file
    "#]],
    );
}

#[test]
fn literals_must_mean_something() {
    check(
        "return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, \"\\u{110000}\", \"\\x4\", §]",
        &expect![[r#"
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                    ^ error F003: letters follow the number [separate them by a blank]
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                           ^ error F003: this is not a number [write for example 12, 0.5 or 1e3]
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                               ^ error F003: this is not a number [write for example 12, 0.5 or 1e3]
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                                     ^ error F003: this is not a number [write for example 12, 0.5 or 1e3]
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                                          ^ error F003: no double is exactly this number [numbers are doubles; keep longer ones as strings]
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                                                                ^ error F010: a BigInt is not in the language [numbers are doubles; keep longer ones as strings]
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                                                                             ^ error F003: this escape names no character
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                                                                                           ^ error F003: this escape names no character
            return [12abc, 0x, 1__0, 017, 99999999999999999999, 10n, 1e999, "\u{110000}", "\x4", §]
                                                                                                 ^ error F003: the character '§' means nothing here
        "#]],
    );
}

#[test]
fn constructs_that_are_not_in_the_language_are_refused_by_name() {
    check(
        "var x = 1\nimport y from \"z\"\nexport default 1\nwith (x) {}\ndebugger\nx = this.y\nx = eval(\"1\")\nfunction* g() {}\nclass A { #p; [x] = 1; constructor() { super() } m() { new.target } *n() {} }\nx = A.#q + A.#p\nx.__proto__ = 1\nfor await (const a of x) {}\nx = [1, , 2]\nx = /a+(/g + /a/v\nx = y => { yield 1 }\nreturn x",
        &expect![[r#"
            import y from "z"
            ^ error F010: `import` is not in the language [a flow is one file; call other work with Task.run or Workflow.run]
            export default 1
                           ^ error F010: `export default` of anything but a function is not in the language [write `export default async function (input, ctx) { … }`]
            with (x) {}
            ^ error F010: `with` is not in the language [name the object]
            debugger
            ^ error F010: `debugger` is not in the language [use Log.info]
            x = this.y
                ^ error F010: `this` outside of a function is not in the language [name the value]
            x = eval("1")
                ^ error F010: `eval` is not in the language [write the code where it is needed]
            function* g() {}
                    ^ error F010: a generator is not in the language [return a list]
            function* g() {}
                      ^ warning F025: `g` is never used [remove it, or begin its name with `_`]
            class A { #p; [x] = 1; constructor() { super() } m() { new.target } *n() {} }
                           ^ error F010: a field with a computed name is not in the language [set it in the constructor]
            class A { #p; [x] = 1; constructor() { super() } m() { new.target } *n() {} }
                                                   ^ error F010: `super(…)` is valid only in the constructor of a class that extends another [remove it]
            class A { #p; [x] = 1; constructor() { super() } m() { new.target } *n() {} }
                                                                   ^ error F010: `new.target` is not in the language [use `this.constructor`]
            class A { #p; [x] = 1; constructor() { super() } m() { new.target } *n() {} }
                                                                                ^ error F010: a generator is not in the language [return a list]
            x = A.#q + A.#p
                  ^ error F020: no enclosing class declares `#q` [declare it as a field of the class]
            x = A.#q + A.#p
                         ^ error F020: no enclosing class declares `#p` [declare it as a field of the class]
            x.__proto__ = 1
              ^ error F010: access to `__proto__` is not in the language [use a class]
            for await (const a of x) {}
                ^ error F010: `for await` is not in the language [await inside the loop, or start all and use Task.all]
            for await (const a of x) {}
                             ^ warning F025: `a` is never used [remove it, or begin its name with `_`]
            x = [1, , 2]
                    ^ error F010: an empty place in a list is not in the language [write `undefined`]
            x = /a+(/g + /a/v
                ^ error F013: this regular expression is invalid: a `(` without its `)`
            x = /a+(/g + /a/v
                         ^ error F013: this regular expression is invalid: the flag `v` is not in the language
            x = y => { yield 1 }
                       ^ error F010: `yield` is not in the language [generators do not exist here; return a list]
        "#]],
    );
}

#[test]
fn async_functions_are_in_the_language() {
    check(
        "async function f(x) { return x }\nconst g = async x => x\nconst h = async (x) => x\nreturn [f(1), g(1), h(1)]",
        &expect![""],
    );
}

#[test]
fn await_must_be_able_to_stop() {
    check(
        "const xs = [2, 1]\nxs.sort((a, b) => await Task.run(\"compare\", [a, b]))\nconst i = xs.findIndex(x => await Task.run(\"test\", x))\nreturn xs.map(x => await Task.run(\"ok\", x)).concat(i)",
        &expect![[r#"
            xs.sort((a, b) => await Task.run("compare", [a, b]))
                              ^ error F012: `await` cannot be used in a callback of `sort` [await first, then call it with the results]
            const i = xs.findIndex(x => await Task.run("test", x))
                                        ^ error F012: `await` cannot be used in a callback of `findIndex` [await first, then call it with the results]
        "#]],
    );
    check(
        "const x = await Task.run(\"a\", {})\nworkflow w() { return x }",
        &expect![[r#"
        const x = await Task.run("a", {})
                  ^ error F012: `await` cannot be used outside of a workflow [move it into the workflow]
    "#]],
    );
}

#[test]
fn names_must_be_defined() {
    check(
        "let counter = 1\nlet order = Inputs.order\nreturn [cuonter, oder, Taks, process, setTimeout, zzz, NaN]",
        &expect![[r#"
            let counter = 1
                ^ warning F025: `counter` is never used [remove it, or begin its name with `_`]
            let order = Inputs.order
                ^ warning F025: `order` is never used [remove it, or begin its name with `_`]
            return [cuonter, oder, Taks, process, setTimeout, zzz, NaN]
                    ^ error F020: `cuonter` is not defined [did you mean `counter`?]
            return [cuonter, oder, Taks, process, setTimeout, zzz, NaN]
                             ^ error F020: `oder` is not defined [did you mean `order`?]
            return [cuonter, oder, Taks, process, setTimeout, zzz, NaN]
                                   ^ error F020: `Taks` is not defined [did you mean `Task`?]
            return [cuonter, oder, Taks, process, setTimeout, zzz, NaN]
                                         ^ error F020: `process` is not defined [secrets and settings belong to workers, not to flows]
            return [cuonter, oder, Taks, process, setTimeout, zzz, NaN]
                                                  ^ error F020: `setTimeout` is not defined [use `await Task.delay(seconds)`]
            return [cuonter, oder, Taks, process, setTimeout, zzz, NaN]
                                                              ^ error F020: `zzz` is not defined
        "#]],
    );
    check(
        "x += 1\ny++\nreturn 1",
        &expect![[r#"
        x += 1
        ^ error F020: `x` is not defined
        y++
        ^ error F020: `y` is not defined
    "#]],
    );
    check("function f() { return later } later = 1; return f()", &expect![[""]]);
}

#[test]
fn constants_cannot_be_assigned_to() {
    check(
        "const a = 1\na = 2\na++\nfunction f() { a += 1 }\nf = 3\nTask = 4\nfor (const i of [1]) { i = 2 }\n[a] = [5]\nreturn f()",
        &expect![[r#"
            a = 2
            ^ error F021: `a` is a constant and cannot be assigned to [declare it with `let`, or choose another name]
            a++
            ^ error F021: `a` is a constant and cannot be assigned to [declare it with `let`, or choose another name]
            function f() { a += 1 }
                           ^ error F021: `a` is a constant and cannot be assigned to [declare it with `let`, or choose another name]
            f = 3
            ^ error F021: `f` is a function and cannot be assigned to [declare it with `let`, or choose another name]
            Task = 4
            ^ error F021: `Task` is part of the language [choose another name]
            for (const i of [1]) { i = 2 }
                       ^ warning F025: `i` is never used [remove it, or begin its name with `_`]
            for (const i of [1]) { i = 2 }
                                   ^ error F021: `i` is a constant and cannot be assigned to [declare it with `let`, or choose another name]
            [a] = [5]
             ^ error F021: `a` is a constant and cannot be assigned to [declare it with `let`, or choose another name]
        "#]],
    );
}

#[test]
fn names_are_declared_once_and_before_use() {
    check(
        "let a = 1\nlet a = 2\nfunction f(x, x) { return x }\nlet b = c\nlet c = 1\nlet d = d + 1\n{ let a = 3; f(a, a) }\nl: for (;;) { l: for (;;) { break l } }\nreturn [a, b, c, d]",
        &expect![[r#"
            let a = 1
                ^ warning F025: `a` is never used [remove it, or begin its name with `_`]
            let a = 2
                ^ error F022: `a` is declared twice in this scope
            function f(x, x) { return x }
                          ^ error F022: the parameter `x` is declared twice in this scope
            let b = c
                    ^ error F023: `c` is used before its declaration
            let d = d + 1
                    ^ error F023: `d` is used before its declaration
            l: for (;;) { l: for (;;) { break l } }
                          ^ error F022: the label `l` is used twice
        "#]],
    );
}

#[test]
fn slips_and_unused_variables_are_warned_of() {
    check(
        "let counter = 0\ncoutner = counter + 1\nlet unused = 1\nconst _meant = 2\nfunction never() {}\nfor (item of [1]) { items = [item] }\nreturn items",
        &expect![[r#"
            coutner = counter + 1
            ^ warning F025: `coutner` is never used [remove it, or begin its name with `_`]
            coutner = counter + 1
            ^ warning F024: `coutner` is a new variable here [did you mean `counter`? Otherwise declare it with `let`]
            let unused = 1
                ^ warning F025: `unused` is never used [remove it, or begin its name with `_`]
            function never() {}
                     ^ warning F025: `never` is never used [remove it, or begin its name with `_`]
        "#]],
    );
}

#[test]
fn jumps_have_a_place() {
    check(
        "break\ncontinue\nif (Inputs.a) { break nowhere }\nblock: { continue block }\nfor (const x of [1]) { [x].forEach(y => { break }) }\nreturn 1",
        &expect![[r#"
            break
            ^ error F030: `break` is out of place: no loop is around it
            continue
            ^ warning F031: this can never run
            continue
            ^ error F030: `continue` is out of place: no loop is around it
            if (Inputs.a) { break nowhere }
                            ^ error F030: no enclosing statement has the label `nowhere`
            block: { continue block }
                     ^ error F030: no enclosing statement has the label `block`
            for (const x of [1]) { [x].forEach(y => { break }) }
                                                      ^ error F030: `break` is out of place: no loop is around it
        "#]],
    );
    check(
        "return 1\nworkflow w() { return 2 }",
        &expect![[r#"
            return 1
            ^ error F050: besides workflows, a file contains only functions, classes and constants [move the statement into the workflow]
            return 1
            ^ error F030: `return` is out of place: no function is around it
        "#]],
    );
}

#[test]
fn code_that_cannot_run_is_warned_of() {
    check(
        "function f() { return 1; return 2 }\nif (Inputs.a) { throw 1 } else { return f() }\nreturn 3",
        &expect![[r#"
            function f() { return 1; return 2 }
                                     ^ warning F031: this can never run
            return 3
            ^ warning F031: this can never run
        "#]],
    );
    check(
        "while (true) { await Task.delay(1) }\nreturn 1",
        &expect![[r#"
        return 1
        ^ warning F031: this can never run
    "#]],
    );
    check("for (;;) { if (Inputs.a) break }\nreturn 1", &expect![[""]]);
    check("return f()\nfunction f() { return 1 }", &expect![[""]]);
}

#[test]
fn loops_that_cannot_end_are_warned_of() {
    check(
        "let n = 0\nwhile (true) { n++ }",
        &expect![[r#"
        while (true) { n++ }
        ^ warning F032: this loop neither ends nor waits [add a `break`, a `return`, or an `await`]
    "#]],
    );
    check(
        "let n = 0\nfor (;;) { n++; while (n) { break } }",
        &expect![[r#"
        for (;;) { n++; while (n) { break } }
        ^ warning F032: this loop neither ends nor waits [add a `break`, a `return`, or an `await`]
    "#]],
    );
    check("while (true) { await Task.delay(60) }", &expect![[""]]);
    check("function poll() { await Task.delay(1) }\nwhile (true) { poll() }", &expect![[""]]);
    check("let n = 0\ndo { n++; if (n > 3) return n } while (true)", &expect![[""]]);
}

#[test]
fn await_on_plain_values_is_warned_of() {
    check(
        "await 5\nawait [Task.run(\"a\", {})]\nawait (1 + 2)\nawait Math.max(1, 2)\nawait Log.info(\"x\")\nawait Task.run(\"b\", {})\nconst t = Task.delay(1)\nawait t",
        &expect![[r#"
            await 5
            ^ warning F033: this value is never awaitable [remove `await`]
            await [Task.run("a", {})]
            ^ warning F033: a list is never awaitable [use `await Task.all([…])`]
            await (1 + 2)
            ^ warning F033: the result of an operator is never awaitable [remove `await`]
            await Math.max(1, 2)
            ^ warning F033: the result of this function is never awaitable [remove `await`]
            await Log.info("x")
            ^ warning F033: the result of this function is never awaitable [remove `await`]
        "#]],
    );
}

#[test]
fn methods_of_known_values_are_checked() {
    check(
        "const names = \"a,b\".split(\",\")\nlet any = Inputs.any\nany.whatever(1, 2)\n\
         return [names.shuffle(), names.mpa(x => x), \"a\".replace(\"b\"), [1].at(1, 2), `x`.size(), (5).trim()]",
        &expect![[r#"
            return [names.shuffle(), names.mpa(x => x), "a".replace("b"), [1].at(1, 2), `x`.size(), (5).trim()]
                          ^ error F044: a list has no method `shuffle` [there is map, filter, forEach, reduce, find, findIndex, some, every, flatMap, sort, includes, indexOf, lastIndexOf, concat, slice, splice, push, pop, shift, unshift, reverse, join, flat, at, fill, toString, hasOwnProperty, findLast, findLastIndex, reduceRight, toSorted, toReversed, toSpliced, with, keys, values, entries, copyWithin, valueOf]
            return [names.shuffle(), names.mpa(x => x), "a".replace("b"), [1].at(1, 2), `x`.size(), (5).trim()]
                                           ^ error F044: a list has no method `mpa` [did you mean `map`?]
            return [names.shuffle(), names.mpa(x => x), "a".replace("b"), [1].at(1, 2), `x`.size(), (5).trim()]
                                                        ^ warning F045: `replace` of a string takes 2 arguments, this call has 1
            return [names.shuffle(), names.mpa(x => x), "a".replace("b"), [1].at(1, 2), `x`.size(), (5).trim()]
                                                                          ^ warning F045: `at` of a list takes 1 argument, this call has 2
            return [names.shuffle(), names.mpa(x => x), "a".replace("b"), [1].at(1, 2), `x`.size(), (5).trim()]
                                                                                            ^ error F044: a string has no method `size` [did you mean `slice`?]
            return [names.shuffle(), names.mpa(x => x), "a".replace("b"), [1].at(1, 2), `x`.size(), (5).trim()]
                                                                                                        ^ error F044: a number has no method `trim` [there is toFixed, toPrecision, toExponential, toString, valueOf]
        "#]],
    );
}

#[test]
fn timers_look_at_their_numbers() {
    check(
        "await Timer.until(1767312000)\nawait Timer.until(1767312000000)\nawait Timer.until(1.5)\n\
         await Timer.until(\"PT5M\")\nawait Timer.until(\"2026-01-01\")\nawait Timer.until(null)\n\
         await Timer.delay(1767312000)\nawait Task.delay(86400)",
        &expect![[r#"
            await Timer.until(1767312000)
                              ^ error F042: 1767312000 milliseconds since 1970 is before 1973 [multiply seconds by 1000, or write the instant as `2026-03-01T10:00:00Z`]
            await Timer.until(1.5)
                              ^ error F042: an instant is a text such as "2026-03-01T10:00:00Z", or a whole number of milliseconds since 1970
            await Timer.until("PT5M")
                              ^ error F042: "PT5M" is a duration, not an instant [use `Timer.delay` for a duration]
            await Timer.until("2026-01-01")
                              ^ error F042: invalid instant: expected `T` between date and time at offset 10 [write for example `2026-03-01T10:00:00Z` or `2026-03-01T10:00:00+01:00`]
            await Timer.until(null)
                              ^ error F042: an instant is a text such as "2026-03-01T10:00:00Z", or a whole number of milliseconds since 1970
            await Timer.delay(1767312000)
                              ^ error F042: a delay of 1767312000 seconds is longer than thirty years [use `Timer.until` for an instant, or write a duration such as `P40Y`]
        "#]],
    );
}

#[test]
fn the_library_is_checked() {
    check(
        "await Task.rum(\"a\", {})\nawait Timer.untill(\"x\")\nawait Signal.wait(\"a\")\nlet x = Math.PIE\nx = Task\nTask(\"a\")\nawait Promise.execute(1)\nMath.PI()\nreturn x",
        &expect![[r#"
            await Task.rum("a", {})
                       ^ error F040: `Task` has no `rum` [did you mean `Task.run`?]
            await Timer.untill("x")
                        ^ error F040: `Timer` has no `untill` [did you mean `Timer.until`?]
            await Signal.wait("a")
                         ^ error F040: `Signal` has no `wait` [there is next]
            let x = Math.PIE
                         ^ error F040: `Math` has no `PIE` [did you mean `Math.PI`?]
            x = Task
                ^ error F040: `Task` is not a value [use one of its functions, such as `Task.run`]
            Task("a")
            ^ error F040: `Task` is not a function [call one of its functions: run, delay, all, any, race, settle]
            await Promise.execute(1)
                          ^ error F040: `Promise` has no `execute` [there is all, any, race, allSettled, resolve, reject, withResolvers]
            Math.PI()
            ^ error F040: this is not a function
        "#]],
    );
    check(
        "await Task.run()\nawait Task.delay()\nawait Task.all([], [])\nreturn Math.abs(1, 2) + Time.now(1) + Math.max()",
        &expect![[r#"
            await Task.run()
                  ^ error F041: `Task.run` takes 1 to 3 arguments, this call has 0
            await Task.delay()
                  ^ error F041: `Task.delay` takes 1 argument, this call has 0
            await Task.all([], [])
                  ^ error F041: `Task.all` takes 1 argument, this call has 2
            return Math.abs(1, 2) + Time.now(1) + Math.max()
                   ^ error F041: `Math.abs` takes 1 argument, this call has 2
            return Math.abs(1, 2) + Time.now(1) + Math.max()
                                    ^ error F041: `Time.now` takes no arguments, this call has 1
        "#]],
    );
    check(
        "function f(a, b = 1) { return a + b }\nconst g = (...xs) => xs\nreturn [f(), f(1, 2, 3), f(...[1]), g(1, 2, 3)]",
        &expect![[r#"
            return [f(), f(1, 2, 3), f(...[1]), g(1, 2, 3)]
                    ^ warning F043: `f` takes 1 to 2 arguments, this call has 0
            return [f(), f(1, 2, 3), f(...[1]), g(1, 2, 3)]
                         ^ warning F043: `f` takes 1 to 2 arguments, this call has 3
        "#]],
    );
}

#[test]
fn literal_arguments_are_checked() {
    check(
        "await Task.run(5, {})\nawait Task.run(\"\", {})\nawait Task.delay(\"PT5X\")\nawait Task.delay(-1)\nawait Task.delay(\"-PT1S\")\nawait Timer.until(\"2026-01-01\")\nawait Task.run(\"a\", {}, { timout: 5, retry: { maxAttempt: 3, backoff: \"1s\" } })\nawait Signal.next(\"a\", { timeout: \"x\" })\nawait Workflow.run(\"w\", {}, { queue: \"q\" })\nawait Http.request({ url: \"http://x\", metod: \"GET\" })",
        &expect![[r#"
            await Task.run(5, {})
                           ^ error F042: the type of the task is a string
            await Task.run("", {})
                           ^ error F042: the type of the task is empty
            await Task.delay("PT5X")
                             ^ error F042: invalid duration: unknown unit at offset 3 [write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`]
            await Task.delay(-1)
                             ^ error F042: a delay cannot be negative
            await Task.delay("-PT1S")
                             ^ error F042: a delay cannot be negative: -PT1S [remove the leading `-`]
            await Timer.until("2026-01-01")
                              ^ error F042: invalid instant: expected `T` between date and time at offset 10 [write for example `2026-03-01T10:00:00Z` or `2026-03-01T10:00:00+01:00`]
            await Task.run("a", {}, { timout: 5, retry: { maxAttempt: 3, backoff: "1s" } })
                                      ^ error F042: there is no option `timout` [did you mean `timeout`?]
            await Task.run("a", {}, { timout: 5, retry: { maxAttempt: 3, backoff: "1s" } })
                                                          ^ error F042: there is no option `maxAttempt` [did you mean `maxAttempts`?]
            await Task.run("a", {}, { timout: 5, retry: { maxAttempt: 3, backoff: "1s" } })
                                                                                  ^ error F042: invalid duration: expected `P` at offset 0 [write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`]
            await Signal.next("a", { timeout: "x" })
                                              ^ error F042: invalid duration: expected `P` at offset 0 [write for example `PT10M`, `P1D` or `P1Y2M3DT4H5M6.5S`]
            await Workflow.run("w", {}, { queue: "q" })
                                          ^ error F042: there is no option `queue` [there is version, key, deadline]
            await Http.request({ url: "http://x", metod: "GET" })
                                                  ^ error F042: there is no option `metod` [did you mean `method`?]
        "#]],
    );
}

#[test]
fn a_file_has_one_form() {
    check(
        "await Task.delay(1)\nworkflow a(x, y) { return x + y }\nworkflow a() { return 1 }\nif (true) { workflow b() {} }",
        &expect![[r#"
            await Task.delay(1)
            ^ error F050: besides workflows, a file contains only functions, classes and constants [move the statement into the workflow]
            await Task.delay(1)
            ^ error F012: `await` cannot be used outside of a workflow [move it into the workflow]
            workflow a(x, y) { return x + y }
                     ^ error F050: a workflow takes one input [take it apart: workflow name({ first, second }) { … }]
            workflow a() { return 1 }
                     ^ error F022: the workflow `a` is declared twice
            if (true) { workflow b() {} }
            ^ error F050: besides workflows, a file contains only functions, classes and constants [move the statement into the workflow]
            if (true) { workflow b() {} }
                        ^ error F050: a workflow cannot be declared here
        "#]],
    );
    check(
        "async workflow a(x) { return x }",
        &expect![[r#"
            async workflow a(x) { return x }
            ^ error F011: a workflow needs no `async` [remove it; `await` works in every workflow]
        "#]],
    );
    check(
        "workflow () { return 1 }",
        &expect![[r#"
            workflow () { return 1 }
                     ^ error F001: expected the name of the workflow, found `(`
        "#]],
    );
}
