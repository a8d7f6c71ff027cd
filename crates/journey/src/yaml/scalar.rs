//! Plain scalars: JSON's words and numbers, text otherwise.

use super::node::Content;

/// The content of a plain scalar, unless it is text.
pub(super) fn plain(text: &str) -> Option<Content> {
    match text {
        "" | "~" | "null" => Some(Content::Null),
        "true" => Some(Content::Bool(true)),
        "false" => Some(Content::Bool(false)),
        _ if is_number(text) => Some(Content::Number(text.to_owned())),
        _ => None,
    }
}

/// Whether the text is a number as JSON writes it.
fn is_number(text: &str) -> bool {
    let rest = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = split_digits(rest);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return false;
    }
    let rest = match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, rest) = split_digits(rest);
            if fraction.is_empty() {
                return false;
            }
            rest
        }
        None => rest,
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(rest) => {
            let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
            let (digits, rest) = split_digits(rest);
            !digits.is_empty() && rest.is_empty()
        }
        None => rest.is_empty(),
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}
