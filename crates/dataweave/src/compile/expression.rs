//! Expressions: a dispatch over the syntax tree.

use meantime_value::{Text, Value};

use super::super::diagnostic::{Code, Problem};
use super::super::eval::Function;
use super::super::library::{find, find_anywhere, refusal};
use super::super::program::{Node, Op};
use super::super::syntax::{BinaryOp, Expr, ExprKind, Name, Span, UnaryOp};
use super::super::types::Type;
use super::compiler::Compiler;
use super::scope::{Binding, export};

impl Compiler<'_> {
    pub(super) fn expression(&mut self, expr: &Expr) -> Node {
        // An operand is never in tail position.
        let current = self.current.take();
        let node = self.lower(expr, false);
        self.current = current;
        node
    }

    /// Compiles an expression in tail position: its value is the function's result.
    pub(super) fn tail(&mut self, expr: &Expr) -> Node {
        self.lower(expr, true)
    }

    fn branch(&mut self, expr: &Expr, tail: bool) -> Node {
        if tail { self.tail(expr) } else { self.expression(expr) }
    }

    fn lower(&mut self, expr: &Expr, tail: bool) -> Node {
        let span = expr.span;
        let op = match &*expr.kind {
            ExprKind::Literal(value) => Op::Constant(value.clone()),
            ExprKind::Interpolation(pieces) => Op::Interpolation(self.interpolation(pieces)),
            ExprKind::Name { module, name } => return self.name(module, name, span),
            ExprKind::Array(items) => Op::Array(self.items(items)),
            ExprKind::Object(members) => Op::Object(self.members(members)),
            ExprKind::Group(inner) => return self.branch(inner, tail),
            ExprKind::Select { target, selector } => {
                let target = self.expression(target);
                Op::Select(Box::new(target), Box::new(self.selector(selector)))
            }
            ExprKind::Call { callee, args } => return self.call(callee, args, span, tail),
            ExprKind::Infix { left, module, operator, right } => {
                return self.infix(left, (module, operator), right, span, tail);
            }
            ExprKind::Unary { operator: UnaryOp::Minus, operand } => self.negate(operand),
            ExprKind::Unary { operator: UnaryOp::Not, operand } => {
                Op::Not(Box::new(self.expression(operand)))
            }
            ExprKind::Binary { operator, left, right } => self.binary(*operator, left, right),
            ExprKind::As { value, target, schema } => Op::As {
                value: Box::new(self.expression(value)),
                target: self.lower_type(target),
                schema: self.members(schema),
            },
            ExprKind::Is { value, target } => {
                Op::Is(Box::new(self.expression(value)), self.lower_type(target))
            }
            ExprKind::Default { value, fallback } => {
                self.lint_right_operand("default", fallback);
                Op::Default(Box::new((self.expression(value), self.expression(fallback))))
            }
            ExprKind::If { condition, then, otherwise } => {
                let condition = self.expression(condition);
                let then = self.branch(then, tail);
                let otherwise = self.branch(otherwise, tail);
                Op::If(Box::new((condition, then, otherwise)))
            }
            ExprKind::Lambda(lambda) => {
                let current = self.current.take();
                let id = self.lambda(lambda, lambda.params.len());
                self.current = current;
                Op::LambdaValue(id)
            }
            ExprKind::Do { directives, body } => return self.block(directives, body, span, tail),
            ExprKind::Match { value, cases } => return self.match_cases(value, cases, span, tail),
            ExprKind::Update { value, cases } => return self.update_cases(value, cases, span),
            ExprKind::Broken => return Self::error_node(span),
        };
        Self::node(op, span)
    }

    fn negate(&mut self, operand: &Expr) -> Op {
        let operand = self.expression(operand);
        match operand.op {
            Op::Constant(Value::Number(number)) => Op::Constant(Value::Number(number.neg())),
            _ => Op::Negate(Box::new(operand)),
        }
    }

    fn binary(&mut self, operator: BinaryOp, left: &Expr, right: &Expr) -> Op {
        Op::Binary(operator, Box::new((self.expression(left), self.expression(right))))
    }

    /// A name used as a value.
    fn name(&mut self, module: &[Text], name: &Name, span: Span) -> Node {
        let op = match self.find(module, name) {
            Some(Binding::Global(item_index)) => Op::Global(item_index),
            Some(Binding::Slot(slot)) => self.slot(slot),
            Some(Binding::Set(set)) => Op::SetValue(set),
            Some(Binding::Native(native)) => Op::Constant(Function::Native(native).into_value()),
            Some(Binding::Constant(value)) => Op::Constant(value),
            Some(Binding::Type(index)) => match self.types.get(index) {
                Some(found) => Op::Constant((**found).clone().into_value()),
                None => Op::Constant(Value::Null),
            },
            Some(Binding::TypeParam) => match Type::built_in("Any") {
                Some(any) => Op::Constant(any.into_value()),
                None => Op::Constant(Value::Null),
            },
            Some(Binding::Namespace(namespace)) => {
                Op::Constant(Value::Namespace(std::sync::Arc::new(namespace)))
            }
            Some(Binding::NotYetDeclared) => {
                let message = format!("`{}` has no value yet", name.text);
                let help = "a variable is declared before it is used";
                let problem = Problem::error(Code::UnknownName, name.span, message);
                self.problems.push(problem.with_help(help));
                return Self::error_node(span);
            }
            None => return self.unknown_value(module, name, span),
        };
        Self::node(op, span)
    }

    /// Resolves a name: the innermost declaration, then imports, then the core library.
    pub(super) fn find(&self, module: &[Text], name: &Name) -> Option<Binding> {
        if !module.is_empty() {
            return export(self.find_module(module)?, &name.text);
        }
        if let Some(bound) = self.scope.find(&name.text) {
            return Some(bound.clone());
        }
        let mut open = self.scope.open_modules.iter();
        let imported = open.find_map(|module| export(module, &name.text));
        imported.or_else(|| find("dw::Core", &name.text).map(Binding::Native))
    }

    fn find_module(&self, path: &[Text]) -> Option<&'static super::super::library::Module> {
        let path = path.join("::");
        let named = self.scope.named_modules.iter().rev();
        let mut aliased = named.filter(|(alias, _)| **alias == *path).map(|(_, module)| *module);
        aliased.next().or_else(|| super::super::library::module(&path))
    }

    /// An unknown name: a built-in type, a field of `context`, or an error.
    fn unknown_value(&mut self, module: &[Text], name: &Name, span: Span) -> Node {
        if let Some(mut built_in) = Type::built_in(&name.text).filter(|_| module.is_empty()) {
            built_in.name = Some(name.text.clone());
            return Self::constant(built_in.into_value(), span);
        }
        if let Some(context) = self.context
            && module.is_empty()
            && !name.text.starts_with('$')
        {
            let message = format!("`{0}` is not declared; it is read as `context.{0}`", name.text);
            let help = format!("the standard form is `context.{}`", name.text);
            let warning = Problem::warning(Code::Extension, span, message).with_help(help);
            self.problems.push(warning);
            return Self::context_field(context, name, span);
        }
        self.unknown_name(module, name);
        Self::error_node(span)
    }

    fn context_field(context: usize, name: &Name, span: Span) -> Node {
        use super::super::program::{NameNode, SelectorNode};
        use super::super::syntax::{SelectedPart, SelectorReach};
        let selector = SelectorNode::Field {
            reach: SelectorReach::First,
            what: SelectedPart::Value,
            namespace: None,
            name: NameNode::Plain(name.text.clone()),
        };
        let context = Self::node(Op::Global(context), span);
        Self::node(Op::Select(Box::new(context), Box::new(selector)), span)
    }

    pub(super) fn unknown_name(&mut self, module: &[Text], name: &Name) {
        let path = if module.is_empty() { "dw::Core".to_owned() } else { module.join("::") };
        if let Some(reason) = refusal(&path, &name.text) {
            self.error(Code::Refused, name.span, reason);
            return;
        }
        let message = match &*name.text {
            "$" | "$$" | "$$$" => format!("`{}` means nothing here", name.text),
            _ => format!("there is no `{}`", name.text),
        };
        let help = if name.text.starts_with('$') {
            let help = "it is the parameter of a function between two values, as in `xs map $ + 1`; \
                        inside a text, write `\\$` for the sign itself";
            Some(help.to_owned())
        } else if let Some(home) = find_anywhere(&name.text) {
            Some(format!("it needs `import {} from {home}`", name.text))
        } else {
            self.similar_name(&name.text)
        };
        let mut problem = Problem::error(Code::UnknownName, name.span, message);
        problem.help = help;
        self.problems.push(problem);
    }
}
