//! The header of a document: version, kind, metadata (rule 1).

use std::collections::BTreeMap;

use meantime_core::{Limits, SourceFile};

use super::fields::MappingReader;
use super::reader::{Defaults, Policies, Reader};
use crate::code::Code;
use crate::definition::{Journey, Kind};
use crate::report::Report;
use crate::settings::{MetadataLimits, Settings};
use crate::yaml::{Node, Span};

/// The content of a document.
#[derive(Debug)]
pub(crate) enum Document {
    Journey(Box<Journey>),
    /// Settings of the engine, not a definition.
    Limits(MetadataLimits),
}

/// `metadata`.
#[derive(Default)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) tags: Vec<String>,
}

/// Reads one document; none if too much is missing for a definition.
pub(crate) fn document(
    root: &Node,
    files: &[SourceFile],
    settings: &Settings,
    limits: &Limits,
) -> (Option<Document>, Report) {
    let mut reader = Reader {
        report: Report::default(),
        settings,
        limits,
        files,
        kind: Kind::Journey,
        kind_span: Span::WHOLE_DOCUMENT,
        mappers: BTreeMap::new(),
        apis: BTreeMap::new(),
        resilience: Policies::default(),
        auth: Policies::default(),
        config: BTreeMap::new(),
        defaults: Defaults::default(),
        checks_credentials: false,
        in_compensation: false,
    };
    let document = reader.document(root);
    (document, reader.report)
}

impl<'a> Reader<'a> {
    fn document(&mut self, root: &'a Node) -> Option<Document> {
        let mut fields = self.open(root, "", Code::Header)?;
        if let Some(node) = self.required(&mut fields, "apiVersion", Code::Header) {
            self.one_of(node, "apiVersion", Code::Header, &[("v1", ())]);
        }
        let kind = self.required(&mut fields, "kind", Code::Header)?;
        self.kind_span = kind.span;
        match kind.text() {
            Some("Journey") => self.kind = Kind::Journey,
            Some("Api") => self.kind = Kind::Api,
            Some("Workflow") => {
                self.report
                    .warn(Code::WorkflowKind, kind.span, "`kind: Workflow` is read as `Journey`")
                    .help("write `kind: Journey`");
            }
            Some("MetadataLimits") => {
                let limits = self.metadata_limits(&mut fields);
                fields.finish(&mut self.report);
                return limits.map(Document::Limits);
            }
            _ => {
                let words = [("Journey", ()), ("Api", ()), ("MetadataLimits", ())];
                self.one_of(kind, "kind", Code::Header, &words);
                return None;
            }
        }
        let metadata = self.required(&mut fields, "metadata", Code::Header);
        let header = metadata.and_then(|node| self.header(node));
        let spec = self.required(&mut fields, "spec", Code::Header);
        let journey = spec.and_then(|node| self.spec(node, header));
        fields.finish(&mut self.report);
        Some(Document::Journey(Box::new(journey?)))
    }

    fn header(&mut self, node: &Node) -> Option<Header> {
        let mut fields = self.open(node, "metadata", Code::Header)?;
        let name = self.required(&mut fields, "name", Code::Header);
        let name = name.and_then(|node| {
            let text = self.text(node, "metadata.name", Code::Header)?;
            if is_name(&text) {
                return Some(text);
            }
            self.report
                .error(Code::Header, node.span, format!("`metadata.name` cannot be `{text}`"))
                .help("lower-case letters, digits and `-`, with a letter or digit at both ends");
            None
        });
        let version = self.required(&mut fields, "version", Code::Header);
        let version = version.and_then(|node| {
            let text = self.text(node, "metadata.version", Code::Header)?;
            if is_semver(&text) {
                return Some(text);
            }
            self.report
                .error(Code::Header, node.span, format!("`metadata.version` cannot be `{text}`"))
                .help("three numbers, such as 1.0.0");
            None
        });
        self.optional_text(&mut fields, "description", Code::Header);
        let tags = self.definition_tags(&mut fields);
        fields.finish(&mut self.report);
        Some(Header { name: name?, version: version?, tags })
    }

    fn definition_tags(&mut self, fields: &mut MappingReader<'_>) -> Vec<String> {
        let Some(node) = fields.get("tags") else { return Vec::new() };
        let tags = self.texts(node, "metadata.tags", Code::Header);
        let limits = self.settings.metadata;
        if tags.len() > limits.definition_tags {
            let most = limits.definition_tags;
            let message = format!("`metadata.tags` has {} tags, at most {most}", tags.len());
            self.report.error(Code::Header, node.span, message);
        }
        if let Some(long) = tags.iter().find(|tag| tag.chars().count() > limits.tag_chars) {
            let most = limits.tag_chars;
            let message = format!("the tag `{long}` has more than {most} characters");
            self.report.error(Code::Header, node.span, message);
        }
        tags
    }
}

fn is_name(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || c == '-')
}

/// `MAJOR.MINOR.PATCH`, possibly with `-pre.release` and `+build`.
fn is_semver(text: &str) -> bool {
    let (text, build) = text.split_once('+').map_or((text, None), |(a, b)| (a, Some(b)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(a, b)| (a, Some(b)));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_number = |part: &str| is_digits(part) && (part == "0" || !part.starts_with('0'));
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.iter().all(|part| is_number(part))
        && pre.is_none_or(|pre| {
            pre.split('.').all(|part| is_word(part) && (!is_digits(part) || is_number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(is_word))
}
