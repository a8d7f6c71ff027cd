//! Classes: a constructor, methods, and functions that define the fields.

use super::parser::{ParseAborted, Parsed, Parser};
use crate::ast::{
    Accessor, Arg, Block, Body, Class, ClassMethod, Expr, ExprKind, Function, FunctionKind, Ident,
    Pattern, PatternKind, PropKey, Stmt, StmtKind,
};
use crate::lex::Kind;
use crate::problem::Code;
use crate::span::Span;

/// The parts of a class body.
#[derive(Default)]
struct Members {
    constructor: Option<Function>,
    fields: Vec<Stmt>,
    statics: Vec<Stmt>,
    methods: Vec<ClassMethod>,
    privates: Vec<Ident>,
}

impl Parser<'_> {
    /// A class after the check that it is one; as a statement it needs a name.
    pub(super) fn class(&mut self, needs_name: bool) -> Parsed<Class> {
        let start = self.next().span;
        let is_named = matches!(&self.token().kind, Kind::Word(word) if **word != *"extends")
            && !(self.types && self.at_word("implements"));
        let name =
            if needs_name || is_named { Some(self.name("the name of a class")?) } else { None };
        self.type_params()?;
        let extends = if self.take_word("extends") { Some(self.postfix()?) } else { None };
        self.heritage_types()?;
        let open = self.expect("{")?;
        let mut members = Members::default();
        while !self.at_sign("}") {
            if self.at_end() {
                let message = "this class has no closing `}`";
                self.problems.add(Code::Unterminated, open, message);
                return Err(ParseAborted);
            }
            if !self.take_sign(";") {
                self.deeper(|it| it.class_member(&mut members, extends.is_some()))?;
            }
        }
        let close = self.next().span;
        let constructor = members.constructor.unwrap_or_else(|| implied(start, extends.is_some()));
        let fields = fields_function(members.fields, open);
        let statics = fields_function(members.statics, close);
        let (methods, privates) = (members.methods, members.privates);
        let mut class = Class { name, extends, constructor, fields, statics, methods, privates };
        class.constructor.name = class.name.clone().map(super::function::unbound);
        Ok(class)
    }

    fn class_member(&mut self, members: &mut Members, derived: bool) -> Parsed<()> {
        let modifiers = self.member_modifiers()?;
        let is_static = modifiers.is_static;
        if !is_static && self.at_word("static") && self.ahead(1).kind == Kind::Sign("{") {
            let start = self.next().span;
            let block = self.block()?;
            let span = Span::new(start.start, self.previous_end());
            members.statics.push(Stmt { kind: StmtKind::Block(block), span });
            return Ok(());
        }
        let is_async = self.at_word("async") && self.modifies_key() && !self.ahead(1).after_newline;
        if is_async {
            self.next();
        }
        self.refuse_generator();
        let accessor = match &self.token().kind {
            _ if is_async => None,
            Kind::Word(word) if **word == *"get" && self.modifies_key() => Some(Accessor::Get),
            Kind::Word(word) if **word == *"set" && self.modifies_key() => Some(Accessor::Set),
            _ => None,
        };
        if accessor.is_some() {
            self.next();
        }
        if self.types && self.at_index_signature() {
            self.index_signature()?;
            return self.end_of_statement();
        }
        let start = self.token().span;
        let (key, name) = self.class_key()?;
        if self.types {
            let _mark = self.take_sign("?") || self.take_sign("!");
        }
        if let PropKey::Private(name) = &key
            && !members.privates.iter().any(|known| known.name == name.name)
        {
            members.privates.push(name.clone());
        }
        let is_constructor = !is_static
            && accessor.is_none()
            && name.as_ref().is_some_and(|name| &*name.name == "constructor");
        let is_method = is_async || self.at_sign("(") || (self.types && self.at_sign("<"));
        if !is_method {
            self.annotation()?;
            let value = if self.take_sign("=") { Some(self.expression()?) } else { None };
            let span = Span::new(start.start, self.previous_end());
            self.end_of_statement()?;
            if modifiers.is_erased {
                return Ok(());
            }
            let field = Stmt { kind: StmtKind::Field { key, value }, span };
            let list = if is_static { &mut members.statics } else { &mut members.fields };
            list.push(field);
            return Ok(());
        }
        let name = name.map(super::function::unbound);
        let Some(mut function) = self.function_or_signature(start, name)? else { return Ok(()) };
        function.is_async = is_async;
        if is_constructor && is_async {
            self.problems.add(Code::Syntax, start, "a constructor cannot be `async`");
            return Err(ParseAborted);
        }
        if is_constructor {
            function.kind =
                if derived { FunctionKind::DerivedConstructor } else { FunctionKind::Constructor };
            if members.constructor.is_some() {
                self.problems.add(Code::Duplicate, start, "a class has one constructor");
            }
            members.constructor = Some(function);
            return Ok(());
        }
        function.kind = FunctionKind::Method;
        members.methods.push(ClassMethod { key, is_static, accessor, function });
        Ok(())
    }

    /// Whether the word here is a modifier of the key that follows.
    pub(super) fn modifies_key(&self) -> bool {
        matches!(
            self.ahead(1).kind,
            Kind::Word(_) | Kind::Text(_) | Kind::Number(_) | Kind::Sign("[" | "#" | "*")
        )
    }

    fn class_key(&mut self) -> Parsed<(PropKey, Option<Ident>)> {
        if self.at_sign("#") {
            let name = self.private_name()?;
            return Ok((PropKey::Private(name.clone()), Some(name)));
        }
        self.property_key()
    }

    /// `super(…)` and `super.name`
    pub(super) fn super_expression(&mut self) -> Parsed<Expr> {
        let start = self.next().span;
        if self.at_sign("(") {
            let paren = self.token().span.start;
            let args = self.arguments()?;
            let span = Span::new(start.start, self.previous_end());
            return Ok(Expr { kind: ExprKind::SuperCall { args, paren }, span });
        }
        self.expect(".")?;
        let name = self.any_word("a property name")?;
        let span = start.to(name.span);
        Ok(Expr { kind: ExprKind::SuperMember(name), span })
    }

    /// `new Name(…)`, with the arguments or without.
    pub(super) fn new_expression(&mut self) -> Parsed<Expr> {
        let start = self.next().span;
        if self.at_sign(".") {
            self.refuse(start, "`new.target`", "use `this.constructor`");
            return Err(ParseAborted);
        }
        let mut callee = self.primary()?;
        loop {
            if self.take_sign(".") {
                let name = if self.at_sign("#") {
                    self.private_name()?
                } else {
                    self.any_word("a property name")?
                };
                let span = callee.span.to(name.span);
                let object = Box::new(callee);
                callee = Expr { kind: ExprKind::Member { object, name, optional: false }, span };
            } else if self.at_sign("[") {
                callee = self.index(callee, false)?;
            } else if self.types && self.at_sign("!") && !self.token().after_newline {
                self.next();
            } else {
                let is_typed = self.at_sign("<") || self.at_sign("<<");
                if !(is_typed && self.expression_type_args()) {
                    break;
                }
            }
        }
        let paren = if self.at_sign("(") { self.token().span.start } else { start.start };
        let args = if self.at_sign("(") { self.arguments()? } else { Vec::new() };
        let span = Span::new(start.start, self.previous_end());
        Ok(Expr { kind: ExprKind::New { callee: Box::new(callee), args, paren }, span })
    }
}

/// The constructor of a class that has none. Its parts are at positions inside the word `class`,
/// where nothing else can be.
fn implied(at: Span, derived: bool) -> Function {
    let inside = |offset: u32| Span::new(at.start + offset, at.start + offset + 1);
    let (mut rest, mut statements) = (None, Vec::new());
    let mut kind = FunctionKind::Constructor;
    if derived {
        let name = Ident { name: "args".into(), span: inside(0) };
        rest = Some(Pattern { kind: PatternKind::Name(name), span: inside(0) });
        let value = Expr { kind: ExprKind::Name("args".into()), span: inside(1) };
        let args = vec![Arg { value, spread: true }];
        let call = ExprKind::SuperCall { args, paren: at.start + 3 };
        let call = Expr { kind: call, span: inside(2) };
        statements.push(Stmt { kind: StmtKind::Expr(call), span: inside(2) });
        kind = FunctionKind::DerivedConstructor;
    }
    let body = Body::Block(Block { statements });
    Function { name: None, params: Vec::new(), rest, body, kind, is_async: false, span: at }
}

/// The function that defines fields, if there are any.
fn fields_function(statements: Vec<Stmt>, at: Span) -> Option<Function> {
    if statements.is_empty() {
        return None;
    }
    let (body, kind) = (Body::Block(Block { statements }), FunctionKind::Fields);
    let name = Ident { name: "fields".into(), span: Span::new(u32::MAX, u32::MAX) };
    let (params, is_async) = (Vec::new(), false);
    Some(Function { name: Some(name), params, rest: None, body, kind, is_async, span: at })
}
