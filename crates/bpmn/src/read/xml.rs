//! From text to a tree of XML, within limits: no document types, no bombs, no abyss.

use meantime_core::{Limits, Position};
use roxmltree::{Document, ParsingOptions};

use crate::problem::{Code, Problems};

/// Elements, attributes and texts of one file.
const NODES: u32 = 500_000;

/// Levels of elements. Sub-processes are two levels each, so this is deep enough.
const DEPTH: usize = 256;

/// Parses a text, or says why not.
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
    if let Some(at) = too_deep(text) {
        let message = format!("elements are nested more than {DEPTH} levels deep");
        problems.error(Code::TooLarge, Lines::new(text).position(at), message);
        return None;
    }
    // A byte order mark is no part of the document.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: NODES, entity_resolver: None };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(roxmltree::Error::NodesLimitReached) => {
            let message = format!("the file has more than {NODES} elements");
            problems.error(Code::TooLarge, whole, message);
            None
        }
        Err(error @ roxmltree::Error::DtdDetected) => {
            let help = "remove the <!DOCTYPE>; BPMN files have none";
            problems.error_with_help(
                Code::NotXml,
                at_of(&error),
                "document types are refused",
                help,
            );
            None
        }
        Err(error) => {
            problems.error(Code::NotXml, at_of(&error), format!("this is not XML: {error}"));
            None
        }
    }
}

fn at_of(error: &roxmltree::Error) -> Position {
    let at = error.pos();
    Position { line: at.row.max(1), column: at.col.max(1) }
}

/// Where the nesting passes the limit, found before anything is built. Counts tags outside of
/// comments and texts; what is not well-formed is left to the parser.
fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
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
            depth = depth.saturating_sub(1);
            at += 2;
            continue;
        }
        let end = tag_end(bytes, at);
        if bytes.get(end.saturating_sub(1)) != Some(&b'/') {
            depth += 1;
            if depth > DEPTH {
                return Some(at);
            }
        }
        at = end;
    }
    None
}

/// The `>` of a tag, past quoted attribute values.
fn tag_end(bytes: &[u8], from: usize) -> usize {
    let mut quote = None;
    for (offset, byte) in bytes.iter().enumerate().skip(from) {
        match (quote, byte) {
            (None, b'>') => return offset,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
    }
    bytes.len()
}

/// Lines of a text, to turn offsets into positions.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Position { line: number(line), column: number(before.chars().count() + 1) }
    }
}
