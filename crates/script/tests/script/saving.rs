//! What is saved between turns.

use meantime_core::{Json, Limits};

use crate::host::{Story, eval_with};

#[test]
fn a_task_is_awaited_across_a_save() {
    let mut story = Story::start("let r = await Task.run(\"noop\", {}); return r", "null");
    assert!(story.state_bytes() <= 100, "{} bytes", story.state_bytes());
    story.done(1, 0, "{\"a\":[1]}");
    expect_test::expect![[r#"
        Task "noop" {}
        waits
        took 1.0
        returned {"a":[1]}"#]]
    .assert_eq(&story.text());
}

#[test]
fn a_hundred_tasks_take_few_bytes() {
    let text = "let xs = []; for (let i = 0; i < 100; i++) xs.push(i); \
                return await Task.all(xs.map(i => Task.run(\"work\", {i})))";
    let mut story = Story::start(text, "null");
    assert!(story.state_bytes() <= 2_500, "{} bytes", story.state_bytes());
    for ordinal in 0..99 {
        story.done(1, ordinal, "{\"result\":\"a result of some length\"}");
    }
    assert!(story.state_bytes() <= 8_000, "{} bytes", story.state_bytes());
    story.failed(1, 99, "E");
    assert!(story.text().ends_with("\"column\":63}]"), "{}", story.text());
}

#[test]
fn a_hundred_coroutines_take_few_bytes() {
    let text = "const ids = Array.from({ length: 100 }, (_, i) => i); \
                return await Promise.all(ids.map(async id => { \
                const n = await Task.run(\"work\", { id }); return n + id }))";
    let mut story = Story::start(text, "null");
    assert!(story.state_bytes() <= 10_000, "{} bytes", story.state_bytes());
    for ordinal in 0..100 {
        story.done(1, ordinal, "1");
    }
    assert!(story.text().contains("returned [1,2,3,"), "{}", story.text());
}

#[test]
fn what_nothing_can_continue_is_not_saved() {
    let text = "const big = \"x\".repeat(9000); let out; \
                (async () => { await new Promise(() => {}); out = big })(); \
                const tick = async () => { const inner = big + 1; await Task.run(\"t\"); }; \
                for (let i = 0; i < 50; i++) await Promise.race([Signal.next(\"s\"), Task.delay(1)]); \
                return 1";
    let mut story = Story::start(text, "null");
    let first = story.state_bytes();
    for turn in 1..20 {
        story.done(turn, if turn == 1 { 1 } else { 2 }, "null");
    }
    assert!(story.state_bytes() <= first + 40, "{} bytes, {first} before", story.state_bytes());
}

/// Node's answers, and the function that shows a value as text.
const VECTORS: &str = include_str!("../../../flow/tests/node/vectors.txt");
const SHOW: &str = include_str!("../../../flow/tests/node/show.js");

/// Objects with classes, collections, dates and patterns have the same meaning if the script is
/// saved and loaded wherever it can be.
#[test]
fn objects_are_the_same_after_every_save() {
    let limits = Limits { ops_per_slice: 40, ..Limits::default() };
    let (mut count, mut wrong) = (0, Vec::new());
    let is_about_objects = |line: &&str| {
        ["class ", "new Map", "new Set", "new Date", "get a", "this", "/g", "var "]
            .iter()
            .any(|word| line.contains(word))
    };
    // Expressions of one shape differ only in their values: every fifth is enough.
    for line in VECTORS.lines().filter(is_about_objects).step_by(5) {
        let (expression, wanted) = line.rsplit_once('\t').expect("an expression and a value");
        let Some(wanted) = wanted.strip_prefix('=') else { continue };
        let text = format!("{}; return \"=\" + show(({expression}))", SHOW.trim_end());
        let compiled = meantime_script::compile_script(&text.as_str().into(), "test.flow.js");
        if compiled.program.is_none() {
            continue;
        }
        count += 1;
        let found = eval_with(&text, "null", &limits);
        let found = Json::parse(&found).ok().and_then(|it| it.read::<String>().ok());
        match found {
            Some(found) if found.strip_prefix('=') == Some(wanted) => {}
            Some(found) => wrong.push(format!("{expression}\n  wanted {wanted}\n  found {found}")),
            // Refused at run time, as without saving.
            None => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 300, "only {count} expressions");
}

#[test]
fn waiting_inside_of_classes_loses_nothing() {
    let text = r#"
        class Step {
            #done = []
            kind = "step"
            constructor(name) { this.name = name; this.made = new Date() }
            async_() { return Task.run(this.name, { kind: this.kind }) }
            run() { this.#done.push(await this.async_()); return this }
            get done() { return this.#done }
        }
        class Retried extends Step {
            static tries = new Map()
            constructor(name, first = await Task.run("first")) { super(name); this.first = first }
            run() {
                Retried.tries.set(this.name, (Retried.tries.get(this.name) ?? 0) + 1)
                return super.run()
            }
        }
        const seen = new Set(["a"])
        const step = new Retried("work")
        for (const [n, word] of new Map([[1, "x"], [2, "y"]])) {
            seen.add(`${word}${(await step.run()).done.length}`)
        }
        const match = "2026-11".match(/(?<year>\d+)-(?<month>\d+)/)
        await Task.run("last", { year: match.groups.year })
        try { throw new TypeError("t", { cause: step.first }) } catch (e) {
            await Task.delay(1)
            return [step instanceof Step, [...seen], Retried.tries.get("work"), step.done, step.first,
                step.made.toISOString(), match.index, e instanceof TypeError, e.cause, `${e}`]
        }
    "#;
    let mut story = Story::start(text, "null");
    story.done(1, 0, "0");
    story.done(2, 0, "1");
    story.done(3, 0, "2");
    story.done(4, 0, "null");
    story.done(5, 0, "null");
    expect_test::expect![[r#"
        Task "first"
        waits
        took 1.0
        Task "work" {"kind":"step"}
        waits
        took 2.0
        Task "work" {"kind":"step"}
        waits
        took 3.0
        Task "last" {"year":"2026"}
        waits
        took 4.0
        Delay 1
        waits
        took 5.0
        returned [true,["a","x1","y2"],2,[1,2],0,"2026-01-31T12:00:00.000Z",0,true,0,"TypeError: t"]"#]].assert_eq(&story.text());
}
