//! Translates the operators of other engines inside `${…}` to the flow language.
//!
//! `and or not eq ne lt gt le ge empty div mod` stand for operators, and
//! `execution.getVariable('x')` for the variable itself. Texts in quotes stay as they are.

use std::fmt::Write;

/// The expression in the flow language.
pub(super) fn translate(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if matches!(first, '"' | '\'' | '`') {
            let length = quoted_length(rest);
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else if is_start(first) {
            let length = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            let is_property = out.trim_end().ends_with('.');
            rest = if is_property {
                plain(word, after, &mut out)
            } else {
                translate_word(word, after, &mut out)
            };
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

fn plain<'a>(word: &str, after: &'a str, out: &mut String) -> &'a str {
    out.push_str(word);
    after
}

/// Writes the translation of a word and returns the rest of the text.
fn translate_word<'a>(word: &str, after: &'a str, out: &mut String) -> &'a str {
    // Every word of this list that does not follow a dot is an operator, also in front of
    // parentheses: `not(x)`.
    let operator = match word {
        "and" => "&&",
        "or" => "||",
        "not" => "!",
        "eq" => "==",
        "ne" => "!=",
        "lt" => "<",
        "gt" => ">",
        "le" => "<=",
        "ge" => ">=",
        "div" => "/",
        "mod" => "%",
        "empty" => return translate_empty(after, out),
        "execution" => return variable(after, out),
        _ => return plain(word, after, out),
    };
    out.push_str(operator);
    after
}

/// `empty x` is true for null and for an empty text, list or object.
fn translate_empty<'a>(after: &'a str, out: &mut String) -> &'a str {
    let blank = after.len() - after.trim_start().len();
    let operand_length = operand_length(&after[blank..]);
    let (operand, rest) = after[blank..].split_at(operand_length);
    let operand = translate(operand);
    let _ = write!(
        out,
        "(v$ => v$ == null || v$ === \"\" || (typeof v$ === \"object\" && \
         Object.keys(v$).length === 0))({operand})"
    );
    rest
}

/// A name with its properties, indices and calls, or something in parentheses.
fn operand_length(text: &str) -> usize {
    let (mut open, mut at) = (0usize, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' | '\'' | '`' => {
                at += quoted_length(&text[at..]);
                continue;
            }
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' if open == 0 => break,
            ')' | ']' | '}' => open -= 1,
            c if open == 0 && !is_part(c) && c != '.' => break,
            _ => {}
        }
        at += c.len_utf8();
    }
    at
}

/// `execution.getVariable('x')` is the variable `x`.
fn variable<'a>(after: &'a str, out: &mut String) -> &'a str {
    let call = [".getVariable(", ".getVariableLocal("].iter().find_map(|it| after.strip_prefix(it));
    let found = call.and_then(|arguments| {
        let (inside, rest) = arguments.split_once(')')?;
        let inside = inside.trim();
        let name = inside.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?;
        let is_name = name.chars().all(is_part) && name.starts_with(is_start);
        is_name.then_some((name, rest))
    });
    match found {
        Some((name, rest)) => {
            out.push_str(name);
            rest
        }
        None => plain("execution", after, out),
    }
}

/// The length of a text in quotes, its quotes included.
pub(super) fn quoted_length(text: &str) -> usize {
    let quote = text.chars().next().unwrap_or('"');
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

pub(super) fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

pub(super) fn is_part(c: char) -> bool {
    is_start(c) || c.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn words_become_operators() {
        for (juel, flow) in [
            ("a > 1", "a > 1"),
            ("a eq 1 and b ne 'or'", "a == 1 && b != 'or'"),
            ("not done or x lt 3", "! done || x < 3"),
            ("a ge 1 && b le 2 || c gt 3", "a >= 1 && b <= 2 || c > 3"),
            ("a div 2 + b mod 3", "a / 2 + b % 3"),
            ("execution.getVariable('total') > 5", "total > 5"),
            ("execution.getVariable(name)", "execution.getVariable(name)"),
            ("order.and.not", "order.and.not"),
            ("\"a and b\"", "\"a and b\""),
        ] {
            assert_eq!(translate(juel), flow, "{juel}");
        }
        assert!(translate("!empty order.items[0].x and y").ends_with(")(order.items[0].x) && y"));
    }
}
