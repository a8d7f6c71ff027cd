//! The standard library.

use crate::host::eval;

fn check(cases: &str) {
    let mut wrong = Vec::new();
    for line in cases.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (script, wanted) = line.rsplit_once(" => ").unwrap_or_else(|| panic!("{line}"));
        let found = eval(&format!("return {script}"));
        if found != wanted {
            wrong.push(format!("{script}\n  wanted {wanted}\n  found  {found}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn lists() {
    check(
        r#"
        [1, 2, 3].map(x => x * 2) => [2,4,6]
        [1, 2, 3].map((x, i, all) => x + i + all.length) => [4,6,8]
        [1, 2, 3].filter(x => x > 1) => [2,3]
        [1, 2, 3].reduce((a, x) => a + x) => 6
        [1, 2, 3].reduce((a, x) => a + x, "") => "123"
        [].reduce((a, x) => a) => threw TypeError: `reduce` of an empty list needs a first value
        [1, 2].forEach(x => x) => null
        [5, 6].find(x => x > 5) => 6
        [5, 6].find(x => x > 9) => null
        [5, 6].findIndex(x => x == 6) => 1
        [5, 6].findIndex(x => x == 7) => -1
        [[1, 2].some(x => x > 1), [1].some(x => x > 1), [1, 2].every(x => x > 0), [1, 2].every(x => x > 1)] => [true,false,true,false]
        [1, 2].flatMap(x => [x, [x]]) => [1,[1],2,[2]]
        ["1", "2"].map(Number) => [1,2]
        ["10", "11"].map(parseInt).map(String) => ["10","NaN"]
        [0, "a", null].filter(Boolean) => ["a"]
        [1, 2].map(5) => threw TypeError: `map` needs a function, not a number
        [[1, 2, 3].includes(2), [1].includes("1"), [null].includes(undefined)] => [true,false,false]
        [[1, 2, 1].indexOf(1, 1), [1].indexOf(5), [1, 2, 1].lastIndexOf(1)] => [2,-1,2]
        [1].concat([2, 3], 4, [[5]]) => [1,2,3,4,[5]]
        [[1, 2, 3].slice(1), [1, 2, 3].slice(-2, -1), [1, 2, 3].slice(5)] => [[2,3],[2],[]]
        (() => { let a = [1, 2, 3, 4]; let r = a.splice(1, 2, "x"); return [a, r] })() => [[1,"x",4],[2,3]]
        (() => { let a = [1]; let n = a.push(2, 3); a.unshift(0); return [a, n, a.pop(), a.shift(), a] })() => [[1,2],3,3,0,[1,2]]
        [[].pop(), [].shift()] => [null,null]
        [3, 1, 10, 2].sort() => [1,10,2,3]
        ["b", "a", "C"].sort() => ["C","a","b"]
        [3, "a"].sort() => [3,"a"]
        [3, 1, 2].sort((a, b) => b - a) => [3,2,1]
        [5, 3, 9, 1, 7, 2, 8].sort((a, b) => a - b) => [1,2,3,5,7,8,9]
        [{k: 1, v: "a"}, {k: 0, v: "b"}, {k: 1, v: "c"}, {k: 0, v: "d"}].sort((x, y) => x.k - y.k).map(x => x.v).join("") => "bdac"
        [2, 1].sort((a, b) => a > b) => [2,1]
        [1, 2].reverse() => [2,1]
        [[1, null, "a", [2, 3]].join(), [1, 2].join("-")] => ["1,,a,2,3","1-2"]
        [[1, [2, [3, [4]]]].flat(), [1, [2, [3]]].flat(2)] => [[1,2,[3,[4]]],[1,2,3]]
        [[1, 2].at(-1), [1].at(5), [1, 2].length] => [2,null,2]
        Array.isArray([]) && !Array.isArray("a") => true
        [Array.from("ab"), Array.from({length: 2}), Array.of(1, 2)] => [["a","b"],[null,null],[1,2]]
        Array.from({length: 3}).fill(7) => [7,7,7]
    "#,
    );
}

#[test]
fn strings() {
    check(
        r#"
        ["abc".includes("b"), "abc".startsWith("a"), "abc".startsWith("b", 1), "abc".endsWith("c")] => [true,true,true,true]
        ["abcdef".slice(1, 3), "abc".slice(-2), "abc".substring(2, 0), "abc".slice(2, 1)] => ["bc","bc","ab",""]
        ["a,b,c".split(","), "abc".split(""), "a,b".split(",", 1), "abc".split()] => [["a","b","c"],["a","b","c"],["a"],["abc"]]
        "  x ".trim() + "|" + "  x ".trimStart() + "|" + "  x ".trimEnd() => "x|x |  x"
        ["aaa".replace("a", "b"), "aaa".replaceAll("a", "b")] => ["baa","bbb"]
        ["Straße".toUpperCase(), "ABC".toLowerCase()] => ["STRASSE","abc"]
        ["5".padStart(3, "0"), "5".padEnd(3, "ab"), "abc".padStart(2)] => ["005","5ab","abc"]
        ["ab".repeat(3), "x".repeat(0)] => ["ababab",""]
        ["hello".indexOf("l"), "hello".lastIndexOf("l"), "hello".indexOf("z"), "a😀b".indexOf("b")] => [2,3,-1,3]
        ["abc".at(-1), "abc".charAt(0), "abc".charAt(9), "a".charCodeAt(0)] => ["c","a","",97]
        "a".concat("b", 1) => "ab1"
        "x".repeat(-1) => threw RangeError: `repeat` needs a number from 0
        (() => { let s = "a"; return s.map(x => x) })() => threw TypeError: a string has no method `map`
        [String(1.5), String(null), String([1, [2]]), String({a: 1}), String(true), String()] => ["1.5","null","1,2","[object Object]","true",""]
        "abc".length => 3
    "#,
    );
}

#[test]
fn numbers() {
    check(
        r#"
        [Number("12"), Number(" 1.5 "), Number("-3e2"), Number(true), Number()] => [12,1.5,-300,1,0]
        String(Number("x")) => "NaN"
        Number("x") => the result: NaN cannot leave the script
        Number("") => 0
        [parseInt("12px"), parseInt("ff", 16), parseInt("-7.9"), parseInt(7.9)] => [12,255,-7,7]
        isNaN(parseInt("x")) => true
        [parseFloat("1.5abc"), parseFloat("3"), parseFloat(".5")] => [1.5,3,0.5]
        [Number.isInteger(1), Number.isInteger(1.5), Number.isInteger(2.0), Number.isInteger("1")] => [true,false,true,false]
        [(1.005).toFixed(2), (5).toFixed(1), (1234.5678).toFixed(2)] => ["1.00","5.0","1234.57"]
        [Math.abs(-3), Math.ceil(1.2), Math.floor(-1.2), Math.round(2.5), Math.round(-2.5), Math.trunc(-1.7), Math.sign(-5)] => [3,2,-2,3,-2,-1,-1]
        [Math.min(3, 1, 2), Math.max(1, 2.5), Math.pow(2, 3), Math.sqrt(16), Math.cbrt(27), Math.hypot(3, 4)] => [1,2.5,8,4,3,5]
        [Math.log2(8), Math.log10(1000), Math.exp(0), Math.PI > 3.14] => [3,3,1,true]
        isNaN(Math.sqrt(-1)) => true
        isNaN(Math.max("a")) => true
        Number.MAX_SAFE_INTEGER => 9007199254740991
        (12.5).toString() => "12.5"
    "#,
    );
}

#[test]
fn objects_and_json() {
    check(
        r#"
        [Object.keys({b: 1, a: 2}), Object.values({b: 1}), Object.entries({b: 1})] => [["b","a"],[1],[["b",1]]]
        Object.assign({a: 1}, {b: 2}, null, {a: 3}) => {"a":3,"b":2}
        Object.fromEntries([["a", 1], ["b", 2]]) => {"a":1,"b":2}
        Object.keys(null) => threw TypeError: `Object.keys` of null
        JSON.parse("{\"a\": [1, 2.5, \"x\", null, true]}") => {"a":[1,2.5,"x",null,true]}
        JSON.parse("{\"b\": 1, \"a\": 2, \"b\": 3}") => {"b":3,"a":2}
        JSON.parse("[12345678901234567890, 0.1000000000000000055]") => [12345678901234567000,0.1]
        JSON.parse("1e400") === Infinity => true
        JSON.parse("7".repeat(20000)) === Infinity => true
        JSON.parse("{a}") => threw SyntaxError: not valid JSON: the name of a member is a text in double quotes at line 1 column 2
        JSON.stringify({a: [1, undefined], b: undefined, c: () => 1}) => "{\"a\":[1,null]}"
        JSON.stringify({a: [1]}, null, 2) => "{\n  \"a\": [\n    1\n  ]\n}"
        JSON.stringify(undefined) => null
        ({a: 1}).hasOwnProperty("a") => true
    "#,
    );
}

#[test]
fn time_and_chance_come_from_the_turn() {
    check(
        r#"
        Time.now() => "2026-01-31T12:00:00Z"
        Date.now() => 1769860800000
        Time.add("2026-01-31T12:00:00Z", "P1M") => "2026-02-28T12:00:00Z"
        Time.add("2026-03-28T12:00:00+01:00", "P1D", "Europe/Berlin") => "2026-03-29T10:00:00Z"
        Time.add(Time.now(), "-PT1H") => "2026-01-31T11:00:00Z"
        Time.diff("2026-01-31T12:00:00Z", "2026-01-31T12:01:30.500Z") => 90.5
        Time.diff(Time.now(), Time.add(Time.now(), "P1D")) => 86400
        Time.format(Time.now(), "yyyy-MM-dd HH:mm", "Asia/Tokyo") => "2026-01-31 21:00"
        Time.add("2026-01-31", "P1D") => threw RangeError: invalid instant: expected `T` between date and time at offset 10
        Time.format(Time.now(), "yyyy", "Mars/Olympus") => threw RangeError: unknown time zone "Mars/Olympus"
        [Workflow.id, Workflow.key] => ["in_0000000000000g000000000002","order-7"]
        Math.random() != Math.random() => true
        Crypto.uuid().length => 36
        Crypto.uuid()[14] => "4"
    "#,
    );
}

/// The replacer as list and as function, the indent, and `toJSON`, as in Node.
#[test]
fn json_stringify_is_that_of_node() {
    check(include_str!("stringify.txt"));
}

#[test]
fn json_stringify_asks_functions_only_where_it_can() {
    check(
        r#"
        (() => { let a = {}; a.a = a; return JSON.stringify(a, (k, v) => v) })() => threw TypeError: the value cannot be written as JSON: it contains itself
        JSON.stringify({a: 1}, (k, v) => ({a: v})) => threw TypeError: the value cannot be written as JSON: it is nested too deeply
        JSON.stringify({a: 1}, (k, v) => { throw "no" }) => threw no
        [{a: 1}].map(JSON.stringify) => ["{\"a\":1}"]
        [{toJSON: () => 1}].map(JSON.stringify) => threw TypeError: `JSON.stringify` has to call a function of the script: write a function around it
    "#,
    );
}
