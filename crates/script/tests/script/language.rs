//! The semantics of the language.

use crate::host::eval;

/// Each line: a script, ` => `, and its result as JSON.
fn check(cases: &str) {
    let mut wrong = Vec::new();
    for line in cases.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (script, wanted) = line.rsplit_once(" => ").unwrap_or_else(|| panic!("{line}"));
        let script = script.replace("\\n", "\n");
        let found = eval(&script);
        if found != wanted {
            wrong.push(format!("{script}\n  wanted {wanted}\n  found  {found}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn arithmetic_is_that_of_javascript() {
    check(
        r#"
        return 1 + 2 * 3 => 7
        return 7 / 2 => 3.5
        return 6 / 2 => 3
        return 7 % 3 => 1
        return -7 % 3 => -1
        return 2 ** 10 => 1024
        return 2 ** -1 => 0.5
        return 2 ** 3 ** 2 => 512
        return (-2) ** 2 => 4
        return 0.1 + 0.2 => 0.30000000000000004
        return 9007199254740991 + 2 => 9007199254740992
        return 2 ** 64 => 18446744073709552000
        return String(1 / 0) => "Infinity"
        return String(5 % 0) => "NaN"
        return 1 / 0 => the result: Infinity cannot leave the script
        return String(1e308 * 10) => "Infinity"
        return "5" - 1 => 4
        return null + 1 => 1
        return true * 2 => 2
        return "a" + 1 => "a1"
        return 1 + "a" + null => "1anull"
        return -"3" => -3
        return 0xff + 0b11 + 0o17 + 1_000 => 1273
        return 1e3 => 1000
        return 5 - -3 => 8
        let x = 5; x += 2; x *= 3; x -= 1; x /= 4; x **= 2; x %= 7; return x => 4
        let x = 1; let y = x++ + ++x; return [x, y] => [3,4]
        let o = {n: 1}; o.n++; ++o.n; o["n"] += 5; return o.n-- + o.n => 15
        let a = [1, 2]; a[0]++; a[1] -= 5; return a => [2,-3]
    "#,
    );
}

#[test]
fn equality_is_that_of_javascript() {
    check(
        r#"
        return [1 == 1.0, 1 === 1, "1" == 1, null == undefined, null === undefined] => [true,true,true,true,false]
        return [0 == false, "" == false, [] == [], {} == {}] => [true,true,false,false]
        let a = [1]; let b = a; return [a == b, a === b, a != b, a !== [1]] => [true,true,false,true]
        return [1 < 2, 2 <= 2, "a" < "b", "b" >= "a", 1.5 > 1] => [true,true,true,true,true]
        return 1 < "2" => true
        return "ä" < "z" => false
        return [!0, !"", !null, !undefined, !false, ![], !{}, !"0"] => [true,true,true,true,true,false,false,false]
        return [null ?? 1, undefined ?? 2, 0 ?? 3, "" || 4, 5 && 6, 0 && 7] => [1,2,0,4,6,0]
        let a = null; a ??= 5; let b = 1; b &&= 2; let c = 0; c ||= 3; return [a, b, c] => [5,2,3]
        let o = {a: null}; o.a ??= 5; o.b ||= 6; o["c"] &&= 7; return o => {"a":5,"b":6}
        return ["a" in {a: 1}, "b" in {a: 1}, 0 in [5], 1 in [5]] => [true,false,true,false]
        return [typeof 1, typeof "a", typeof null, typeof undefined, typeof [], typeof (x => x), typeof true] => ["number","string","object","undefined","object","function","boolean"]
        return 1 ? "yes" : "no" => "yes"
        return 0 ? 1 : null ? 2 : 3 => 3
    "#,
    );
}

#[test]
fn variables_have_block_scope() {
    check(
        r#"
        let x = 1; { let x = 2 } return x => 1
        let x = 1; { x = 2 } return x => 2
        result = 5; return result => 5
        if (true) { found = 3 } return found => 3
        function f() { inner = 1; return inner } let inner = 9; f(); return inner => 1
        function f() { total = total + 1 } total = 0; f(); f(); return total => 2
        for (i = 0; i < 3; i++) {} return i => 3
        let {a, b: {c = 5}, ...rest} = {a: 1, b: {}, d: 3, e: 4}; return [a, c, rest] => [1,5,{"d":3,"e":4}]
        let [x, , y = 7, ...z] = [1, 2, undefined, 4, 5]; return [x, y, z] => [1,7,[4,5]]
        let a = 1, b = 2; [a, b] = [b, a]; return [a, b] => [2,1]
        let o = {}; ({x: o.p, y: o["q"]} = {x: 1, y: 2}); return o => {"p":1,"q":2}
        let {length} = "abc"; return length => 3
        let [a, b] = "hi"; return b + a => "ih"
        let {x} = null; return x => threw TypeError: cannot take properties from null
        let [x] = 5; return x => threw TypeError: a number has no elements
        let k = "z"; let {[k]: v, ...r} = {z: 1, y: 2}; return [v, r] => [1,{"y":2}]
        let letter = 1; let nullable = 2; let awaitable = 3; let iffy = 4; return letter + nullable + awaitable + iffy => 10
    "#,
    );
}

#[test]
fn statements_go_where_javascript_goes() {
    check(
        r#"
        let s = 0; for (let i = 0; i < 5; i++) { if (i == 1) continue; if (i == 4) break; s += i } return s => 5
        let s = ""; for (let k in {b: 1, a: 2}) s += k; return s => "ba"
        let s = ""; for (let i in [7, 8]) s += i; return s => "01"
        let s = 0; for (const v of [1, 2, 3]) s += v; return s => 6
        let s = []; for (const c of "aé😀") s.push(c); return s => ["a","é","😀"]
        for (let x of {a: 1}) {} => threw TypeError: an object has no elements: use Object.keys, Object.values or Object.entries
        let n = 0; while (true) { n++; if (n > 3) break } return n => 4
        let n = 0; do { n++ } while (n < 3); return n => 3
        outer: for (let i = 0; i < 3; i++) { for (let j = 0; j < 3; j++) { if (j == 1) continue outer; if (i == 2) break outer; s = i * 10 + j } } return s => 10
        block: { if (true) break block; x = 1 } return "out" => "out"
        switch (2) { case 1: a = 1; case 2: b = 2; case 3: c = 3; break; default: d = 4 } return [typeof a, b, c] => ["undefined",2,3]
        switch (9) { case 1: r = 1; break; default: r = "d"; break } return r => "d"
        switch ("x") { default: r = 1; case "y": r = 2 } return r => 2
        let l = [1, 2]; let s = 0; for (const v of l) { s += v; if (l.length < 4) l.push(10) } return s => 23
        if (0) return 1; else if (null) return 2; else return 3 => 3
        let a = 1\nlet b = 2\nreturn a +\n b => 3
        return\n5 => null
        let i = 0; for (;;) { if (i++ >= 2) break } return i => 3
        for (let i = 0, j = 10; i < j; i++, j--) { m = i } return m => 4
        for (let [k, v] of Object.entries({a: 1})) r = k + v; return r => "a1"
        return => null
    "#,
    );
}

#[test]
fn errors_are_thrown_and_caught() {
    check(
        r#"
        try { throw 5 } catch (e) { return e } => 5
        try { throw {a: 1} } catch ({a}) { return a } => 1
        try { null.x } catch (e) { return [e.name, e.message, e.line, e.column] } => ["TypeError","cannot read `x` of null",1,12]
        try { return 1 } finally { x = 2 } => 1
        function f() { try { return 1 } finally { return 2 } } return f() => 2
        let log = []; function f() { try { log.push("t"); throw 1 } catch (e) { log.push("c"); return "r" } finally { log.push("f") } } log.push(f()); return log => ["t","c","f","r"]
        let log = []; for (const i of [1, 2, 3]) { try { if (i == 2) continue; if (i == 3) break; log.push(i) } finally { log.push("f" + i) } } return log => [1,"f1","f2","f3"]
        let n = 0; while (true) { try { try { break } finally { n += 1 } } finally { n += 10 } } return n => 11
        try { try { throw "a" } finally { throw "b" } } catch (e) { return e } => "b"
        try { try { throw "a" } finally { x = 1 } } catch (e) { return e + x } => "a1"
        function f() { throw new Error("deep") } try { f() } catch (e) { return [e.name, e.message] } => ["Error","deep"]
        throw new Error("no", {code: "E1", data: {a: 1}}) => threw Error: no
        try { throw Error("x", {code: "C"}) } catch (e) { return e.code } => "C"
        throw "plain" => threw plain
        let e = new RangeError("r"); return `${e}` => "RangeError: r"
        try { undefinedFunction = null; undefinedFunction() } catch (e) { return e.message } => "this is not a function but null"
        try { ({}).run() } catch (e) { return e.message } => "the object has no function `run`"
        let l = [1]; try { l.mpa() } catch (e) { return e.message } => "a list has no method `mpa`; did you mean `map`?"
        try { throw 1 } catch { return "bare" } => "bare"
    "#,
    );
}

#[test]
fn functions_close_over_variables() {
    check(
        r#"
        function add(a, b = 10, ...more) { return a + b + more.length } return [add(1), add(1, 2), add(1, 2, 3, 4)] => [11,3,5]
        const f = ({a, b = 2}, [c] = [3]) => a + b + c; return f({a: 1}) => 6
        function counter() { let n = 0; return { up: () => ++n, get() { return n } } } const c = counter(); c.up(); c.up(); return c.get() => 2
        let fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); return fs.map(f => f()) => [0,1,2]
        let fs = []; for (const x of [5, 6]) { fs.push(() => x) } return fs.map(f => f()) => [5,6]
        let fs = []; for (let i = 0; i < 2; i++) { fs.push(() => i++); } return [fs[0](), fs[0](), fs[1]()] => [0,1,1]
        function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } return fib(15) => 610
        return even(10); function even(n) { return n == 0 ? true : odd(n - 1) } function odd(n) { return n == 0 ? false : even(n - 1) } => true
        let x = 1; function f(a = x) { x = 2; return a } return [f(), f(), f(null)] => [1,2,null]
        const o = { twice(n) { return n * 2 }, "key with blank": 1, 5: "five", ["a" + 1]: 2 }; return [o.twice(4), o["key with blank"], o[5], o.a1] => [8,1,"five",2]
        const compose = (f, g) => x => f(g(x)); return compose(x => x + 1, x => x * 2)(5) => 11
        const f = function inner(n) { return n }; return f(3) => 3
        let a = 1; const o = {a, b: 2, ...{c: 3, a: 9}, ...null}; return o => {"a":9,"b":2,"c":3}
        return [...[1, 2], ..."ab", ...[]] => [1,2,"a","b"]
        return Math.max(...[3, 9, 4]) => 9
        const f = (...xs) => xs.length; return f(...[1, 2], 3, ...[4]) => 4
        const o = {f: x => x + 1}; return [o.f(1), o?.f(2), o.g?.(3), o?.["f"](4)] => [2,3,null,5]
        let o = null; return [o?.a, o?.a.b.c, o?.[0], o?.f(1)] => [null,null,null,null]
        let o = {a: {}}; return [o.a?.b?.c, o.a.b?.c.d] => [null,null]
        let o = {a: 1, b: 2}; delete o.a; return o => {"b":2}
        let i = 0; const next = () => i++; const o = {a: next(), b: next()}; return [o, i] => [{"a":0,"b":1},2]
    "#,
    );
}

#[test]
fn nothing_is_left_out_or_null() {
    check(
        r#"
        return {a: undefined, b: null} => {"b":null}
        return [undefined, null] => [null,null]
        return undefined => null
        const f = (a = 5) => a; return [f(undefined), f(null)] => [5,null]
        let o = {}; return [o.missing, o["x"]] => [null,null]
        let o = {}; return o.missing.deep => threw TypeError: cannot read `deep` of undefined
        let o = {}; o.self = o; return o => the result: the value cannot be written as JSON: it contains itself
        let o = {}; o.self = o; return o.self.self === o => true
        return {f: () => 1} => the result: a function cannot leave the script
        return `a${1 + 1}b${`c${"d"}`}${null}` => "a2bcdnull"
        return "it's \"q\" \u0041\x42\t" + 'x\'y' => "it's \"q\" AB\tx'y"
        return "😀".length + "é".length => 3
        return ["abc"[1], "abc"[9]] => ["b",null]
        return "a😀"[1] => threw TypeError: half of a surrogate pair is no character, and cannot be part of a string here
    "#,
    );
}

#[test]
fn the_input_has_two_names() {
    let limits = meantime_core::Limits::default();
    let run = |text: &str| crate::host::eval_with(text, "{\"a\":[1,{\"b\":2}]}", &limits);
    assert_eq!(run("return Inputs.a[1].b + inputs.a[0]"), "3");
    assert_eq!(run("workflow w(x) { return x.a[0] }"), "1");
    assert_eq!(run("workflow w({ a: [first] }) { return first }"), "1");
    assert_eq!(
        run("const two = 2\nfunction f(x) { return x * two }\nworkflow w(x) { return f(4) }"),
        "8"
    );
    assert_eq!(run("const g = () => Inputs.a.length; return g()"), "2");
}

#[test]
fn numbers_that_fit_nothing_pass_through() {
    let limits = meantime_core::Limits::default();
    let input = "{\"n\":1.000000000000000000000000000001,\"big\":12345678901234567890,\"f\":1.50}";
    let run = |text: &str| crate::host::eval_with(text, input, &limits);
    assert_eq!(
        run("return Inputs"),
        "{\"n\":1.000000000000000000000000000001,\"big\":12345678901234567890,\"f\":1.5}"
    );
    assert_eq!(
        run("return Inputs.n + 1"),
        "threw TypeError: a number of a document that a double cannot hold can be passed on, not computed with"
    );
    assert_eq!(run("return [typeof Inputs.big, Inputs.big == Inputs.big]"), "[\"number\",true]");
}
