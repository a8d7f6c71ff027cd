//! Parses a text to an expression.

use std::sync::Arc;

use meantime_core::{Diagnostic, Json, Severity};
use meantime_dataweave::Script;
use meantime_script::compile_embedded;

use super::juel::translate;
use super::template::{TemplatePart, template_parts};
use super::{Expression, Language};

/// The input whose fields `DataWeave` code sees as names.
const DATAWEAVE_INPUT: &str = "context";

/// Why a text cannot be parsed as an expression.
#[derive(Debug, Clone)]
pub(crate) struct InvalidExpression {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Expression {
    /// Parses a text that may be an expression. If a language is named, the whole text is code in
    /// it.
    pub(crate) fn read(text: &str, language: Option<&str>) -> Result<Self, InvalidExpression> {
        let text = text.trim();
        if let Some(feel) = text.strip_prefix('=') {
            return Self::script(feel, Language::Feel);
        }
        if let Some(parts) = template_parts(text) {
            let parts = parts
                .map_err(|message| InvalidExpression { message: message.to_owned(), help: None })?;
            return Self::from_parts(&parts);
        }
        match language.map(|name| (name, Language::from_name(name))) {
            Some((_, Some(language))) => Self::script(text, language),
            Some((name, None)) if !is_default(name) => Err(InvalidExpression {
                message: format!("the language `{name}` does not run here"),
                help: Some("use feel, javascript or dataweave".to_owned()),
            }),
            _ => Ok(Self::Literal(Json::text(text))),
        }
    }

    /// Parses a text that is code.
    pub(crate) fn script(text: &str, language: Language) -> Result<Self, InvalidExpression> {
        match language {
            Language::Feel => {
                let text = text.trim().trim_start_matches('=').trim();
                match meantime_feel::compile(text) {
                    Ok(program) => Ok(Self::Feel(Arc::new(program))),
                    Err(problem) => Err(InvalidExpression {
                        message: problem.to_string(),
                        help: problem.help(),
                    }),
                }
            }
            Language::Flow => Self::flow(&super::execution::translate(text), text),
            Language::DataWeave => Self::dataweave(text),
        }
    }

    /// `${a}` alone is the value of `a`; with anything around it, the result is a text.
    fn from_parts(parts: &[TemplatePart<'_>]) -> Result<Self, InvalidExpression> {
        let read = |part: &TemplatePart<'_>| match part {
            TemplatePart::Text(text) => Ok(Self::Literal(Json::text(text))),
            TemplatePart::Code(code) => Self::flow(&translate(code), &format!("${{{code}}}")),
        };
        let mut read: Vec<Self> = parts.iter().map(read).collect::<Result<_, _>>()?;
        match (read.len(), read.pop()) {
            (1, Some(only)) => Ok(only),
            (_, last) => {
                read.extend(last);
                Ok(Self::Concatenated(read))
            }
        }
    }

    /// Names that the script does not declare are variables of the process.
    fn dataweave(text: &str) -> Result<Self, InvalidExpression> {
        let compilation = Script::compile(text, &[DATAWEAVE_INPUT]);
        match compilation.script {
            Some(script) => Ok(Self::DataWeave(Arc::new(script), text.into())),
            None => Err(first_error(compilation.diagnostics)),
        }
    }

    fn flow(code: &str, written: &str) -> Result<Self, InvalidExpression> {
        match compile_embedded(code) {
            Ok(embedded) => Ok(Self::Flow(Arc::new(embedded), written.into())),
            Err(found) => Err(first_error(found)),
        }
    }
}

/// The first error, with its line in the script.
fn first_error(found: Vec<Diagnostic>) -> InvalidExpression {
    let first = found.into_iter().find(|it| it.severity == Severity::Error);
    let message = first
        .as_ref()
        .map_or_else(String::new, |it| format!("{} in line {}", it.message, it.start.line));
    InvalidExpression { message, help: first.and_then(|it| it.help) }
}

/// Names that modelers write by default and that choose no language.
fn is_default(name: &str) -> bool {
    name.contains("XPath") || name.contains("xpath")
}
