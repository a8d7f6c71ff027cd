//! Modules: a file whose `export default` is its workflow.

use super::parser::{ParseAborted, Parsed, Parser};
use crate::ast::{ExprKind, File, Function, Workflow, WorkflowForm};
use crate::lex::{Kind, Token};
use crate::problem::Code;

/// Whether the tokens of a file contain an `export default`.
pub(super) fn has_default_export(tokens: &[Token]) -> bool {
    let is_word =
        |token: &Token, word: &str| matches!(&token.kind, Kind::Word(it) if **it == *word);
    tokens.windows(2).any(|pair| match pair {
        [first, second] => is_word(first, "export") && is_word(second, "default"),
        _ => false,
    })
}

impl Parser<'_> {
    /// `export default` or an exported declaration, at the top level of a file.
    pub(super) fn export(&mut self, file: &mut File) -> Parsed<()> {
        let start = self.next().span;
        if self.take_word("default") {
            let workflow = self.default_export()?;
            if file.workflows.iter().any(|known| known.form != WorkflowForm::Keyword) {
                let message = "a file has one `export default`";
                let help = "put the other workflow into a file of its own";
                self.problems.add_with_help(Code::Duplicate, start, message, help);
            }
            file.workflows.push(workflow);
            return Ok(());
        }
        if self.type_export()? {
            return Ok(());
        }
        let is_type = self.types
            && ["type", "interface", "declare", "enum", "namespace", "module", "abstract"]
                .iter()
                .any(|word| self.at_word(word));
        if is_type {
            file.statements.extend(self.statement_or_recover());
            return Ok(());
        }
        let declares = match &self.token().kind {
            Kind::Word(word) => {
                matches!(&**word, "let" | "const" | "var" | "class" | "function" | "async")
            }
            _ => false,
        };
        if !declares {
            let help = "export declarations where they are: `export const x = …`";
            self.refuse(start, "this form of `export`", help);
            return Err(ParseAborted);
        }
        file.exports.push(start);
        file.statements.extend(self.statement_or_recover());
        Ok(())
    }

    /// What follows `export default`: the function that is the workflow.
    fn default_export(&mut self) -> Parsed<Workflow> {
        let start = self.token().span;
        let is_async = self.is_async_declaration() || self.is_async_arrow();
        if is_async {
            self.next();
        }
        let function = if self.at_word("function") {
            self.default_function(start)?
        } else if self.at_arrow() || self.typed_arrow_ahead(0) {
            let arrow = self.expression()?;
            self.end_of_statement()?;
            let ExprKind::Function(function) = arrow.kind else { return Err(ParseAborted) };
            let mut function = *function;
            // `async` identifies the function, as it does without an arrow.
            function.span.start = start.start;
            function
        } else {
            let help = "write `export default async function (input, ctx) { … }`";
            self.refuse(start, "`export default` of anything but a function", help);
            return Err(ParseAborted);
        };
        let form = if is_async { WorkflowForm::Async } else { WorkflowForm::Plain };
        Ok(Workflow { name: None, function, form })
    }

    fn default_function(&mut self, start: crate::span::Span) -> Parsed<Function> {
        self.next();
        self.refuse_generator();
        let is_nameless = self.at_sign("(") || self.at_sign("<");
        let name = if is_nameless { None } else { Some(self.name("a function name")?) };
        self.function_rest(start, name)
    }
}
