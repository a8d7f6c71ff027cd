//! Regular expressions in Java's dialect.
//!
//! Look-around and back-references are allowed, so matching can backtrack; the number of steps is
//! bounded and running out of them is an error, never a hang.

use fancy_regex::{Regex, RegexBuilder};

use super::Text;

/// Steps of backtracking before a match is given up.
const BACKTRACK_LIMIT: usize = 200_000;

/// Bytes of a compiled expression.
const SIZE_LIMIT: usize = 1 << 20;

/// A compiled regular expression with its source.
#[derive(Debug)]
pub struct Pattern {
    source: Text,
    regex: Regex,
    whole: Regex,
}

/// The text is not a regular expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a valid regular expression: {reason}")]
pub struct InvalidPattern {
    reason: String,
}

impl Pattern {
    /// Compiles an expression.
    pub fn new(source: &str) -> Result<Self, InvalidPattern> {
        let translated = translate(source);
        let compile = |text: &str| {
            RegexBuilder::new(text)
                .backtrack_limit(BACKTRACK_LIMIT)
                .delegate_size_limit(SIZE_LIMIT)
                .build()
                .map_err(|error| InvalidPattern { reason: error.to_string() })
        };
        let regex = compile(&translated)?;
        let whole = compile(&format!("^(?:{translated})\\z"))?;
        Ok(Self { source: source.into(), regex, whole })
    }

    /// The text it was made from.
    pub fn source(&self) -> &Text {
        &self.source
    }

    /// The groups of a match of the whole text.
    pub fn match_whole<'t>(&self, text: &'t str) -> Result<Option<Found<'t>>, InvalidPattern> {
        Ok(found(&self.whole, text, 1)?.pop())
    }

    /// Whether there is a match anywhere.
    pub fn is_match(&self, text: &str) -> Result<bool, InvalidPattern> {
        self.regex.is_match(text).map_err(|error| gave_up(&error))
    }

    /// The groups of every match, from left to right.
    pub fn matches<'t>(&self, text: &'t str) -> Result<Vec<Found<'t>>, InvalidPattern> {
        found(&self.regex, text, usize::MAX)
    }
}

/// One match: the whole of it is group 0.
#[derive(Debug, Clone)]
pub struct Found<'t> {
    text: &'t str,
    spans: Vec<Option<(usize, usize)>>,
}

impl<'t> Found<'t> {
    /// The text of every group; none where a group took no part.
    pub fn groups(&self) -> impl Iterator<Item = Option<&'t str>> {
        let text = self.text;
        self.spans.iter().map(move |span| span.and_then(|(start, end)| text.get(start..end)))
    }

    /// The byte offsets of every group.
    pub fn spans(&self) -> &[Option<(usize, usize)>] {
        &self.spans
    }

    /// Byte offsets of the whole match.
    pub fn span(&self) -> (usize, usize) {
        self.spans.first().copied().flatten().unwrap_or((0, 0))
    }
}

fn found<'t>(regex: &Regex, text: &'t str, limit: usize) -> Result<Vec<Found<'t>>, InvalidPattern> {
    let mut all = Vec::new();
    for captures in regex.captures_iter(text).take(limit) {
        let captures = captures.map_err(|error| gave_up(&error))?;
        let span = |group| captures.get(group).map(|found| (found.start(), found.end()));
        all.push(Found { text, spans: (0..captures.len()).map(span).collect() });
    }
    Ok(all)
}

fn gave_up(error: &fancy_regex::Error) -> InvalidPattern {
    InvalidPattern { reason: error.to_string() }
}

/// Rewrites what Java means differently: `\d`, `\w` and `\s` are ASCII, `\h`, `\Z` and the POSIX
/// names of classes exist, and `[` needs no escape inside a class.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut depth = 0_usize;
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(escaped) = chars.next() else {
                    out.push('\\');
                    break;
                };
                if escaped == 'Q' {
                    quote(&mut chars, &mut out);
                } else if escaped == 'p' || escaped == 'P' {
                    property(&mut chars, escaped, &mut out);
                } else {
                    escape(escaped, depth > 0, &mut out);
                }
            }
            '[' => {
                depth += 1;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                    out.push_str("\\]");
                }
            }
            ']' if depth > 0 => {
                depth -= 1;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

fn escape(escaped: char, in_class: bool, out: &mut String) {
    let class = match escaped {
        'd' => "0-9",
        'w' => "a-zA-Z_0-9",
        's' => " \\t\\n\\x0B\\f\\r",
        'h' => " \\t\\u{A0}",
        _ => "",
    };
    match (escaped, in_class) {
        ('d' | 'w' | 's' | 'h', true) => out.push_str(class),
        ('d' | 'w' | 's' | 'h', false) => out.extend(["[", class, "]"]),
        ('D', _) => out.push_str("[^0-9]"),
        ('W', _) => out.push_str("[^a-zA-Z_0-9]"),
        ('S', _) => out.push_str("[^ \\t\\n\\x0B\\f\\r]"),
        ('Z', false) => out.push_str("(?=\\n?\\z)"),
        ('R', false) => out.push_str("(?:\\r\\n|[\\n\\x0B\\f\\r\\u{85}\\u{2028}\\u{2029}])"),
        (
            '/' | '"' | '\'' | '`' | '@' | '%' | ',' | ';' | ':' | '=' | '!' | '_' | ' ' | '<'
            | '>',
            _,
        ) => {
            if escaped == '<' || escaped == '>' || escaped == ' ' {
                out.push('\\');
            }
            out.push(escaped);
        }
        _ => {
            out.push('\\');
            out.push(escaped);
        }
    }
}

/// `\Q…\E` takes everything between literally.
fn quote(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.peek() == Some(&'E') {
            chars.next();
            return;
        }
        out.push_str(&fancy_regex::escape(&c.to_string()));
    }
}

fn property(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, escaped: char, out: &mut String) {
    if chars.peek() != Some(&'{') {
        out.push('\\');
        out.push(escaped);
        return;
    }
    chars.next();
    let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
    let posix = match name.as_str() {
        "Lower" => "[:lower:]",
        "Upper" => "[:upper:]",
        "ASCII" => "[:ascii:]",
        "Alpha" => "[:alpha:]",
        "Digit" => "[:digit:]",
        "Alnum" => "[:alnum:]",
        "Punct" => "[:punct:]",
        "Graph" => "[:graph:]",
        "Print" => "[:print:]",
        "Blank" => "[:blank:]",
        "Cntrl" => "[:cntrl:]",
        "XDigit" => "[:xdigit:]",
        "Space" => "[:space:]",
        _ => {
            let name = name.strip_prefix("Is").unwrap_or(&name);
            out.extend(["\\", escaped.encode_utf8(&mut [0; 4]), "{", name, "}"]);
            return;
        }
    };
    let negated = if escaped == 'P' { "^" } else { "" };
    out.extend(["[", negated, posix, "]"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_match(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern).unwrap().is_match(text).unwrap()
    }

    #[test]
    fn java_dialect() {
        assert!(!is_match(r"\d", "१"), "digits are ASCII");
        assert!(is_match(r"^[\w.]+$", "a_1.b"));
        assert!(is_match(r"\Qa.c\E", "xa.cx"));
        assert!(!is_match(r"\Qa.c\E", "abc"));
        assert!(is_match(r"^\p{Alpha}+\p{Punct}$", "abc!"));
        assert!(is_match(r"[^\p{L}]", "1"));
        assert!(is_match(r"a\/b", "a/b"));
        assert!(is_match("[.](?=b)", "a.b"));
        assert!(is_match("[[a-z]&&[^b]]", "a"));
    }

    #[test]
    fn the_whole_text_must_match() {
        let pattern = Pattern::new("a|ab").unwrap();
        assert!(pattern.match_whole("ab").unwrap().is_some());
        assert!(pattern.match_whole("abc").unwrap().is_none());
        assert!(pattern.match_whole("ab\n").unwrap().is_none());
    }

    #[test]
    fn backtracking_ends() {
        let pattern = Pattern::new(r"^(?:(a|aa)+)\1$").unwrap();
        assert!(pattern.is_match(&"a".repeat(200)).is_err() || pattern.is_match("aab").is_ok());
        assert!(Pattern::new("(").is_err());
    }
}
