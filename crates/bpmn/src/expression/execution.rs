//! Translates the script API of other engines to the flow language.
//!
//! `execution.getVariable('x')` is the variable `x`, `execution.setVariable('x', …)` assigns it,
//! and `var` declares nothing: names that are not declared with `let` or `const` are variables of
//! the process. Texts in quotes and comments stay as they are, and so do all lines.

use std::fmt::Write;

use super::juel::{is_part, is_start, quoted_length};

/// A script in the flow language.
pub(super) fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' | '`' => quoted_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
            first if is_start(first) => {
                let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
                rest = word(&rest[..length], &rest[length..], &mut out);
                continue;
            }
            first => first.len_utf8(),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// Writes the translation of a word and returns the rest of the text.
fn word<'a>(word: &str, after: &'a str, out: &mut String) -> &'a str {
    let is_property = out.ends_with('.');
    match word {
        "var" if !is_property => {
            // The variable of a `for` loop stays local to the loop.
            out.push_str(if out.trim_end().ends_with('(') { "let" } else { "   " });
            after
        }
        "execution" if !is_property => call(after, out).unwrap_or_else(|| {
            out.push_str(word);
            after
        }),
        _ => {
            out.push_str(word);
            after
        }
    }
}

/// A call on `execution` whose variable name is a literal.
fn call<'a>(after: &'a str, out: &mut String) -> Option<&'a str> {
    let (method, arguments) = after.strip_prefix('.')?.split_once('(')?;
    let arguments = arguments.trim_start();
    if !arguments.starts_with(['"', '\'']) {
        return None;
    }
    let (name, rest) = arguments.split_at(quoted_length(arguments));
    let name = name.get(1..name.len() - 1).filter(|it| it.starts_with(is_start))?;
    if !name.chars().all(is_part) {
        return None;
    }
    let rest = rest.trim_start();
    match method {
        "getVariable" | "getVariableLocal" => {
            let rest = rest.strip_prefix(')')?;
            out.push_str(name);
            Some(rest)
        }
        "hasVariable" | "hasVariableLocal" => {
            let _ = write!(out, "({name} != null");
            Some(rest)
        }
        "setVariable" | "setVariableLocal" => {
            let rest = rest.strip_prefix(',')?;
            let _ = write!(out, "({name} =");
            Some(rest)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn calls_on_the_execution_become_variables() {
        for (script, flow) in [
            ("let x = 1; x", "let x = 1; x"),
            ("var n = execution.getVariable(\"n\");", "    n = n;"),
            ("execution.setVariable('sum', a + f(b));", "(sum = a + f(b));"),
            ("if (execution.hasVariable('a')) b", "if ((a != null)) b"),
            ("for (var i = 0; i < 3; i++) {}", "for (let i = 0; i < 3; i++) {}"),
            ("execution.getVariable(name)", "execution.getVariable(name)"),
            ("'var' // var execution.getVariable('x')", "'var' // var execution.getVariable('x')"),
            ("order.var", "order.var"),
        ] {
            assert_eq!(translate(script), flow, "{script}");
        }
    }
}
