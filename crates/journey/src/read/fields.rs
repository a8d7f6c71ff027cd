//! Reads a mapping key by key; keys that were not asked for are reported as unknown.

use std::collections::BTreeSet;

use crate::code::Code;
use crate::report::Report;
use crate::yaml::{Content, Entry, Node, Span};

/// A mapping that is being read.
pub(super) struct MappingReader<'n> {
    /// Its name in the source: `timer`, `spec.execution`.
    what: String,
    pub(super) span: Span,
    entries: &'n [Entry],
    known: BTreeSet<&'static str>,
}

impl<'n> MappingReader<'n> {
    /// Opens a mapping; reports anything else.
    pub(super) fn open(
        report: &mut Report,
        node: &'n Node,
        what: &str,
        code: Code,
    ) -> Option<Self> {
        let Content::Map(entries) = &node.content else {
            report.error(code, node.span, format!("`{what}` is {}, not a mapping", node.kind()));
            return None;
        };
        let (what, known) = (what.to_owned(), BTreeSet::new());
        Some(Self { what, span: node.span, entries, known })
    }

    /// The value of a key, if it exists and is not null.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value).filter(|node| !node.is_null())
    }

    /// A key with its value, even if that is null.
    pub(super) fn entry(&mut self, key: &'static str) -> Option<&'n Entry> {
        self.known.insert(key);
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The full name of a key.
    pub(super) fn name(&self, key: &str) -> String {
        if self.what.is_empty() { key.to_owned() } else { format!("{}.{key}", self.what) }
    }

    /// Reports all keys that were not asked for as unknown (rule 3).
    pub(super) fn finish(self, report: &mut Report) {
        for entry in self.entries {
            if self.known.contains(entry.key.as_str()) {
                continue;
            }
            let name = self.name(&entry.key);
            report.error(Code::Shape, entry.key_span, format!("unknown key `{name}`"));
            let close =
                self.known.iter().min_by_key(|known| strsim::levenshtein(known, &entry.key));
            match close.filter(|known| strsim::levenshtein(known, &entry.key) <= 2) {
                Some(close) => report.help(format!("did you mean `{close}`?")),
                None if self.known.is_empty() => {}
                None => {
                    let known: Vec<&str> = self.known.iter().copied().collect();
                    report.help(format!("known here: {}", known.join(", ")));
                }
            }
        }
    }
}
