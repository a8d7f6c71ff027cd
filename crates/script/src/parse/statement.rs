//! Statements, one function each.

use super::parser::{ParseAborted, Parsed, Parser};
use super::refused;
use crate::ast::{Block, Body, Case, Catch, ForBinding, Function, Ident, Stmt, StmtKind};
use crate::lex::Kind;
use crate::problem::Code;
use crate::span::Span;

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        self.deeper(Self::statement_here)
    }

    fn statement_here(&mut self) -> Parsed<Stmt> {
        let token = self.token().clone();
        let start = token.span;
        let kind = match &token.kind {
            Kind::Sign("{") => StmtKind::Block(self.block()?),
            Kind::Sign(";") => {
                self.next();
                StmtKind::Empty
            }
            Kind::Sign("@") => {
                self.refuse(start, "a decorator", "remove it");
                return Err(ParseAborted);
            }
            Kind::Word(word) => self.word_statement(word.as_ref(), start)?,
            _ => self.expression_statement()?,
        };
        Ok(self.stmt(start, kind))
    }

    fn stmt(&self, start: Span, kind: StmtKind) -> Stmt {
        Stmt { kind, span: Span::new(start.start, self.previous_end()) }
    }

    /// A statement that begins with a word. Dispatch only.
    fn word_statement(&mut self, word: &str, start: Span) -> Parsed<StmtKind> {
        let after = self.ahead(1).clone();
        if let Some(kind) = self.typescript_statement(word)? {
            return Ok(kind);
        }
        if let Some((what, help)) = refused::statement(word) {
            return self.refused_statement(what, help, start);
        }
        match word {
            "let" | "const" => self.declaration(),
            "var" => self.var_statement(),
            "class" => self.class_statement(),
            "function" => self.function_statement(start),
            "if" => self.if_statement(),
            "while" => self.while_statement(),
            "do" => self.do_statement(),
            "for" => self.for_statement(),
            "switch" => self.switch_statement(),
            "try" => self.try_statement(),
            "throw" => self.throw_statement(),
            "return" => self.return_statement(),
            "break" => Ok(StmtKind::Break(self.jump()?)),
            "continue" => Ok(StmtKind::Continue(self.jump()?)),
            "async" if self.is_async_declaration() => self.function_statement(start),
            "workflow" if matches!(after.kind, Kind::Word(_)) && !after.after_newline => {
                let message = "a workflow cannot be declared here";
                self.problems.add(Code::Form, start, message);
                Err(ParseAborted)
            }
            _ if after.kind == Kind::Sign(":") && !refused::is_reserved(word) => {
                let label = self.name("a label")?;
                self.next();
                Ok(StmtKind::Labeled(label, Box::new(self.statement()?)))
            }
            _ => self.expression_statement(),
        }
    }

    fn refused_statement(&mut self, what: &str, help: &str, start: Span) -> Parsed<StmtKind> {
        self.refuse(start, what, help);
        self.next();
        Err(ParseAborted)
    }

    /// Reports a construct that is not in the language.
    pub(super) fn refuse(&mut self, at: Span, what: &str, help: &str) {
        let message = format!("{what} is not in the language");
        self.problems.add_with_help(Code::Refused, at, message, help);
    }

    fn expression_statement(&mut self) -> Parsed<StmtKind> {
        let expr = self.sequence()?;
        self.end_of_statement()?;
        Ok(StmtKind::Expr(expr))
    }

    pub(super) fn block(&mut self) -> Parsed<Block> {
        let start = self.expect("{")?;
        let mut statements = Vec::new();
        while !self.at_sign("}") && !self.at_end() {
            statements.extend(self.statement_or_recover());
        }
        if self.at_end() {
            let message = "this block has no closing `}`";
            self.problems.add(Code::Unterminated, start, message);
            return Err(ParseAborted);
        }
        self.next();
        Ok(Block { statements })
    }

    fn declaration(&mut self) -> Parsed<StmtKind> {
        let constant = self.at_word("const");
        let start = self.next().span;
        let declarators = self.declarators(constant, start)?;
        self.end_of_statement()?;
        Ok(StmtKind::Declare { constant, declarators })
    }

    fn var_statement(&mut self) -> Parsed<StmtKind> {
        let start = self.next().span;
        let declarators = self.declarators(false, start)?;
        self.end_of_statement()?;
        Ok(StmtKind::Var(declarators))
    }

    fn class_statement(&mut self) -> Parsed<StmtKind> {
        let class = self.class(true)?;
        Ok(StmtKind::Class(Box::new(class)))
    }

    fn function_statement(&mut self, start: Span) -> Parsed<StmtKind> {
        let is_async = self.take_word("async");
        self.next();
        self.refuse_generator();
        let name = self.name("the name of the function")?;
        let function = self.function_or_signature(start, Some(name))?;
        Ok(function.map_or(StmtKind::Empty, |function| {
            StmtKind::Function(Box::new(Function { is_async, ..function }))
        }))
    }

    fn if_statement(&mut self) -> Parsed<StmtKind> {
        let mut branches = Vec::new();
        loop {
            self.next();
            let test = self.in_parens()?;
            branches.push((test, self.statement()?));
            if !self.take_word("else") {
                return Ok(StmtKind::If { branches, otherwise: None });
            }
            if !self.at_word("if") {
                let otherwise = Some(Box::new(self.statement()?));
                return Ok(StmtKind::If { branches, otherwise });
            }
        }
    }

    fn while_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        let test = self.in_parens()?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::While { test, body })
    }

    fn do_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        let body = Box::new(self.statement()?);
        if !self.take_word("while") {
            self.unexpected("`while`");
            return Err(ParseAborted);
        }
        let test = self.in_parens()?;
        // A semicolon after it is common and never needed.
        self.take_sign(";");
        Ok(StmtKind::DoWhile { body, test })
    }

    fn for_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        if self.at_word("await") {
            let span = self.next().span;
            let help = "await inside the loop, or start all and use Task.all";
            self.refuse(span, "`for await`", help);
        }
        self.expect("(")?;
        if self.take_sign(";") {
            return self.for_rest(None);
        }
        let start = self.token().span;
        if self.at_word("let") || self.at_word("const") || self.at_word("var") {
            let (constant, is_var) = (self.at_word("const"), self.at_word("var"));
            self.next();
            let declares = Some(constant).filter(|_| !is_var);
            if let Some(binding) = self.for_each_binding(declares, is_var)? {
                return self.for_each_rest(binding);
            }
            let declarators = self.without_in(|it| it.declarators(constant, start))?;
            let init = if is_var {
                StmtKind::Var(declarators)
            } else {
                StmtKind::Declare { constant, declarators }
            };
            let init = self.stmt(start, init);
            self.expect(";")?;
            return self.for_rest(Some(Box::new(init)));
        }
        let expr = self.without_in(Self::sequence)?;
        if self.at_word("of") || self.at_word("in") {
            let pattern = self.as_pattern(expr)?;
            return self.for_each_rest(ForBinding { declares: None, is_var: false, pattern });
        }
        let init = self.stmt(start, StmtKind::Expr(expr));
        self.expect(";")?;
        self.for_rest(Some(Box::new(init)))
    }

    fn without_in<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let before = std::mem::replace(&mut self.no_in, true);
        let result = parse(self);
        self.no_in = before;
        result
    }

    /// The declared part of `for (let x of …)`, if it is one.
    fn for_each_binding(
        &mut self,
        declares: Option<bool>,
        is_var: bool,
    ) -> Parsed<Option<ForBinding>> {
        let is_each =
            |token: &Kind| matches!(token, Kind::Word(it) if **it == *"of" || **it == *"in");
        let is_pattern = self.at_sign("[") || self.at_sign("{");
        if !is_pattern && !is_each(&self.ahead(1).kind) {
            return Ok(None);
        }
        let before = self.mark();
        let pattern = self.pattern()?;
        if !is_each(&self.token().kind) {
            self.reset(before);
            return Ok(None);
        }
        Ok(Some(ForBinding { declares, is_var, pattern }))
    }

    fn for_each_rest(&mut self, binding: ForBinding) -> Parsed<StmtKind> {
        let over_keys = self.at_word("in");
        self.next();
        let subject = self.expression()?;
        self.expect(")")?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::ForEach { over_keys, binding, subject, body })
    }

    fn for_rest(&mut self, init: Option<Box<Stmt>>) -> Parsed<StmtKind> {
        let test = if self.at_sign(";") { None } else { Some(self.sequence()?) };
        self.expect(";")?;
        let mut update = Vec::new();
        while !self.at_sign(")") {
            update.push(self.expression()?);
            if !self.take_sign(",") {
                break;
            }
        }
        self.expect(")")?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::For { init, test, update, body })
    }

    fn switch_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        let subject = self.in_parens()?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.at_sign("}") {
            let start = self.token().span;
            let test = if self.take_word("default") {
                None
            } else if self.take_word("case") {
                Some(self.sequence()?)
            } else {
                self.unexpected("`case`, `default` or `}`");
                return Err(ParseAborted);
            };
            self.expect(":")?;
            let mut body = Vec::new();
            while !self.at_sign("}") && !self.at_word("case") && !self.at_word("default") {
                if self.at_end() {
                    break;
                }
                body.extend(self.statement_or_recover());
            }
            cases.push(Case { test, body, span: start });
        }
        self.next();
        Ok(StmtKind::Switch { subject, cases })
    }

    fn try_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        let block = self.block()?;
        let mut catch = None;
        if self.take_word("catch") {
            let mut param = None;
            if self.take_sign("(") {
                param = Some(self.pattern()?);
                self.annotation()?;
                self.expect(")")?;
            }
            catch = Some(Catch { param, body: self.block()? });
        }
        let finally = if self.take_word("finally") { Some(self.block()?) } else { None };
        if catch.is_none() && finally.is_none() {
            self.unexpected("`catch` or `finally`");
            return Err(ParseAborted);
        }
        Ok(StmtKind::Try { block, catch, finally })
    }

    fn throw_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        if self.token().after_newline {
            self.unexpected("the value to throw on the same line");
            return Err(ParseAborted);
        }
        let value = self.sequence()?;
        self.end_of_statement()?;
        Ok(StmtKind::Throw(value))
    }

    fn return_statement(&mut self) -> Parsed<StmtKind> {
        self.next();
        let ends = self.at_sign(";") || self.at_sign("}") || self.at_end();
        let value = if ends || self.token().after_newline { None } else { Some(self.sequence()?) };
        self.end_of_statement()?;
        Ok(StmtKind::Return(value))
    }

    /// The optional label of `break` and `continue`.
    fn jump(&mut self) -> Parsed<Option<Ident>> {
        self.next();
        let is_label = matches!(self.token().kind, Kind::Word(_)) && !self.token().after_newline;
        let label = if is_label { Some(self.name("a label")?) } else { None };
        self.end_of_statement()?;
        Ok(label)
    }

    /// The body of a function: braces.
    pub(super) fn function_body(&mut self) -> Parsed<Body> {
        // Inside a function `in` is an operator again.
        let before = std::mem::replace(&mut self.no_in, false);
        let block = self.block();
        self.no_in = before;
        Ok(Body::Block(block?))
    }
}
