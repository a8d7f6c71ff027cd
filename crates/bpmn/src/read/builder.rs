//! The state of reading one process: nodes, flows, and references to resolve at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use meantime_core::Position;
use meantime_core::time::{Span, Zone};

use super::root::RootElements;
use super::tree::{Vendor, XmlElement, attribute, name, vendor_attribute};
use super::xml::SourceText;
use crate::expression::Expression;
use crate::model::{FlowRef, Mapping, Node, NodeKind, NodeRef, ScopeBody, SequenceFlow};
use crate::problem::{Code, Problems};

/// Reads one process.
pub(super) struct Builder<'a> {
    pub(super) globals: &'a RootElements<'a>,
    pub(super) problems: &'a mut Problems,
    source: &'a SourceText<'a>,
    pub(super) zone: Zone,
    pub(super) nodes: Vec<Node>,
    /// The element of each node.
    pub(super) elements: Vec<XmlElement<'a>>,
    pub(super) flows: Vec<SequenceFlow>,
    pub(super) body: ScopeBody,
    pub(super) node_ids: BTreeMap<Arc<str>, NodeRef>,
    pub(super) flow_ids: BTreeMap<Arc<str>, FlowRef>,
    /// The number of flows from one node to another.
    pub(super) between: BTreeMap<(NodeRef, NodeRef), usize>,
    /// Flows and associations as elements: their ends may come later in the text.
    pub(super) flow_elements: Vec<XmlElement<'a>>,
    pub(super) associations: Vec<XmlElement<'a>>,
    /// Ids of rejected elements: a reference to one is not reported as a second problem.
    pub(super) refused: BTreeSet<&'a str>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        process: XmlElement<'a>,
        globals: &'a RootElements<'a>,
        source: &'a SourceText<'a>,
        problems: &'a mut Problems,
    ) -> Self {
        let mut builder = Self {
            globals,
            problems,
            source,
            zone: Zone::utc(),
            nodes: Vec::new(),
            elements: Vec::new(),
            flows: Vec::new(),
            body: ScopeBody::default(),
            node_ids: BTreeMap::new(),
            flow_ids: BTreeMap::new(),
            between: BTreeMap::new(),
            flow_elements: Vec::new(),
            associations: Vec::new(),
            refused: BTreeSet::new(),
        };
        builder.zone = builder.zone_of(process).unwrap_or_default();
        builder
    }

    pub(super) fn at(&self, element: XmlElement<'_>) -> Position {
        self.source.position(element.range().start)
    }

    /// The name of an element in messages.
    pub(super) fn call(element: XmlElement<'_>) -> String {
        let kind = name(element);
        match attribute(element, "id") {
            Some(id) => format!("{kind} `{id}`"),
            // An element without an id: named by the nearest ancestor that has one.
            None => {
                let owner = element.ancestors().skip(1).find(|it| attribute(*it, "id").is_some());
                owner.map_or_else(
                    || kind.to_owned(),
                    |it| {
                        let id = attribute(it, "id").unwrap_or_default();
                        format!("{kind} of {} `{id}`", name(it))
                    },
                )
            }
        }
    }

    pub(super) fn error(&mut self, code: Code, element: XmlElement<'_>, what: &str) {
        let at = self.at(element);
        self.problems.error(code, at, format!("{}: {what}", Self::call(element)));
    }

    pub(super) fn error_with_help(
        &mut self,
        code: Code,
        element: XmlElement<'_>,
        what: &str,
        help: &str,
    ) {
        let at = self.at(element);
        let message = format!("{}: {what}", Self::call(element));
        self.problems.error_with_help(code, at, message, help);
    }

    pub(super) fn note(&mut self, element: XmlElement<'_>, what: &str) {
        let at = self.at(element);
        self.problems.note(Code::Ignored, at, format!("{}: {what}", Self::call(element)));
    }

    /// A required attribute.
    pub(super) fn required(&mut self, element: XmlElement<'a>, wanted: &str) -> Option<&'a str> {
        let found = attribute(element, wanted);
        if found.is_none() {
            self.error(Code::Missing, element, &format!("the attribute `{wanted}` is missing"));
        }
        found
    }

    /// A boolean in XML notation.
    pub(super) fn flag(&mut self, element: XmlElement<'a>, wanted: &str, default: bool) -> bool {
        match attribute(element, wanted) {
            None => default,
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(other) => {
                let what = format!("`{wanted}` is true or false, not `{other}`");
                self.error(Code::BadValue, element, &what);
                default
            }
        }
    }

    /// An expression or a literal.
    pub(super) fn expression(&mut self, element: XmlElement<'a>, text: &str) -> Expression {
        self.expression_in(element, text, None)
    }

    /// An expression or a literal in a named language.
    pub(super) fn expression_in(
        &mut self,
        element: XmlElement<'a>,
        text: &str,
        language: Option<&str>,
    ) -> Expression {
        if !self.count_code_bytes(element, text) {
            return Expression::null();
        }
        match Expression::read(text, language) {
            Ok(expression) => expression,
            Err(problem) => {
                let what = format!("`{}`: {}", excerpt(text), problem.message);
                match problem.help {
                    Some(help) => {
                        self.error_with_help(Code::BadExpression, element, &what, &help);
                    }
                    None => self.error(Code::BadExpression, element, &what),
                }
                Expression::null()
            }
        }
    }

    /// Whether a text may be compiled: the code of a file has a total limit.
    pub(super) fn count_code_bytes(&mut self, element: XmlElement<'a>, text: &str) -> bool {
        let at = self.at(element);
        self.problems.count_code_bytes(text.len(), at)
    }

    /// The language of an expression: its own, or that of the whole file.
    pub(super) fn language_of(&self, element: XmlElement<'a>) -> Option<&'a str> {
        attribute(element, "language").or(self.globals.language)
    }

    /// `meantime:zone` of an element.
    pub(super) fn zone_of(&mut self, element: XmlElement<'_>) -> Option<Zone> {
        let text = vendor_attribute(element, Vendor::Meantime, "zone")?;
        match Zone::parse(text) {
            Ok(zone) => Some(zone),
            Err(error) => {
                let help = error.hint().unwrap_or_default().into_owned();
                self.error_with_help(Code::BadValue, element, &error.to_string(), &help);
                None
            }
        }
    }

    /// A duration attribute of the namespace `meantime`, checked.
    pub(super) fn delay_attribute(
        &mut self,
        element: XmlElement<'_>,
        wanted: &str,
    ) -> Option<String> {
        let text = vendor_attribute(element, Vendor::Meantime, wanted)?;
        if let Err(error) = Span::parse_delay(text) {
            let help = error.hint().unwrap_or_default().into_owned();
            self.error_with_help(Code::BadValue, element, &error.to_string(), &help);
            return None;
        }
        Some(text.to_owned())
    }

    /// Adds a node.
    pub(super) fn add(
        &mut self,
        element: XmlElement<'a>,
        kind: NodeKind,
        parent: Option<NodeRef>,
    ) -> NodeRef {
        let at = NodeRef(self.nodes.len());
        let position = self.at(element);
        let id: Arc<str> = match self.required(element, "id") {
            Some(id) => id.into(),
            None => format!("{}@{}:{}", name(element), position.line, position.column).into(),
        };
        if self.node_ids.insert(Arc::clone(&id), at).is_some() {
            self.error(Code::DuplicateId, element, "the id is used twice");
        }
        self.nodes.push(Node {
            id,
            name: attribute(element, "name").map(str::to_owned),
            kind,
            parent,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            default: None,
            boundaries: Vec::new(),
            repeat: None,
            mapping: Mapping::default(),
            handler: None,
            for_compensation: false,
            position,
        });
        self.elements.push(element);
        at
    }

    /// The body to which the elements of a container belong.
    pub(super) fn body_mut(&mut self, parent: Option<NodeRef>) -> &mut ScopeBody {
        let node = parent.and_then(|at| self.nodes.get_mut(at.0));
        match node.map(|node| &mut node.kind) {
            Some(NodeKind::SubProcess(sub)) => &mut sub.body,
            _ => &mut self.body,
        }
    }
}

/// The beginning of a text, for messages.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(60).collect();
    if short.len() < text.trim().len() { format!("{short}…") } else { short }
}
