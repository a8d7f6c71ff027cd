//! Random scripts that compile, for the properties of the language and of the notation.

use proptest::prelude::*;

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "x",
        "\"s\"",
        "null",
        "[]",
        "xs",
        "o",
        "o.a",
        "xs[0]",
        "typeof x",
        "o?.b?.c",
        "-1.5",
        "Task.run(\"t\", 1)",
        "Task.delay(1)",
        "Signal.next(\"s\")",
        "xs.length",
        "undefined",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        let joined = prop_oneof![
            pair.clone().prop_map(|(a, b)| format!("`${{typeof ({a})}}` + ({b})")),
            pair.clone().prop_map(|(a, b)| format!("[{a}, {b}]")),
            pair.clone().prop_map(|(a, b)| format!("(({a}) ?? ({b}))")),
            pair.clone().prop_map(|(a, b)| format!("(({a}) ? ({b}) : x)")),
            pair.clone().prop_map(|(a, b)| format!("({{ k: {a}, l: {b} }}).k")),
        ];
        let combined = prop_oneof![
            pair.clone().prop_map(|(a, b)| format!("Task.all([{a}, {b}])")),
            pair.clone().prop_map(|(a, b)| format!("Task.race([{a}, {b}])")),
            pair.clone().prop_map(|(a, b)| format!("Task.any({{ p: {a}, q: {b} }})")),
            pair.clone().prop_map(|(a, b)| format!("Task.settle([{a}, {b}])")),
            pair.clone().prop_map(|(a, b)| format!("Promise.all([{a}, {b}])")),
            pair.clone().prop_map(|(a, b)| format!("Promise.race([{a}, {b}])")),
            pair.clone().prop_map(|(a, b)| format!("Promise.allSettled([{a}, {b}])")),
            pair.clone().prop_map(|(a, b)| format!("Promise.any([{a}, {b}]).catch(() => 1)")),
            pair.clone()
                .prop_map(|(a, b)| format!("Promise.resolve({a}).then(v => {b}).catch(e => x)")),
            pair.clone()
                .prop_map(|(a, b)| format!("new Promise(r => r({a})).finally(() => {b}).catch(f)")),
            pair.prop_map(|(a, b)| {
                format!("Flow.map([1, 2, 3], async v => {{ await {a}; return {b} }}, {{ concurrency: 2 }})")
            }),
        ];
        let called = prop_oneof![
            inner.clone().prop_map(|a| format!("f({a})")),
            inner.clone().prop_map(|a| format!("xs.map(v => {a})")),
            inner.clone().prop_map(|a| format!("xs.filter(v => {a})")),
            inner.clone().prop_map(|a| format!("xs.reduce((s, v) => {a}, 0)")),
            inner.clone().prop_map(|a| format!("[3, 1, 2].sort((l, r) => l - r).concat({a})")),
            inner.clone().prop_map(|a| format!("(() => {{ x = {a}; return x }})()")),
            inner.clone().prop_map(|a| format!("(async v => {{ x = await {a}; return v }})(x)")),
            inner.clone().prop_map(|a| format!("(async () => {a})().catch(e => e)")),
            inner.clone().prop_map(|a| format!("xs.map(async v => {{ const w = {a}; await v; return w }})")),
        ];
        let awaited = inner.prop_map(|a| format!("await {a}"));
        prop_oneof![awaited, joined, combined, called]
    })
}

fn statement() -> impl Strategy<Value = String> {
    let plain = prop_oneof![
        expression().prop_map(|a| format!("x = {a};")),
        expression().prop_map(|a| format!("xs.push({a});")),
        expression().prop_map(|a| format!("o.a = {a};")),
        expression().prop_map(|a| format!("{{ let [p, q = 2] = [{a}]; x = p ?? q; }}")),
        expression().prop_map(|a| format!("if ({a}) throw {{ code: \"T\" }};")),
    ];
    plain.prop_recursive(3, 12, 2, |inner| {
        let (a, b) = (inner.clone(), inner.clone());
        prop_oneof![
            (a.clone(), b.clone()).prop_map(|(a, b)| format!("try {{ {a} }} catch (e) {{ {b} }}")),
            (a.clone(), b.clone()).prop_map(|(a, b)| format!("try {{ {a} }} finally {{ {b} }}")),
            (a.clone(), b).prop_map(|(a, b)| format!("{{ {a} {b} }}")),
            a.clone().prop_map(|a| format!("for (let i = 0; i < 3; i++) {{ {a} }}")),
            a.clone().prop_map(|a| format!("for (const v of [1, 2]) {{ {a} if (v == 2) break }}")),
            a.clone().prop_map(|a| format!("switch (x) {{ case 1: {a} default: x = 2 }}")),
            a.prop_map(|a| format!("{{ const g = (n = 1) => {{ {a} return n }}; g(); }}")),
        ]
    })
}

/// A script that compiles.
pub(crate) fn program_text() -> impl Strategy<Value = String> {
    prop::collection::vec(statement(), 1..5).prop_map(|statements| {
        let body: Vec<String> = statements.iter().map(|it| format!("{{ {it} }}")).collect();
        format!(
            "let x = 1; let xs = [1, 2]; let o = {{ a: 1 }}; function f(n) {{ return n }}\n{}\n\
             return [typeof x, xs.length]",
            body.join("\n")
        )
    })
}
