//! From text to an expression.

use std::sync::Arc;

use meantime_core::{Diagnostic, Json, Severity};
use meantime_expr::dataweave::Script;
use meantime_expr::script::compile_embedded;

use super::juel::translate;
use super::template::{Part, parts};
use super::{Expression, Language};

/// The input whose fields `DataWeave` sees as names.
const CONTEXT: &str = "context";

/// Why a text is no expression.
#[derive(Debug, Clone)]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Expression {
    /// Reads text that may be an expression. A named language holds for all of it.
    pub(crate) fn read(text: &str, language: Option<&str>) -> Result<Self, Unreadable> {
        let text = text.trim();
        if let Some(feel) = text.strip_prefix('=') {
            return Self::script(feel, Language::Feel);
        }
        if let Some(parts) = parts(text) {
            let parts =
                parts.map_err(|message| Unreadable { message: message.to_owned(), help: None })?;
            return Self::joined(&parts);
        }
        match language.map(|name| (name, Language::named(name))) {
            Some((_, Some(language))) => Self::script(text, language),
            Some((name, None)) if !is_default(name) => Err(Unreadable {
                message: format!("the language `{name}` does not run here"),
                help: Some("use feel, javascript or dataweave".to_owned()),
            }),
            _ => Ok(Self::Literal(Json::text(text))),
        }
    }

    /// Reads text that is certainly code.
    pub(crate) fn script(text: &str, language: Language) -> Result<Self, Unreadable> {
        match language {
            Language::Feel => {
                let text = text.trim().trim_start_matches('=').trim();
                match meantime_expr::feel::compile(text) {
                    Ok(program) => Ok(Self::Feel(Arc::new(program))),
                    Err(problem) => {
                        Err(Unreadable { message: problem.to_string(), help: problem.help() })
                    }
                }
            }
            Language::Flow => Self::flow(&super::execution::translate(text), text),
            Language::DataWeave => Self::dataweave(text),
        }
    }

    /// `${a}` is the value itself; anything more is a text.
    fn joined(parts: &[Part<'_>]) -> Result<Self, Unreadable> {
        let read = |part: &Part<'_>| match part {
            Part::Text(text) => Ok(Self::Literal(Json::text(text))),
            Part::Code(code) => Self::flow(&translate(code), &format!("${{{code}}}")),
        };
        let mut read: Vec<Self> = parts.iter().map(read).collect::<Result<_, _>>()?;
        match (read.len(), read.pop()) {
            (1, Some(only)) => Ok(only),
            (_, last) => {
                read.extend(last);
                Ok(Self::Joined(read))
            }
        }
    }

    /// Names that the script does not declare are variables.
    fn dataweave(text: &str) -> Result<Self, Unreadable> {
        let compilation = Script::compile(text, &[CONTEXT]);
        match compilation.script {
            Some(script) => Ok(Self::DataWeave(Arc::new(script), text.into())),
            None => Err(first_of(compilation.diagnostics)),
        }
    }

    fn flow(code: &str, written: &str) -> Result<Self, Unreadable> {
        match compile_embedded(code) {
            Ok(embedded) => Ok(Self::Flow(Arc::new(embedded), written.into())),
            Err(found) => Err(first_of(found)),
        }
    }
}

/// The first error, with its line in the script.
fn first_of(found: Vec<Diagnostic>) -> Unreadable {
    let first = found.into_iter().find(|it| it.severity == Severity::Error);
    let message = first
        .as_ref()
        .map_or_else(String::new, |it| format!("{} in line {}", it.message, it.start.line));
    Unreadable { message, help: first.and_then(|it| it.help) }
}

/// What modelers write when nobody chose a language.
fn is_default(name: &str) -> bool {
    name.contains("XPath") || name.contains("xpath")
}
