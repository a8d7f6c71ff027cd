//! Tables of hostile expressions, for the budget tests of every language: each line has the code
//! with which the evaluation ends, and the expression.

use std::fmt::Write as _;

/// Evaluates every expression of a table and compares the codes.
pub(crate) fn check(table: &str, code_of: fn(&str) -> String) {
    let mut wrong = String::new();
    let mut count = 0;
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((code, text)) = line.split_once(' ') else {
            panic!("{line}");
        };
        count += 1;
        let found = code_of(&expand(text));
        if found != code {
            let _ = writeln!(wrong, "{text}\n  wanted {code}, found {found:.300}");
        }
    }
    assert!(wrong.is_empty() && count > 0, "\n{wrong}");
}

/// `@3*x@` is `xxx`.
fn expand(text: &str) -> String {
    let mut parts = text.split('@');
    let mut out = parts.next().unwrap_or_default().to_owned();
    while let (Some(inner), Some(after)) = (parts.next(), parts.next()) {
        let (count, what) = inner.split_once('*').expect("a number and what is repeated");
        out.push_str(&what.repeat(count.parse().expect("a number")));
        out.push_str(after);
    }
    out
}
