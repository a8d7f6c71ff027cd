//! States that only compute or decide: choice, transform, succeed, fail.

use super::fields::MappingReader;
use super::reader::Reader;
use super::scope::ReadState;
use crate::code::Code;
use crate::definition::{
    Binding, Choice, ChoiceOption, Destination, Expression, Fail, StateBody, Succeed, Template,
    Transform,
};
use crate::yaml::Node;

impl Reader<'_> {
    /// Rule 8.
    pub(super) fn choice(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        let node = self.required(fields, "choices", Code::Choice);
        let what = fields.name("choices");
        let items = node.and_then(|node| self.list(node, &what, Code::Choice)).unwrap_or_default();
        if items.is_empty() && node.is_some() {
            self.report.error(Code::Choice, fields.span, format!("`{what}` is empty"));
        }
        let ways: Vec<Option<ChoiceOption>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.choice_option(item, &what, index))
            .collect();
        let default = match fields.get("default") {
            Some(node) => Some(self.target(node, &fields.name("default"), Code::Choice)?),
            None => {
                let name = fields.name("default");
                self.report
                    .warn(Code::Choice, fields.span, format!("`{name}` is missing"))
                    .help("a run that matches no choice fails with urn:meantime:error:no-choice");
                None
            }
        };
        node?;
        let ways = ways.into_iter().collect::<Option<Vec<_>>>()?;
        Some((StateBody::Choice(Choice { ways, default }), None))
    }

    fn choice_option(&mut self, node: &Node, what: &str, index: usize) -> Option<ChoiceOption> {
        let mut fields = self.open(node, &format!("{what}[{index}]"), Code::Choice)?;
        let bindings = self.bindings();
        let predicate = self.required(&mut fields, "when", Code::Choice).and_then(|when| {
            let mut when = self.open(when, &fields.name("when"), Code::Choice)?;
            let predicate = self.predicate(&mut when, Code::Choice, &bindings);
            when.finish(&mut self.report);
            predicate
        });
        let next = self.next(&mut fields, Code::Choice);
        fields.finish(&mut self.report);
        Some(ChoiceOption { predicate: predicate?, next: next? })
    }

    /// Rule 9.
    pub(super) fn transform_state(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        let node = self.required(fields, "transform", Code::Transform);
        let beside = fields.get("resultVar");
        let bindings = self.bindings();
        let read = node.and_then(|node| {
            let mut inner = self.open(node, &fields.name("transform"), Code::Transform)?;
            let read = self.mapper_to_destination(&mut inner, beside, Code::Transform, &bindings);
            inner.finish(&mut self.report);
            read
        });
        let next = self.next(fields, Code::Flow);
        let (mapper, destination) = read?;
        Some((StateBody::Transform(Transform { mapper, destination }), next))
    }

    /// `mapper`, `target` and `resultVar`: of a transform and of an error mapping.
    pub(super) fn mapper_to_destination(
        &mut self,
        fields: &mut MappingReader<'_>,
        beside: Option<&Node>,
        code: Code,
        bindings: &[Binding],
    ) -> Option<(Expression, Destination)> {
        let mapper = self.mapper(fields, code, bindings);
        let destination = self.destination(fields, beside, code);
        Some((mapper?, destination?))
    }

    /// The destination of a value: `target {kind, path}` and `resultVar`.
    pub(super) fn destination(
        &mut self,
        fields: &mut MappingReader<'_>,
        beside: Option<&Node>,
        code: Code,
    ) -> Option<Destination> {
        const DESTINATION_KINDS: [(&str, DestinationKind); 3] = [
            ("context", DestinationKind::Context),
            ("var", DestinationKind::Var),
            ("attributes", DestinationKind::Attributes),
        ];
        let (mut kind, mut path) = (DestinationKind::Context, None);
        if let Some(node) = fields.get("target") {
            let mut target = self.open(node, &fields.name("target"), code)?;
            if let Some(node) = target.get("kind") {
                kind = self.one_of(node, &target.name("kind"), code, &DESTINATION_KINDS)?;
            }
            path = target.get("path").map(|node| (node, target.name("path")));
            target.finish(&mut self.report);
        }
        let inside = fields.get("resultVar");
        if let (Some(beside), None) = (beside, inside) {
            self.report
                .warn(
                    Code::ResultVarBeside,
                    beside.span,
                    "`resultVar` is written next to the transform",
                )
                .help("move it into the block `transform`");
        }
        let result_var = inside.or(beside);
        match kind {
            DestinationKind::Context => match path {
                Some((node, what)) => self.path(node, &what, code),
                None => Some(Destination::Context),
            },
            DestinationKind::Var => match result_var {
                Some(node) => {
                    let name = self.identifier(node, &fields.name("resultVar"), code)?;
                    Some(Destination::Var(name))
                }
                None => {
                    let name = fields.name("resultVar");
                    let message = format!("`{name}` is missing: the target is a variable");
                    self.report.error(code, fields.span, message);
                    None
                }
            },
            DestinationKind::Attributes => self.attributes(fields, code),
        }
    }

    fn attributes(&mut self, fields: &MappingReader<'_>, code: Code) -> Option<Destination> {
        if self.kind == crate::definition::Kind::Api {
            let message = "an API has no attributes";
            self.report.error(code, fields.span, message).help("write to the context");
            return None;
        }
        Some(Destination::Attributes)
    }

    fn path(&mut self, node: &Node, what: &str, code: Code) -> Option<Destination> {
        match node.text() {
            Some("") => {
                self.report
                    .warn(Code::EmptyPath, node.span, format!("`{what}` is empty"))
                    .help("leave `path` out to replace the whole context");
                Some(Destination::Context)
            }
            Some(text) => {
                let path: Vec<String> = text.split('.').map(str::to_owned).collect();
                if path.iter().all(|part| super::reader::is_identifier(part)) {
                    return Some(Destination::Path(path));
                }
                self.report
                    .error(code, node.span, format!("`{what}` cannot be `{text}`"))
                    .help("names joined by dots, without indexes");
                None
            }
            None => {
                self.text(node, what, code);
                None
            }
        }
    }

    pub(super) fn succeed(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        let output_var = match fields.get("outputVar") {
            Some(node) => Some(self.identifier(node, &fields.name("outputVar"), Code::Shape)?),
            None => None,
        };
        Some((StateBody::Succeed(Succeed { output_var }), None))
    }

    /// A text that is not empty and may contain placeholders.
    fn required_template(
        &mut self,
        fields: &mut MappingReader<'_>,
        key: &'static str,
    ) -> Option<Template> {
        let node = self.required(fields, key, Code::Fail)?;
        let what = fields.name(key);
        self.text(node, &what, Code::Fail)?;
        self.template(node, &what, Code::Fail)
    }

    /// Rule 10.
    pub(super) fn fail(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        let code = self.required_template(fields, "errorCode");
        let reason = self.required_template(fields, "reason");
        Some((StateBody::Fail(Fail { code: code?, reason: reason? }), None))
    }
}

#[derive(Clone, Copy)]
enum DestinationKind {
    Context,
    Var,
    Attributes,
}
