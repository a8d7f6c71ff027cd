//! Parses XML within limits: no document type declarations, no entity expansion, bounded nesting.

use meantime_core::{Limits, LineMap, Position};
use roxmltree::{Document, ParsingOptions};

use crate::problem::{Code, Problems};

/// Elements, attributes and texts of one file.
const MAX_NODES: u32 = 200_000;

/// Nesting depth of elements. A sub-process takes two levels, so this is deep enough.
const MAX_DEPTH: usize = 256;

/// Attributes of one element: the parser compares each with all others.
const MAX_ATTRIBUTES: usize = 1_000;

/// Namespaces in scope: the parser copies them to every element that declares one.
const MAX_NAMESPACES: usize = 256;

/// Parses a text, or reports why it cannot.
pub(super) fn parse<'a>(
    text: &'a str,
    limits: &Limits,
    problems: &mut Problems,
) -> Option<Document<'a>> {
    let whole = Position { line: 1, column: 1 };
    if text.len() > limits.source_bytes {
        let (size, most) = (text.len(), limits.source_bytes);
        let message = format!("the file has {size} bytes, more than {most}");
        problems.error(Code::TooLarge, whole, message);
        return None;
    }
    if let Some((at, message)) = exceeded_shape_limit(text) {
        problems.error(Code::TooLarge, SourceText::new(text).position(at), message);
        return None;
    }
    // A byte order mark is not part of the document.
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, entity_resolver: None };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(roxmltree::Error::NodesLimitReached) => {
            let message = format!("the file has more than {MAX_NODES} elements");
            problems.error(Code::TooLarge, whole, message);
            None
        }
        Err(error @ roxmltree::Error::DtdDetected) => {
            let help = "remove the <!DOCTYPE>; BPMN files have none";
            problems.error_with_help(
                Code::NotXml,
                error_position(&error),
                "document types are refused",
                help,
            );
            None
        }
        Err(error) => {
            problems.error(
                Code::NotXml,
                error_position(&error),
                format!("this is not XML: {error}"),
            );
            None
        }
    }
}

fn error_position(error: &roxmltree::Error) -> Position {
    let at = error.pos();
    Position { line: at.row.max(1), column: at.col.max(1) }
}

/// The first position at which a text exceeds a limit of its shape, and the limit; found before a
/// tree is built. Only tags outside of comments and texts are counted; a text that is not
/// well-formed is left to the parser.
fn exceeded_shape_limit(text: &str) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    // Namespaces in scope inside of each open element.
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('<')) {
        at += found;
        let rest = text.get(at..).unwrap_or_default();
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .iter()
            .find(|(open, _)| rest.starts_with(open))
            .map(|(_, close)| rest.find(close).map_or(rest.len(), |end| end + close.len()));
        if let Some(length) = skipped {
            at += length;
            continue;
        }
        if rest.starts_with("</") {
            open.pop();
            at += 2;
            continue;
        }
        let tag = Tag::at(bytes, at);
        if tag.attributes > MAX_ATTRIBUTES {
            return Some((at, format!("an element has more than {MAX_ATTRIBUTES} attributes")));
        }
        let namespaces = open.last().copied().unwrap_or_default() + tag.namespaces;
        if namespaces > MAX_NAMESPACES {
            return Some((at, format!("more than {MAX_NAMESPACES} namespaces are declared here")));
        }
        if bytes.get(tag.end.saturating_sub(1)) != Some(&b'/') {
            open.push(namespaces);
            if open.len() > MAX_DEPTH {
                let message = format!("elements are nested more than {MAX_DEPTH} levels deep");
                return Some((at, message));
            }
        }
        at = tag.end;
    }
    None
}

/// The parts of a tag that can be found without parsing its content.
struct Tag {
    /// The position of its `>`, after quoted attribute values.
    end: usize,
    attributes: usize,
    /// Attributes that declare a namespace.
    namespaces: usize,
}

impl Tag {
    fn at(bytes: &[u8], from: usize) -> Self {
        let mut tag = Self { end: bytes.len(), attributes: 0, namespaces: 0 };
        let (mut quote, mut before) = (None, b'<');
        for (offset, byte) in bytes.iter().enumerate().skip(from) {
            match (quote, byte) {
                (None, b'>') => {
                    tag.end = offset;
                    return tag;
                }
                (None, b'"' | b'\'') => {
                    quote = Some(*byte);
                    tag.attributes += 1;
                }
                (None, b'x') if before.is_ascii_whitespace() => {
                    let declares = bytes.get(offset..).is_some_and(|it| it.starts_with(b"xmlns"));
                    tag.namespaces += usize::from(declares);
                }
                (Some(open), byte) if open == *byte => quote = None,
                _ => {}
            }
            before = *byte;
        }
        tag
    }
}

/// A text with its line starts.
#[derive(Debug)]
pub(super) struct SourceText<'a> {
    text: &'a str,
    lines: LineMap,
}

impl<'a> SourceText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, lines: LineMap::new(text) }
    }

    pub(super) fn position(&self, offset: usize) -> Position {
        self.lines.position(self.text, offset)
    }
}
