//! Renders diagnostics with the source lines and carets under them.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use meantime_core::{Diagnostic, Position, Severity};

/// Renders a diagnostic with its source lines.
pub(crate) fn render_diagnostic(
    name: &str,
    source: &str,
    diagnostic: &Diagnostic,
    colors: bool,
) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let start = byte_offset(source, diagnostic.start);
    let end = diagnostic.end.map_or(start, |end| byte_offset(source, end));
    let end = if end > start { end } else { start + marked_width(&source[start..]) };
    let snippet =
        Snippet::source(source).path(name).annotation(AnnotationKind::Primary.span(start..end));
    let title = level.primary_title(&*diagnostic.message).id(&*diagnostic.code);
    let mut groups = vec![title.element(snippet)];
    if let Some(help) = &diagnostic.help {
        groups.push(Group::with_title(Level::HELP.secondary_title(&**help)));
    }
    let renderer = if colors { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&groups)
}

/// The width in bytes of a position without an end: an XML tag up to the end of its name, otherwise
/// one character; zero at the end of the text.
fn marked_width(rest: &str) -> usize {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '<' | ':' | '_' | '-' | '.');
    match rest.strip_prefix('<') {
        Some(_) => rest.find(|c: char| !is_name(c)).unwrap_or(rest.len()),
        None => rest.chars().next().map_or(0, char::len_utf8),
    }
}

/// The byte offset of a position; lines and columns count from 1.
fn byte_offset(source: &str, position: Position) -> usize {
    let before = usize::try_from(position.line.saturating_sub(1)).unwrap_or_default();
    let line_start: usize = source.split_inclusive('\n').take(before).map(str::len).sum();
    let line = source.get(line_start..).unwrap_or_default();
    let line = line.split('\n').next().unwrap_or_default();
    let column = usize::try_from(position.column.saturating_sub(1)).unwrap_or_default();
    let within: usize = line.chars().take(column).map(char::len_utf8).sum();
    line_start + within
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_line_and_the_position_are_shown() {
        let source = "let a = 1\nlet ä = bb + 1\nreturn a\n";
        let mut diagnostic =
            Diagnostic::error("F001", "`bb` is not defined", Position { line: 2, column: 9 })
                .with_help("did you mean `a`?");
        diagnostic.end = Some(Position { line: 2, column: 11 });
        let drawn = render_diagnostic("a.flow.js", source, &diagnostic, false);
        expect![[r"
            error[F001]: `bb` is not defined
             --> a.flow.js:2:9
              |
            2 | let ä = bb + 1
              |         ^^
              |
            help: did you mean `a`?"]]
        .assert_eq(&drawn);
    }

    #[test]
    fn a_position_behind_the_end_is_rendered() {
        let at = |line, column| Diagnostic::error("F001", "x", Position { line, column });
        for place in [at(1, 1), at(1, 99), at(99, 1)] {
            assert!(render_diagnostic("a", "ab", &place, false).contains("F001"));
            assert!(render_diagnostic("a", "", &place, false).contains("F001"));
        }
    }
}
