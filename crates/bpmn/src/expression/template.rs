//! Text with `${…}` or `#{…}` in it.

/// A part of such a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplatePart<'a> {
    Text(&'a str),
    Code(&'a str),
}

/// The parts of a text; none if it contains no expression.
pub(super) fn template_parts(text: &str) -> Option<Result<Vec<TemplatePart<'_>>, &'static str>> {
    let mut found = Vec::new();
    let (mut rest, mut any) = (text, false);
    while let Some(at) = ["${", "#{"].iter().filter_map(|open| rest.find(open)).min() {
        any = true;
        if at > 0 {
            found.push(TemplatePart::Text(&rest[..at]));
        }
        let code = &rest[at + 2..];
        let Some(end) = closing_brace(code) else { return Some(Err("a `{` is not closed")) };
        found.push(TemplatePart::Code(&code[..end]));
        rest = &code[end + 1..];
    }
    if !rest.is_empty() {
        found.push(TemplatePart::Text(rest));
    }
    any.then_some(Ok(found))
}

/// The closing brace; braces and quotes inside the code are skipped.
fn closing_brace(code: &str) -> Option<usize> {
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
    use super::{TemplatePart, template_parts};

    #[test]
    fn texts_and_expressions_in_turn() {
        assert!(template_parts("plain $5 {x}").is_none());
        assert_eq!(template_parts("${a}"), Some(Ok(vec![TemplatePart::Code("a")])));
        let mixed = template_parts("Dear ${name}, #{x['}']}!");
        let expected = vec![
            TemplatePart::Text("Dear "),
            TemplatePart::Code("name"),
            TemplatePart::Text(", "),
            TemplatePart::Code("x['}']"),
            TemplatePart::Text("!"),
        ];
        assert_eq!(mixed, Some(Ok(expected)));
        assert_eq!(template_parts("${a"), Some(Err("a `{` is not closed")));
        assert_eq!(
            template_parts("${ {a: 1}.a }"),
            Some(Ok(vec![TemplatePart::Code(" {a: 1}.a ")]))
        );
    }
}
