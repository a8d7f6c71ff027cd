//! The state of reading one document, and the readers of single values.

use std::collections::BTreeMap;

use meantime_core::{Limits, SourceFile};

use super::fields::MappingReader;
use crate::code::Code;
use crate::definition::{
    ClientAuth, ConfigKey, Expression, Kind, ResiliencePolicy, Schema, StateRef,
};
use crate::openapi::OpenApi;
use crate::report::Report;
use crate::settings::Settings;
use crate::yaml::{Content, Entry, Node, Span};

/// Reads one document.
pub(super) struct Reader<'a> {
    pub(super) report: Report,
    pub(super) settings: &'a Settings,
    pub(super) limits: &'a Limits,
    pub(super) files: &'a [SourceFile],
    pub(super) kind: Kind,
    pub(super) kind_span: Span,
    /// `spec.mappers`, not yet compiled.
    pub(super) mappers: BTreeMap<String, &'a Node>,
    pub(super) apis: BTreeMap<String, OpenApi>,
    pub(super) resilience: Policies<ResiliencePolicy>,
    pub(super) auth: Policies<ClientAuth>,
    pub(super) config: BTreeMap<String, ConfigKey>,
    pub(super) defaults: Defaults,
    /// Whether a task checks a credential of the inbound request.
    pub(super) checks_credentials: bool,
    /// Whether the states being read belong to the compensation, which sees the outcome.
    pub(super) in_compensation: bool,
}

/// Policies by id.
pub(super) struct Policies<T> {
    pub(super) by_id: BTreeMap<String, T>,
    /// The one that applies if nothing else is named.
    pub(super) default: Option<String>,
}

impl<T> Default for Policies<T> {
    fn default() -> Self {
        Self { by_id: BTreeMap::new(), default: None }
    }
}

/// `spec.defaults`.
#[derive(Default)]
pub(super) struct Defaults {
    pub(super) timeout_ms: Option<u64>,
    pub(super) headers: Vec<(String, crate::definition::Template)>,
    pub(super) resilience: Option<String>,
}

impl Reader<'_> {
    pub(super) fn open<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        code: Code,
    ) -> Option<MappingReader<'n>> {
        MappingReader::open(&mut self.report, node, what, code)
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, node: &Node, what: &str, code: Code) -> Option<String> {
        match node.text() {
            Some(text) if !text.trim().is_empty() => Some(text.to_owned()),
            Some(_) => {
                self.report.error(code, node.span, format!("`{what}` is empty"));
                None
            }
            None => {
                let message = format!("`{what}` is {}, not text", node.kind());
                self.report.error(code, node.span, message).help("quote it to make it text");
                None
            }
        }
    }

    /// A required text.
    pub(super) fn required_text(
        &mut self,
        fields: &mut MappingReader<'_>,
        key: &'static str,
        code: Code,
    ) -> Option<String> {
        let node = self.required(fields, key, code)?;
        let name = fields.name(key);
        self.text(node, &name, code)
    }

    /// An optional text.
    pub(super) fn optional_text(
        &mut self,
        fields: &mut MappingReader<'_>,
        key: &'static str,
        code: Code,
    ) -> Option<String> {
        let node = fields.get(key)?;
        let name = fields.name(key);
        self.text(node, &name, code)
    }

    /// A required value.
    pub(super) fn required<'n>(
        &mut self,
        fields: &mut MappingReader<'n>,
        key: &'static str,
        code: Code,
    ) -> Option<&'n Node> {
        let node = fields.get(key);
        if node.is_none() {
            let name = fields.name(key);
            self.report.error(code, fields.span, format!("`{name}` is missing"));
        }
        node
    }

    /// One of several words.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        what: &str,
        code: Code,
        words: &[(&str, T)],
    ) -> Option<T> {
        let found = node.text().and_then(|text| words.iter().find(|(word, _)| *word == text));
        if found.is_none() {
            let shown = node.text().map_or_else(|| node.kind().to_owned(), |it| format!("`{it}`"));
            let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.report
                .error(code, node.span, format!("`{what}` cannot be {shown}"))
                .help(format!("one of: {}", all.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// A boolean.
    pub(super) fn boolean(&mut self, node: &Node, what: &str, code: Code) -> Option<bool> {
        if let Content::Bool(value) = node.content {
            return Some(value);
        }
        let message = format!("`{what}` is {}, not `true` or `false`", node.kind());
        self.report.error(code, node.span, message);
        None
    }

    /// An integer with a minimum.
    pub(super) fn integer(
        &mut self,
        node: &Node,
        what: &str,
        code: Code,
        least: i64,
    ) -> Option<i64> {
        let number = match &node.content {
            Content::Number(digits) => digits.parse::<i64>().ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|it| *it >= least) {
            return Some(number);
        }
        let message = format!("`{what}` is not a whole number of at least {least}");
        self.report.error(code, node.span, message);
        None
    }

    /// The name of a field of the context.
    pub(super) fn identifier(&mut self, node: &Node, what: &str, code: Code) -> Option<String> {
        let text = self.text(node, what, code)?;
        if is_identifier(&text) {
            return Some(text);
        }
        self.report
            .error(code, node.span, format!("`{what}` cannot be `{text}`"))
            .help("a letter or `_`, then letters, digits and `_`");
        None
    }

    /// The id of a state.
    pub(super) fn target(&mut self, node: &Node, what: &str, code: Code) -> Option<StateRef> {
        let id = self.text(node, what, code)?;
        Some(StateRef { id, span: node.span })
    }

    /// The entries of a mapping whose keys the author chooses; reports anything else.
    pub(super) fn entries<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        code: Code,
    ) -> Option<&'n [Entry]> {
        let entries = node.entries();
        if entries.is_none() {
            let message = format!("`{what}` is {}, not a mapping", node.kind());
            self.report.error(code, node.span, message);
        }
        entries
    }

    /// A list.
    pub(super) fn list<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        code: Code,
    ) -> Option<&'n [Node]> {
        if let Content::List(items) = &node.content {
            return Some(items);
        }
        self.report.error(code, node.span, format!("`{what}` is {}, not a list", node.kind()));
        None
    }

    /// A list of texts that are not empty.
    pub(super) fn texts(&mut self, node: &Node, what: &str, code: Code) -> Vec<String> {
        let items = self.list(node, what, code).unwrap_or_default();
        items.iter().filter_map(|item| self.text(item, what, code)).collect()
    }

    /// A JSON Schema (rule 6).
    pub(super) fn schema(&mut self, node: &Node, what: &str) -> Option<Schema> {
        if node.entries().is_none() {
            let message = format!("`{what}` is {}, not a schema", node.kind());
            self.report.error(Code::Schema, node.span, message);
            return None;
        }
        if let Some(entry) = node.entry("$schema") {
            self.report
                .error(Code::Schema, entry.key_span, format!("`{what}` has a `$schema`"))
                .help("leave it out: schemas are draft 2020-12");
        }
        match Schema::compile(&node.to_json()) {
            Ok(schema) => Some(schema),
            Err(problem) => {
                let message = format!("`{what}` is not a schema: {problem}");
                self.report.error(Code::Schema, node.span, message);
                None
            }
        }
    }

    /// `{schema}` as a block.
    pub(super) fn schema_block(&mut self, node: &Node, what: &str, code: Code) -> Option<Schema> {
        let mut fields = self.open(node, what, code)?;
        let schema = self.required(&mut fields, "schema", code);
        let schema = schema.and_then(|node| self.schema(node, &format!("{what}.schema")));
        fields.finish(&mut self.report);
        schema
    }

    pub(super) fn unsupported(&mut self, span: Span, what: &str, help: &str) {
        let message = format!("{what} is not supported");
        self.report.error(Code::Unsupported, span, message).help(help);
    }
}

/// An optional expression.
pub(super) type MaybeExpression = Option<Expression>;

/// Whether a text can be a field name.
pub(super) fn is_identifier(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_other = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(is_first) && text.chars().all(is_other)
}
