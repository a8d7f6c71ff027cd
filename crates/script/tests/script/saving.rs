//! What is saved between turns.

use crate::host::Story;

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
