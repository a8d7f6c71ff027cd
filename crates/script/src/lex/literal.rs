//! Strings and templates with their escapes.

use std::sync::Arc;

use super::scanner::Scanner;
use super::token::Kind;
use crate::problem::Code;
use crate::span::Span;

impl Scanner<'_> {
    pub(super) fn string(&mut self, quote: char) {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None | Some('\n' | '\r') => {
                    let span = self.span_from(start);
                    let message = "this string does not end on its line";
                    let help = "close it with the same quote, or use a template in back-ticks";
                    self.problems.add_with_help(Code::Unterminated, span, message, help);
                    break;
                }
                Some(c) if c == quote => {
                    self.at += 1;
                    break;
                }
                Some('\\') => self.escape(&mut text),
                Some(c) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
        self.push(start, Kind::Text(Arc::from(text)));
    }

    /// A piece of a template, from its back-tick or from the brace that closes an expression.
    pub(super) fn template(&mut self, first: bool) {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        let last = loop {
            match self.peek() {
                None => {
                    let span = self.span_from(start);
                    let at = Span::new(span.start, span.start + 1);
                    self.problems.add(
                        Code::Unterminated,
                        at,
                        "this template has no closing back-tick",
                    );
                    break true;
                }
                Some('`') => {
                    self.at += 1;
                    break true;
                }
                Some('$') if self.byte(1) == Some(b'{') => {
                    self.at += 2;
                    self.open_template();
                    break false;
                }
                Some('\\') => self.escape(&mut text),
                Some('\r') => {
                    // A line end is always `\n`, whatever the source uses.
                    self.at += 1 + usize::from(self.byte(1) == Some(b'\n'));
                    text.push('\n');
                }
                Some(c) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        };
        let end = self.at - if last { 1 } else { 2 };
        let raw = self.text.get(start + 1..end.max(start + 1)).unwrap_or_default();
        let raw = Arc::from(raw.replace("\r\n", "\n").replace('\r', "\n"));
        self.push(start, Kind::Template { text: Arc::from(text), raw, first, last });
    }

    fn escape(&mut self, text: &mut String) {
        let start = self.at;
        self.at += 1;
        let Some(c) = self.peek() else { return };
        self.at += c.len_utf8();
        let plain = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' if !self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) => '\0',
            '\n' => return,
            '\r' => {
                self.at += usize::from(self.byte(0) == Some(b'\n'));
                return;
            }
            'x' => return self.code_point(start, 2, text),
            'u' => return self.unicode(start, text),
            '1'..='9' => {
                let span = self.span_from(start);
                self.problems.add(Code::Literal, span, "octal escapes are not in the language");
                return;
            }
            other => other,
        };
        text.push(plain);
    }

    fn unicode(&mut self, start: usize, text: &mut String) {
        if self.byte(0) == Some(b'{') {
            self.at += 1;
            let rest = self.text.get(self.at..).unwrap_or_default();
            let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
            let value = u32::from_str_radix(rest.get(..digits).unwrap_or_default(), 16).ok();
            let closed = rest.as_bytes().get(digits) == Some(&b'}');
            self.at += digits + usize::from(closed);
            let value = value.filter(|_| closed && digits <= 6);
            return self.push_char(start, value.and_then(char::from_u32), text);
        }
        let Some(high @ 0xd800..=0xdbff) = self.hex(4) else {
            return self.code_point(start, 4, text);
        };
        // Two escapes may form one character.
        self.at += 4;
        let low = if self.starts_with("\\u") {
            self.at += 2;
            let low = self.hex(4);
            self.at += if low.is_some() { 4 } else { 0 };
            low
        } else {
            None
        };
        let whole = match low {
            Some(low @ 0xdc00..=0xdfff) => {
                char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
            }
            _ => None,
        };
        self.push_char(start, whole, text);
    }

    fn code_point(&mut self, start: usize, digits: usize, text: &mut String) {
        let value = self.hex(digits);
        self.at += if value.is_some() { digits } else { 0 };
        self.push_char(start, value.and_then(char::from_u32), text);
    }

    fn hex(&self, digits: usize) -> Option<u32> {
        let text = self.text.get(self.at..self.at + digits)?;
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|_| is_hex)
    }

    fn push_char(&mut self, start: usize, c: Option<char>, text: &mut String) {
        if let Some(c) = c {
            text.push(c);
        } else {
            let span = self.span_from(start);
            self.problems.add(Code::Literal, span, "this escape names no character");
        }
    }
}
