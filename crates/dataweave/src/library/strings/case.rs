//! Names in different styles: camelCase, dashes, underscores, capitals.

use super::super::super::eval::{Eval, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::NULL_1;

const ONE_PARAM: &[Param] = &[Param::TEXT];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("camelize", &[Overload::new(ONE_PARAM, camelize), NULL_1]),
    Native::new("capitalize", &[Overload::new(ONE_PARAM, capitalize), NULL_1]),
    Native::new("dasherize", &[Overload::new(ONE_PARAM, dasherize), NULL_1]),
    Native::new("underscore", &[Overload::new(ONE_PARAM, underscore), NULL_1]),
];

/// Removes underscores and capitalizes the letter after each; the first letter is small.
fn camelize(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    let mut out = String::with_capacity(text.len());
    let mut after_underscore = false;
    for c in text.trim_start_matches('_').chars() {
        if c == '_' {
            after_underscore = true;
        } else if out.is_empty() {
            out.extend(c.to_lowercase());
        } else if after_underscore {
            out.extend(c.to_uppercase());
            after_underscore = false;
        } else {
            out.push(c);
        }
    }
    eval.text(out)
}

fn dasherize(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(separated(&args.text(0), '-'))
}

fn underscore(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(separated(&args.text(0), '_'))
}

fn capitalize(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut out = String::new();
    let mut starts_word = true;
    // Words consist of ASCII letters and digits; other letters end a word.
    for c in separated(&args.text(0), ' ').chars() {
        out.push(if starts_word { c.to_ascii_uppercase() } else { c });
        starts_word = !c.is_ascii_alphanumeric();
    }
    eval.text(out)
}

/// Lower case, with the separator between words: at existing separators, before a capital, and
/// before the last capital of an abbreviation that is followed by a word.
fn separated(text: &str, separator: char) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in chars.iter().enumerate() {
        if matches!(c, '_' | '-') || c.is_whitespace() {
            out.push(separator);
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| chars.get(before));
        let after = chars.get(at + 1);
        let after_small = before.is_some_and(|b| b.is_lowercase() || b.is_numeric());
        let ends_abbreviation =
            before.is_some_and(|b| b.is_uppercase()) && after.is_some_and(|a| a.is_lowercase());
        if c.is_uppercase() && (after_small || ends_abbreviation) {
            out.push(separator);
        }
        out.extend(c.to_lowercase());
    }
    out
}
