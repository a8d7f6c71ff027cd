//! Text with `${…}` or `#{…}` in it.

/// A part of such a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    Code(&'a str),
}

/// The parts of a text; none when there is no expression in it.
pub(super) fn parts(text: &str) -> Option<Result<Vec<Part<'_>>, &'static str>> {
    let mut found = Vec::new();
    let (mut rest, mut any) = (text, false);
    while let Some(at) = ["${", "#{"].iter().filter_map(|open| rest.find(open)).min() {
        any = true;
        if at > 0 {
            found.push(Part::Text(&rest[..at]));
        }
        let code = &rest[at + 2..];
        let Some(end) = closing(code) else { return Some(Err("a `{` is not closed")) };
        found.push(Part::Code(&code[..end]));
        rest = &code[end + 1..];
    }
    if !rest.is_empty() {
        found.push(Part::Text(rest));
    }
    any.then_some(Ok(found))
}

/// The brace that closes, past braces and quotes inside.
fn closing(code: &str) -> Option<usize> {
    let (mut open, mut quote, mut escaped) = (0usize, None, false);
    for (at, c) in code.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(mark), c) if c == mark => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '{') => open += 1,
            (None, '}') if open == 0 => return Some(at),
            (None, '}') => open -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};

    #[test]
    fn texts_and_expressions_in_turn() {
        assert!(parts("plain $5 {x}").is_none());
        assert_eq!(parts("${a}"), Some(Ok(vec![Part::Code("a")])));
        let mixed = parts("Dear ${name}, #{x['}']}!");
        let expected = vec![
            Part::Text("Dear "),
            Part::Code("name"),
            Part::Text(", "),
            Part::Code("x['}']"),
            Part::Text("!"),
        ];
        assert_eq!(mixed, Some(Ok(expected)));
        assert_eq!(parts("${a"), Some(Err("a `{` is not closed")));
        assert_eq!(parts("${ {a: 1}.a }"), Some(Ok(vec![Part::Code(" {a: 1}.a ")])));
    }
}
