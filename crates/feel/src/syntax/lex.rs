//! The lexer.

use super::super::problem::SyntaxError;

/// A token with its offset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) offset: usize,
}

/// The kind of a token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// A word: a name, a part of one, or a keyword.
    Word(String),
    /// A name in backticks: never a keyword.
    Quoted(String),
    Number(String),
    Text(String),
    /// `@"2026-01-01"`
    At(String),
    Symbol(&'static str),
    End,
}

/// Longer ones first.
const SYMBOLS: [&str; 23] = [
    "..", "**", "<=", ">=", "!=", "->", "(", ")", "[", "]", "{", "}", ",", ":", ".", "+", "-", "*",
    "/", "<", ">", "=", "|",
];

/// All tokens of a text, the last one `End`.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, SyntaxError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut found = Vec::new();
    loop {
        lexer.skip()?;
        let offset = lexer.at;
        let kind = lexer.next()?;
        let is_end = kind == TokenKind::End;
        found.push(Token { kind, offset });
        if is_end {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Blanks and comments.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                self.at += blank;
            } else if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let end = rest.find("*/");
                self.at +=
                    end.ok_or_else(|| SyntaxError::new(self.at, "a comment does not end"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<TokenKind, SyntaxError> {
        let Some(first) = self.peek() else { return Ok(TokenKind::End) };
        match first {
            '"' => self.text().map(TokenKind::Text),
            '@' if self.rest().starts_with("@\"") => {
                self.at += 1;
                self.text().map(TokenKind::At)
            }
            '`' => self.quoted(),
            c if c.is_ascii_digit() => Ok(self.number()),
            '.' if self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit()) => {
                Ok(self.number())
            }
            c if is_start(c) => Ok(self.word()),
            _ => self.symbol(),
        }
    }

    fn symbol(&mut self) -> Result<TokenKind, SyntaxError> {
        let found = SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol));
        match found {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(TokenKind::Symbol(symbol))
            }
            None => {
                let c = self.peek().unwrap_or_default();
                let problem = SyntaxError::new(self.at, format!("`{c}` has no meaning here"));
                Err(match c {
                    '\'' => problem.with_help("texts are written in double quotes"),
                    '&' => problem.with_help("write `and`"),
                    _ => problem,
                })
            }
        }
    }

    fn word(&mut self) -> TokenKind {
        let end = self.rest().find(|c: char| !is_part(c)).unwrap_or(self.rest().len());
        let word = self.rest().get(..end).unwrap_or_default().to_owned();
        self.at += end;
        TokenKind::Word(word)
    }

    fn quoted(&mut self) -> Result<TokenKind, SyntaxError> {
        let rest = self.rest().get(1..).unwrap_or_default();
        let Some(end) = rest.find('`') else {
            return Err(SyntaxError::new(self.at, "a name in backticks does not end"));
        };
        let name = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end + 2;
        Ok(TokenKind::Quoted(name))
    }

    /// Digits, a point with digits, an exponent. `1..3` is a range, not a number with a point.
    fn number(&mut self) -> TokenKind {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut end = digits(rest);
        let after = rest.get(end..).unwrap_or_default();
        if after.starts_with('.') && digits(after.get(1..).unwrap_or_default()) > 0 {
            end += 1 + digits(after.get(1..).unwrap_or_default());
        }
        let after = rest.get(end..).unwrap_or_default();
        if let Some(exponent) = after.strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let count = digits(exponent.get(sign..).unwrap_or_default());
            if count > 0 {
                end += 1 + sign + count;
            }
        }
        let text = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end;
        TokenKind::Number(text)
    }

    fn text(&mut self) -> Result<String, SyntaxError> {
        let start = self.at;
        let mut out = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + offset + 1;
                    return Ok(out);
                }
                '\\' => {
                    let Some((_, escaped)) = chars.next() else { break };
                    match escaped {
                        'n' => out.push('\n'),
                        'r' => out.push('\r'),
                        't' => out.push('\t'),
                        'u' | 'U' => {
                            let count = if escaped == 'u' { 4 } else { 6 };
                            let hex: String =
                                chars.by_ref().take(count).map(|(_, digit)| digit).collect();
                            push_unit(&mut out, &hex);
                        }
                        '"' | '\\' | '\'' => out.push(escaped),
                        other => {
                            // A regular expression such as "\d" keeps its backslash.
                            out.push('\\');
                            out.push(other);
                        }
                    }
                }
                other => out.push(other),
            }
        }
        Err(SyntaxError::new(start, "a text does not end"))
    }
}

/// Adds a character by its code unit; the two halves of a surrogate pair are combined.
fn push_unit(out: &mut String, hex: &str) {
    let number = u32::from_str_radix(hex, 16).unwrap_or(0xfffd);
    let low = (0xdc00..0xe000).contains(&number);
    if low
        && let Some(high) =
            out.chars().next_back().filter(|c| ('\u{f0000}'..'\u{f0400}').contains(c))
    {
        out.pop();
        let high = u32::from(high) - 0xf_0000;
        let both = 0x1_0000 + (high << 10) + (number - 0xdc00);
        out.push(char::from_u32(both).unwrap_or('\u{fffd}'));
        return;
    }
    // The first half is kept as a private-use character until the second one follows.
    let number =
        if (0xd800..0xdc00).contains(&number) { number - 0xd800 + 0xf_0000 } else { number };
    out.push(char::from_u32(number).unwrap_or('\u{fffd}'));
}

fn is_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '?' || c == '$'
}

fn is_part(c: char) -> bool {
    is_start(c) || c.is_numeric() || c == '\''
}
