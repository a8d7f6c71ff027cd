//! Mappers and predicates (rule 5).

use super::fields::MappingReader;
use super::reader::{MaybeExpression, Reader};
use crate::code::Code;
use crate::definition::{Binding, Expression};
use crate::yaml::{Content, Node};

/// Languages that the notation names and this engine does not support.
const OTHER_LANGUAGES: [&str; 3] = ["jsonata", "jolt", "jq"];

impl Reader<'_> {
    /// `{mapper}` or `{mapperRef}`, and nothing else.
    pub(super) fn mapper_object(
        &mut self,
        node: &Node,
        what: &str,
        code: Code,
        bindings: &[Binding],
    ) -> MaybeExpression {
        let mut fields = self.open(node, what, code)?;
        let mapper = self.mapper(&mut fields, code, bindings);
        fields.finish(&mut self.report);
        mapper
    }

    /// `mapper` or `mapperRef` among other keys; one is required.
    pub(super) fn mapper(
        &mut self,
        fields: &mut MappingReader<'_>,
        code: Code,
        bindings: &[Binding],
    ) -> MaybeExpression {
        let (inline, named) = (fields.get("mapper"), fields.get("mapperRef"));
        match (inline, named) {
            (Some(_), Some(named)) => {
                let name = fields.name("mapper");
                self.report
                    .error(Code::Expression, named.span, format!("both `{name}` and `mapperRef`"))
                    .help("keep one of them");
                None
            }
            (Some(inline), None) => self.expression(inline, &fields.name("mapper"), bindings),
            (None, Some(named)) => {
                let what = fields.name("mapperRef");
                let id = self.text(named, &what, Code::Expression)?;
                match self.mappers.get(&id).copied() {
                    Some(node) => self.expression(node, &format!("mappers.{id}"), bindings),
                    None => {
                        let message =
                            format!("`{what}` names `{id}`, which is not in `spec.mappers`");
                        self.report
                            .error(Code::Expression, named.span, message)
                            .help("define it there, by its id");
                        None
                    }
                }
            }
            (None, None) => {
                let name = fields.name("mapper");
                self.report.error(code, fields.span, format!("`{name}` is missing"));
                None
            }
        }
    }

    /// `{lang, expr}`.
    pub(super) fn expression(
        &mut self,
        node: &Node,
        what: &str,
        bindings: &[Binding],
    ) -> MaybeExpression {
        let mut fields = self.open(node, what, Code::Expression)?;
        let lang = self.required(&mut fields, "lang", Code::Expression);
        let expr = self.required(&mut fields, "expr", Code::Expression);
        fields.finish(&mut self.report);
        let (lang, expr) = (lang?, expr?);
        match lang.text() {
            Some("dataweave") => {}
            Some(other) if OTHER_LANGUAGES.contains(&other) => {
                let text = format!("the expression language `{other}`");
                self.unsupported(lang.span, &text, "write the expression in `dataweave`");
                return None;
            }
            _ => {
                let shown = lang.text().unwrap_or_else(|| lang.kind());
                let message = format!("`{what}.lang` names no language: {shown}");
                self.report
                    .error(Code::Expression, lang.span, message)
                    .help("write `lang: dataweave`");
                return None;
            }
        }
        let text = match &expr.content {
            Content::Text(text) => text.clone(),
            // `expr: 1` and `expr: true` are valid scripts.
            Content::Number(_) | Content::Bool(_) => crate::yaml::Text {
                value: expr.to_json().to_string(),
                location: crate::yaml::SourceLocation {
                    start: expr.span.start,
                    later_column: None,
                },
            },
            _ => {
                let message = format!("`{what}.expr` is {}, not text", expr.kind());
                self.report.error(Code::Expression, expr.span, message);
                return None;
            }
        };
        Expression::compile(&text, bindings, &mut self.report)
    }

    /// `{predicate: {lang, expr}}`.
    pub(super) fn predicate(
        &mut self,
        fields: &mut MappingReader<'_>,
        code: Code,
        bindings: &[Binding],
    ) -> MaybeExpression {
        let node = self.required(fields, "predicate", code)?;
        self.expression(node, &fields.name("predicate"), bindings)
    }
}
