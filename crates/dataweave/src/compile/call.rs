//! Calls, with the function before its arguments or between them.

use meantime_value::Text;

use super::super::diagnostic::{Code, Problem};
use super::super::eval::Function;
use super::super::library::{Native, find};
use super::super::program::{Node, Op, SetId};
use super::super::syntax::{BinaryOp, Expr, ExprKind, Name, Span};
use super::compiler::Compiler;
use super::scope::Binding;

impl Compiler<'_> {
    /// `callee(args)`.
    pub(super) fn call(&mut self, callee: &Expr, args: &[Expr], span: Span, tail: bool) -> Node {
        if let ExprKind::Name { module, name } = &*callee.kind {
            match self.find(module, name) {
                Some(Binding::Native(native)) => return self.call_native(native, args, span),
                Some(Binding::Set(set)) => return self.call_set(set, args, span, tail),
                Some(_) => {}
                None => {
                    if module.is_empty() && &*name.text == "durationBetween" {
                        return self.duration_between(name, args, span);
                    }
                    if super::super::types::Type::built_in(&name.text).is_none() {
                        self.unknown_name(module, name);
                        return Self::error_node(span);
                    }
                }
            }
        }
        let callee = self.expression(callee);
        let args = args.iter().map(|arg| self.expression(arg)).collect();
        Self::node(Op::Call(Box::new(callee), args), span)
    }

    /// An extension: `b - a` as a period whose parts can be selected.
    fn duration_between(&mut self, name: &Name, args: &[Expr], span: Span) -> Node {
        let message = "`durationBetween` is not a standard function";
        let warning = Problem::warning(Code::Extension, name.span, message);
        self.problems.push(warning.with_help("the standard form is `b - a`"));
        let [from, to] = args else {
            self.error(Code::Arguments, span, "`durationBetween` takes 2 arguments");
            return Self::error_node(span);
        };
        let operands = (self.expression(to), self.expression(from));
        Self::node(Op::Binary(BinaryOp::Subtract, Box::new(operands)), span)
    }

    fn call_native(&mut self, native: &'static Native, args: &[Expr], span: Span) -> Node {
        if !native.takes_count(args.len()) {
            let message = format!(
                "`{}` takes {}, not {} argument{}",
                native.name,
                native.describe(),
                args.len(),
                if args.len() == 1 { "" } else { "s" }
            );
            self.error(Code::Arguments, span, message);
        }
        for (index, arg) in args.iter().enumerate() {
            if let Some(arity) = native.callback(index) {
                self.check_callback(native.name, arg, arity);
            }
        }
        let args = args.iter().map(|arg| self.expression(arg)).collect();
        Self::node(Op::Native(native, args), span)
    }

    /// A function argument must accept exactly the arguments it will be called with.
    fn check_callback(&mut self, name: &str, arg: &Expr, arity: usize) {
        let ExprKind::Lambda(lambda) = &*arg.ungrouped().kind else { return };
        let most = lambda.params.len();
        let least = lambda.params.iter().filter(|param| param.default.is_none()).count();
        if (least..=most).contains(&arity) {
            return;
        }
        let message =
            format!("`{name}` calls this function with {arity} arguments, but it takes {most}");
        let help = if most < arity {
            format!("add a parameter, or write it between the values: `xs {name} (x) -> …`")
        } else {
            "remove a parameter".to_owned()
        };
        self.problems.push(Problem::error(Code::Arguments, arg.span, message).with_help(help));
    }

    fn call_set(&mut self, set: SetId, args: &[Expr], span: Span, tail: bool) -> Node {
        let tail = tail && self.current == Some(set);
        let args = args.iter().map(|arg| self.expression(arg)).collect();
        Self::node(Op::CallSet { set, args, tail }, span)
    }

    /// `left operator right`.
    pub(super) fn infix(
        &mut self,
        left: &Expr,
        (module, operator): (&[Text], &Name),
        right: &Expr,
        span: Span,
        tail: bool,
    ) -> Node {
        if &*operator.text == "orderBy" && super::lint::is_comparator(right) {
            return self.sort_with(left, right, operator, span);
        }
        let pair = |op: fn(Box<(Node, Node)>) -> Op, nodes| Self::node(op(Box::new(nodes)), span);
        match &*operator.text {
            "++" => {
                self.lint_right_operand("++", right);
                return pair(Op::Append, (self.expression(left), self.expression(right)));
            }
            "--" => {
                self.lint_right_operand("--", right);
                return pair(Op::Remove, (self.expression(left), self.expression(right)));
            }
            _ => {}
        }
        match self.find(module, operator).or_else(|| self.alternative_name(operator)) {
            Some(Binding::Native(native)) => {
                if !native.takes_count(2) {
                    let message = format!("`{}` cannot be used between two values", native.name);
                    self.error(Code::Arguments, operator.span, message);
                }
                let left = self.expression(left);
                let right = self.right_operand(&operator.text, right, native.callback(1));
                Self::node(Op::Native(native, vec![left, right]), span)
            }
            Some(Binding::Set(set)) => {
                let callback = self.callbacks.get(set.0).copied().flatten();
                let left = self.expression(left);
                let right = self.right_operand(&operator.text, right, callback);
                let tail = tail && self.current == Some(set);
                Self::node(Op::CallSet { set, args: vec![left, right], tail }, span)
            }
            Some(Binding::Slot(_) | Binding::Global(_) | Binding::Constant(_)) => {
                let callee = Expr::new(
                    ExprKind::Name { module: Vec::new(), name: operator.clone() },
                    operator.span,
                );
                let callee = self.expression(&callee);
                let args = vec![self.expression(left), self.expression(right)];
                Self::node(Op::Call(Box::new(callee), args), span)
            }
            _ => {
                self.unknown_name(module, operator);
                Self::error_node(span)
            }
        }
    }

    /// Extensions: `any` and `all` for `some` and `every`.
    fn alternative_name(&mut self, operator: &Name) -> Option<Binding> {
        let standard = match &*operator.text {
            "any" => "some",
            "all" => "every",
            _ => return None,
        };
        let message = format!("`{}` is not a standard function", operator.text);
        let help = format!("the standard form is `{standard}`, imported from dw::core::Arrays");
        let warning = Problem::warning(Code::Extension, operator.span, message).with_help(help);
        self.problems.push(warning);
        find("dw::core::Arrays", standard).map(Binding::Native)
    }

    /// The right operand: a value, or the body of a function where one is expected.
    fn right_operand(&mut self, operator: &str, right: &Expr, callback: Option<usize>) -> Node {
        let Some(arity) = callback else {
            self.lint_right_operand(operator, right);
            return self.expression(right);
        };
        let span = right.span;
        if let ExprKind::Lambda(lambda) = &*right.ungrouped().kind {
            if lambda.params.len() > arity {
                self.check_callback(operator, right, arity);
            }
            let current = self.current.take();
            let id = self.lambda(lambda, arity);
            self.current = current;
            return Self::node(Op::LambdaValue(id), span);
        }
        self.lint_uncalled(operator, right);
        let current = self.current.take();
        let id = self.implicit_lambda(right, arity);
        self.current = current;
        Self::node(Op::LambdaValue(id), span)
    }

    /// `xs map f` would collect the function itself, which is never intended.
    fn lint_uncalled(&mut self, operator: &str, right: &Expr) {
        let ExprKind::Name { module, name } = &*right.ungrouped().kind else { return };
        let is_function = match self.find(module, name) {
            Some(Binding::Set(_) | Binding::Native(_)) => true,
            Some(Binding::Constant(value)) => Function::from_value(&value).is_some(),
            _ => false,
        };
        if is_function {
            let message = format!("`{}` is not called here", name.text);
            let help = format!("write `{operator} {}($)`", name.text);
            let problem = Problem::error(Code::Arguments, right.span, message);
            self.problems.push(problem.with_help(help));
        }
    }

    /// An extension: `orderBy` with a function that compares two elements.
    fn sort_with(&mut self, left: &Expr, right: &Expr, operator: &Name, span: Span) -> Node {
        let message = "`orderBy` with a comparison of two elements is not standard";
        let warning = Problem::warning(Code::Extension, operator.span, message);
        self.problems.push(warning.with_help("the standard form is `orderBy` with one key"));
        let left = self.expression(left);
        let right = self.right_operand("orderBy", right, Some(2));
        Self::node(Op::SortWith(Box::new((left, right))), span)
    }
}
