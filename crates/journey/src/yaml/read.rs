//! Builds trees from the events of the parser. No recursion: nesting is bounded, with an explicit
//! stack.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::Position;
use serde_saphyr::granit_parser::{self, Event, Marker, Parser, ScalarStyle};

use super::node::{Content, Entry, Node, SourceLocation, Span, Text};
use super::scalar;

/// The nesting depth.
const MAX_DEPTH: usize = 64;

/// Lines of one source.
const MAX_LINES: usize = 300_000;

/// Problems of the text itself that are reported.
const MAX_PROBLEMS: usize = 100;

/// Values in one source, all documents together.
const MAX_NODES: usize = 200_000;

/// The result: one tree per document, and the problems of the text itself.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) roots: Vec<Node>,
    pub(crate) problems: Vec<Problem>,
}

/// Something that this YAML does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) span: Span,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

/// Reads all documents of a text.
pub(crate) fn read(text: &str) -> Documents {
    build(text, Builder::default())
}

/// The same for files that are not journeys: aliases are expanded, and `<<` merges the entries of
/// other mappings.
pub(crate) fn read_with_aliases(text: &str) -> Documents {
    build(text, Builder { anchors: Some(BTreeMap::new()), ..Builder::default() })
}

fn build<'a>(text: &'a str, mut builder: Builder<'a>) -> Documents {
    if text.lines().nth(MAX_LINES).is_some() {
        let message = format!("the text has more than {MAX_LINES} lines");
        builder.problem(Span::WHOLE_DOCUMENT, message, Some("split it into several sources"));
        return builder.documents;
    }
    builder.lines = text.lines().collect();
    // JSON may be indented with tabs; YAML may not.
    if !text.trim_start().starts_with('{') {
        builder.find_tabs();
    }
    let options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        emit_unresolved_aliases: true,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => builder.take(event, convert(span.start), convert(span.end)),
            Err(error) => {
                let at = convert(*error.marker());
                builder.problem(Span { start: at, end: at }, error.info(), None);
                break;
            }
        }
        if builder.nodes > MAX_NODES {
            let text = format!("the text has more than {MAX_NODES} values");
            builder.problem(Span::WHOLE_DOCUMENT, text, Some("split it into several sources"));
            break;
        }
    }
    builder.documents
}

/// Columns of the parser start at zero, ours at one.
fn convert(marker: Marker) -> Position {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: number(marker.line().max(1)), column: number(marker.col()).saturating_add(1) }
}

#[derive(Default)]
struct Builder<'a> {
    lines: Vec<&'a str>,
    documents: Documents,
    open: Vec<OpenCollection>,
    nodes: usize,
    /// The values of anchors, with their sizes; none where aliases are not allowed.
    anchors: Option<BTreeMap<usize, (Node, usize)>>,
}

/// A collection that is not closed yet.
enum OpenCollection {
    List {
        start: Position,
        anchor: usize,
        items: Vec<Node>,
    },
    Map {
        start: Position,
        anchor: usize,
        entries: Vec<Entry>,
        seen: BTreeSet<String>,
        key: Option<(String, Span)>,
    },
}

impl Builder<'_> {
    fn problem(&mut self, span: Span, message: impl Into<String>, help: Option<&'static str>) {
        if self.documents.problems.len() < MAX_PROBLEMS {
            self.documents.problems.push(Problem { span, message: message.into(), help });
        }
    }

    fn find_tabs(&mut self) {
        for (number, line) in self.lines.clone().into_iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let tab = line.get(..indent).and_then(|indent| indent.find('\t'));
            if let Some(column) = tab.filter(|_| !line.trim().is_empty()) {
                let start = location(number + 1, column + 1);
                let help = Some("indent with spaces");
                self.problem(Span { start, end: start }, "a tab in the indentation", help);
            }
        }
    }

    fn take(&mut self, event: Event<'_>, start: Position, end: Position) {
        let span = Span { start, end };
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                self.check_node(anchor, tag.is_some(), span);
                let content = self.scalar(&value, style, span);
                let node = Node { content, span };
                self.remember(anchor, &node);
                self.add(node, style);
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.check_node(anchor, tag.is_some(), span);
                self.open.push(OpenCollection::List { start, anchor, items: Vec::new() });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.check_node(anchor, tag.is_some(), span);
                let (entries, seen) = (Vec::new(), BTreeSet::new());
                self.open.push(OpenCollection::Map { start, anchor, entries, seen, key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(end),
            Event::Alias(anchor) if self.anchors.is_some() => self.alias(anchor, span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let help = Some("write the value out where it is used");
                self.problem(span, "an alias: journeys have none", help);
                self.add(Node { content: Content::Null, span }, ScalarStyle::Plain);
            }
            _ => {}
        }
    }

    /// Stores the value of an anchor.
    fn remember(&mut self, anchor: usize, node: &Node) {
        if let Some(anchors) = self.anchors.as_mut().filter(|_| anchor != 0) {
            anchors.insert(anchor, (node.clone(), count(node)));
        }
    }

    /// Inserts the value of an alias, as long as the total stays within the limit.
    fn alias(&mut self, anchor: usize, span: Span) {
        let known = self.anchors.as_ref().and_then(|anchors| anchors.get(&anchor));
        let Some((_, count)) = known else {
            self.problem(span, "an alias within what it stands for", None);
            return self.add(Node { content: Content::Null, span }, ScalarStyle::Plain);
        };
        self.nodes = self.nodes.saturating_add(*count);
        let node = known.filter(|_| self.nodes <= MAX_NODES).map(|(node, _)| node.clone());
        let content = node.map_or(Content::Null, |node| node.content);
        self.add(Node { content, span }, ScalarStyle::Plain);
    }

    fn check_node(&mut self, anchor: usize, annotated: bool, span: Span) {
        self.nodes += 1;
        if anchor != 0 && self.anchors.is_none() {
            let help = Some("write the value out where it is used");
            self.problem(span, "an anchor: journeys have none", help);
        }
        if annotated {
            let help = Some("remove the tag; quote the value to make it text");
            self.problem(span, "a tag: journeys have none", help);
        }
    }

    fn scalar(&self, value: &str, style: ScalarStyle, span: Span) -> Content {
        if style == ScalarStyle::Plain
            && let Some(content) = scalar::plain(value)
        {
            return content;
        }
        let (start, later_column) = match style {
            ScalarStyle::Literal => {
                let first = self.first_content_line(span.start);
                (first, Some(first.column))
            }
            ScalarStyle::Folded => (self.first_content_line(span.start), None),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                let column = span.start.column.saturating_add(1);
                (Position { column, ..span.start }, None)
            }
            ScalarStyle::Plain => (span.start, None),
        };
        Content::Text(Text {
            value: value.to_owned(),
            location: SourceLocation { start, later_column },
        })
    }

    /// The position at which the content of a block scalar begins. The parser reports its first
    /// line that is not empty; leading empty lines belong to the content, so it begins below the
    /// header.
    fn first_content_line(&self, told: Position) -> Position {
        let before = usize::try_from(told.line).unwrap_or(usize::MAX).saturating_sub(1);
        let above = self.lines.get(..before).unwrap_or_default();
        let empty = above.iter().rev().take_while(|line| line.trim().is_empty()).count();
        let empty = u32::try_from(empty).unwrap_or_default();
        Position { line: told.line.saturating_sub(empty), ..told }
    }

    fn close(&mut self, end: Position) {
        let (node, anchor) = match self.open.pop() {
            Some(OpenCollection::List { start, anchor, items }) => {
                (Node { content: Content::List(items), span: Span { start, end } }, anchor)
            }
            Some(OpenCollection::Map { start, anchor, entries, .. }) => {
                let entries = if self.anchors.is_some() { merged(entries) } else { entries };
                (Node { content: Content::Map(entries), span: Span { start, end } }, anchor)
            }
            None => return,
        };
        self.remember(anchor, &node);
        // A collection is not accepted as a key.
        self.add(node, ScalarStyle::DoubleQuoted);
    }

    /// Adds a finished node to its collection.
    fn add(&mut self, node: Node, style: ScalarStyle) {
        let mut problem = None;
        match self.open.last_mut() {
            None => self.documents.roots.push(node),
            Some(OpenCollection::List { items, .. }) => items.push(node),
            Some(OpenCollection::Map { entries, seen, key, .. }) => match key.take() {
                Some((key, key_span)) => entries.push(Entry { key, key_span, value: node }),
                None => {
                    let span = node.span;
                    let text = match node.content {
                        Content::Text(text) => text.value,
                        // A key is always a text.
                        Content::Number(digits) => digits,
                        Content::Bool(value) => value.to_string(),
                        Content::Null if style == ScalarStyle::Plain => "null".to_owned(),
                        _ => {
                            problem = Some((span, "a key that is not text".to_owned()));
                            String::new()
                        }
                    };
                    if !seen.insert(text.clone()) {
                        problem = Some((span, format!("the key `{text}` occurs twice")));
                    }
                    *key = Some((text, span));
                }
            },
        }
        if let Some((span, message)) = problem {
            self.problem(span, message, Some("keep one of them"));
        }
    }
}

/// The number of values in a node.
fn count(node: &Node) -> usize {
    1 + match &node.content {
        Content::List(items) => items.iter().map(count).sum(),
        Content::Map(entries) => entries.iter().map(|entry| count(&entry.value)).sum(),
        _ => 0,
    }
}

/// Entries with those of `<<`, a mapping or a list of mappings; own entries win, then the first
/// mapping.
fn merged(entries: Vec<Entry>) -> Vec<Entry> {
    let (others, mut own): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.key == "<<");
    for other in others {
        let mappings = match other.value.content {
            Content::List(items) => items,
            _ => vec![other.value],
        };
        for mapping in mappings {
            let Content::Map(entries) = mapping.content else { continue };
            let is_new = |entry: &Entry| !own.iter().any(|known| known.key == entry.key);
            let new: Vec<Entry> = entries.into_iter().filter(is_new).collect();
            own.extend(new);
        }
    }
    own
}

fn location(line: usize, column: usize) -> Position {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(column) }
}
