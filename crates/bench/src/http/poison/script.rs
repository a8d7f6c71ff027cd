//! Flow scripts that compute without end.

use serde_json::json;

use super::seeded_choice::SeededChoice;
use super::variant::PoisonDefinition;
use super::{journey, process};

pub(super) const MEDIA_TYPE: &str = "text/javascript";

/// Endless loops with different bodies.
const LOOPS: &[&str] = &[
    "while (true) {}",
    "let n = 1\nwhile (true) { n = (n * 31 + 7) % 1000003 }",
    "let text = \"\"\nwhile (true) { text = (text + \"x\").slice(-500) }",
    "let text = \"\"\nwhile (true) { text = text + \"a longer text than before \" }",
    "let list = []\nwhile (true) { list.push([list.length]) }",
    "const seen = {}\nlet n = 0\nwhile (true) { seen[\"k\" + n % 500] = { n }\nn++ }",
    "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }\nwhile (true) { f(20) }",
    "while (true) { try { throw new Error(\"again\") } catch (error) { continue } }",
    "while (true) { [1, 2, 3].map(a => [1, 2, 3].map(b => a * b)) }",
    "do { for (const a of [1, 2, 3]) { for (const b of [1, 2, 3]) { a * b } } } while (true)",
];

/// Calls that cost more than one operation; `list` and `text` are large.
const CALLS: &[&str] = &[
    "list.sort((a, b) => b - a)",
    "list.sort()",
    "list.reverse()",
    "list.concat(list)",
    "list.slice(1)",
    "[...list]",
    "list.indexOf(-1)",
    "list.includes(\"no\")",
    "list.join(\",\")",
    "list.flat()",
    "list.unshift(list.pop())",
    "list.push(list.shift())",
    "list.splice(1, 1, 0)",
    "list.fill(7)",
    "JSON.stringify(list)",
    "JSON.parse(JSON.stringify(list))",
    "Object.keys(Object.assign({}, list))",
    "Array.from(list)",
    "text.split(\"a\")",
    "text.split(\"\").join(\"\")",
    "text.replaceAll(\"ab\", \"ba\")",
    "text.indexOf(\"bb\")",
    "text.lastIndexOf(\"bb\")",
    "text.toUpperCase()",
    "text.slice(1) + \"a\"",
    "text.includes(\"abba\")",
    "text.trim() == text + \"!\"",
    "text.at(-1)",
    "Array.from(text)",
];

/// A loop that never ends, in a flow or in a script task.
pub(super) fn endless(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let script = *choice.one_of(LOOPS);
    whole(choice, name, script, &script.replace('\n', "; "))
}

/// Costly calls on large values, without end or many times.
pub(super) fn costly(choice: &mut SeededChoice, name: &str) -> PoisonDefinition {
    let (entries, letters) = (choice.magnitude(500, 50_000), choice.magnitude(1_000, 400_000));
    let calls: Vec<_> = (0..choice.between(1, 3)).map(|_| *choice.one_of(CALLS)).collect();
    let head = if choice.coin_flip() {
        "while (true)".to_owned()
    } else {
        format!("for (let i = 0; i < {}; i++)", choice.magnitude(10, 10_000))
    };
    let fill =
        format!("for (let i = 0; i < {entries}; i++) {{ list.push((i * 7919) % {entries}) }}");
    let values = format!("let list = []\n{fill}\nconst text = \"ab\".repeat({})", letters / 2);
    let script = format!("{values}\n{head} {{ {} }}", calls.join("\n"));
    let title = format!("{head} {}, {entries} entries, {letters} letters", calls.join("; "));
    whole(choice, name, &script, &title)
}

/// The beginning of a flow: nothing, or a sleep.
pub(super) fn beginning(choice: &mut SeededChoice) -> (&'static str, &'static str) {
    let (sleeps, words) = journey::sleeping(choice);
    (if sleeps { "await Task.delay(1)\n" } else { "" }, words)
}

fn whole(choice: &mut SeededChoice, name: &str, script: &str, title: &str) -> PoisonDefinition {
    if choice.between(0, 2) == 0 {
        let (text, words) = process::scripted(choice, name, script);
        let title = format!("script task, {title}, {words}");
        return PoisonDefinition { title, media_type: process::MEDIA_TYPE, text, input: json!({}) };
    }
    let (begin, words) = beginning(choice);
    let (title, text) = (format!("flow, {title}, {words}"), format!("{begin}{script}\n"));
    PoisonDefinition { title, media_type: MEDIA_TYPE, text, input: json!({}) }
}
