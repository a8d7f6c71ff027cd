//! The tree of a parsed text.

use meantime_core::Position;

/// From the first character to the one after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) start: Position,
    pub(crate) end: Position,
}

impl Span {
    /// The whole document.
    pub(crate) const WHOLE_DOCUMENT: Self =
        Self { start: Position { line: 1, column: 1 }, end: Position { line: 1, column: 1 } };
}

/// One value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) content: Content,
    pub(crate) span: Span,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    /// The digits as written.
    Number(String),
    Text(Text),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A text, and the position of its lines in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) location: SourceLocation,
}

/// The positions of the lines of a text in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    /// The position of its first character.
    pub(crate) start: Position,
    /// The column at which later lines begin; none if lines were folded together.
    pub(crate) later_column: Option<u32>,
}

impl SourceLocation {
    /// The source position of a position within the text, as exact as possible.
    pub(crate) fn of(&self, within: Position) -> Position {
        if within.line <= 1 {
            let column = self.start.column.saturating_add(within.column.saturating_sub(1));
            return Position { line: self.start.line, column };
        }
        match self.later_column {
            Some(first) => Position {
                line: self.start.line.saturating_add(within.line - 1),
                column: first.saturating_add(within.column.saturating_sub(1)),
            },
            None => self.start,
        }
    }
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) value: Node,
}

impl Node {
    /// The name of its kind, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(&text.value),
            _ => None,
        }
    }

    /// The entries, if it is a mapping.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key, if it is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entry of a key, if it is a mapping that has it.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Whether it is null; a missing value is read as null.
    pub(crate) const fn is_null(&self) -> bool {
        matches!(self.content, Content::Null)
    }

    /// As a JSON document.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.content {
            Content::Null => serde_json::Value::Null,
            Content::Bool(value) => (*value).into(),
            Content::Number(digits) => {
                serde_json::from_str(digits).unwrap_or(serde_json::Value::Null)
            }
            Content::Text(text) => text.value.as_str().into(),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}
