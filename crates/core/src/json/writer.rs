//! The one writer of JSON: values one after the other into one text, within limits.

use std::fmt::Write as _;

use super::escape::write_text;
use super::number::is_number;
use super::{Json, WriteLimit};

/// How a text is laid out. The default has no blanks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextLayout<'l> {
    /// What stands before a line, once for each level. Without it everything is on one line.
    pub indent: Option<&'l str>,
    /// Whether a blank follows a colon.
    pub spaced: bool,
    /// Whether a list or an object without items has lines of its own, as `DataWeave` writes them.
    pub breaks_empty: bool,
}

/// Writes one document. The caller writes a value after each key, closes what it opens and writes
/// no key of an object twice; the rest is kept here.
#[derive(Debug)]
pub struct Writer<'l> {
    out: String,
    layout: TextLayout<'l>,
    max_bytes: usize,
    level: usize,
    /// Nothing stands in the innermost list or object.
    is_empty: bool,
    follows_key: bool,
}

type Result<T = (), E = WriteLimit> = std::result::Result<T, E>;

impl Default for Writer<'_> {
    fn default() -> Self {
        Self::new(TextLayout::default(), usize::MAX)
    }
}

impl<'l> Writer<'l> {
    /// A writer that refuses more than so many bytes.
    pub const fn new(layout: TextLayout<'l>, max_bytes: usize) -> Self {
        Self { out: String::new(), layout, max_bytes, level: 0, is_empty: true, follows_key: false }
    }

    /// `null`
    pub fn null(&mut self) -> Result {
        self.word("null")
    }

    /// `true` or `false`
    pub fn bool(&mut self, value: bool) -> Result {
        self.word(if value { "true" } else { "false" })
    }

    /// A whole number.
    pub fn integer(&mut self, value: i64) -> Result {
        self.begin_value();
        // Writing to a String cannot fail.
        let _ = write!(self.out, "{value}");
        self.check_length()
    }

    /// A number, as it is to be written.
    pub fn number(&mut self, text: &str) -> Result {
        debug_assert!(is_number(text), "{text} is no number of a document");
        self.word(text)
    }

    /// A text.
    pub fn text(&mut self, text: &str) -> Result {
        self.begin_value();
        write_text(&mut self.out, text);
        self.check_length()
    }

    /// A document, as it is.
    pub fn document(&mut self, json: &Json) -> Result {
        self.word(json.as_str())
    }

    /// The name of the value that follows.
    pub fn key(&mut self, name: &str) -> Result {
        self.begin_value();
        write_text(&mut self.out, name);
        self.out.push_str(if self.layout.spaced { ": " } else { ":" });
        self.follows_key = true;
        self.check_length()
    }

    /// Begins a list.
    pub fn list(&mut self) -> Result {
        self.open('[')
    }

    /// Ends the innermost list.
    pub fn end_of_list(&mut self) {
        self.close(']');
    }

    /// Begins an object.
    pub fn object(&mut self) -> Result {
        self.open('{')
    }

    /// Ends the innermost object.
    pub fn end_of_object(&mut self) {
        self.close('}');
    }

    /// The text.
    pub fn into_text(self) -> Result<String> {
        self.check_length()?;
        Ok(self.out)
    }

    /// The document. It is not read again: what this writer writes is JSON.
    pub fn into_json(self) -> Result<Json> {
        self.into_text().map(Json::written)
    }

    fn word(&mut self, word: &str) -> Result {
        self.begin_value();
        self.out.push_str(word);
        self.check_length()
    }

    fn check_length(&self) -> Result {
        if self.out.len() > self.max_bytes {
            return Err(WriteLimit::TooLong(self.max_bytes));
        }
        Ok(())
    }

    fn begin_value(&mut self) {
        if self.follows_key {
            self.follows_key = false;
            return;
        }
        if self.level == 0 {
            return;
        }
        if !self.is_empty {
            self.out.push(',');
        }
        self.is_empty = false;
        self.line();
    }

    fn open(&mut self, bracket: char) -> Result {
        if self.level >= Json::MAX_DEPTH {
            return Err(WriteLimit::TooDeep);
        }
        self.begin_value();
        self.out.push(bracket);
        self.level += 1;
        self.is_empty = true;
        self.check_length()
    }

    fn close(&mut self, bracket: char) {
        if self.is_empty && self.layout.breaks_empty {
            self.line();
        }
        self.level = self.level.saturating_sub(1);
        if !self.is_empty || self.layout.breaks_empty {
            self.line();
        }
        self.out.push(bracket);
        self.is_empty = false;
    }

    fn line(&mut self) {
        if let Some(indent) = self.layout.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(indent, self.level));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(layout: TextLayout<'_>) -> String {
        let mut writer = Writer::new(layout, 1_000);
        let mut write = || {
            writer.object()?;
            writer.key("a\n")?;
            writer.list()?;
            writer.null()?;
            writer.bool(true)?;
            writer.integer(-1)?;
            writer.number("1.50e3")?;
            writer.text("\u{1}é\"")?;
            writer.end_of_list();
            writer.key("b")?;
            writer.object()?;
            writer.end_of_object();
            writer.key("c")?;
            writer.document(&Json::null())?;
            writer.end_of_object();
            Ok::<(), WriteLimit>(())
        };
        write().unwrap();
        writer.into_json().unwrap().to_string()
    }

    #[test]
    fn layouts_differ_in_blanks_only() {
        let compact = written(TextLayout::default());
        assert_eq!(
            compact,
            "{\"a\\n\":[null,true,-1,1.50e3,\"\\u0001é\\\"\"],\"b\":{},\"c\":null}"
        );
        let lines = written(TextLayout { indent: Some("\t"), spaced: true, breaks_empty: false });
        assert_eq!(
            lines,
            "{\n\t\"a\\n\": [\n\t\tnull,\n\t\ttrue,\n\t\t-1,\n\t\t1.50e3,\n\t\t\"\\u0001é\\\"\"\n\t],\n\
             \t\"b\": {},\n\t\"c\": null\n}"
        );
        let broken = written(TextLayout { indent: Some(" "), spaced: false, breaks_empty: true });
        assert!(broken.contains("\"b\":{\n  \n },"), "{broken}");
    }

    #[test]
    fn length_and_depth_are_bounded() {
        let mut writer = Writer::new(TextLayout::default(), 10);
        assert_eq!(writer.text("12345678"), Ok(()));
        assert_eq!(writer.into_text().map(|it| it.len()), Ok(10));
        let mut writer = Writer::new(TextLayout::default(), 10);
        assert_eq!(writer.text("123456789"), Err(WriteLimit::TooLong(10)));
        let mut writer = Writer::default();
        for _ in 0..Json::MAX_DEPTH {
            writer.list().unwrap();
        }
        assert_eq!(writer.list(), Err(WriteLimit::TooDeep));
    }
}
