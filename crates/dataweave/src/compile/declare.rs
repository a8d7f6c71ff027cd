//! Declarations: imports, types, functions, local variables.

use meantime_value::{Namespace, Text};

use super::super::diagnostic::{Code, Problem};
use super::super::library::{MODULES, module, refusal};
use super::super::program::{FunctionSet, Node, Op, SetId};
use super::super::syntax::{
    Directive, Expr, ExprKind, Import, Imported, LambdaExpr, Name, Span, TypeExprKind,
};
use super::compiler::Compiler;
use super::scope::{Binding, export};
use super::suggest::did_you_mean;

/// A declared function whose body is not compiled yet.
pub(super) struct PendingFunction<'e> {
    set: SetId,
    type_params: &'e [Text],
    lambda: &'e LambdaExpr,
}

impl Compiler<'_> {
    /// Imports, namespaces and the output.
    pub(super) fn declare_modules(&mut self, directives: &[Directive]) {
        for directive in directives {
            match directive {
                Directive::Import(import) => self.import(import),
                Directive::Namespace { name, uri } => {
                    let namespace = Namespace { prefix: name.text.clone(), uri: uri.clone() };
                    self.scope.bind(name.text.clone(), Binding::Namespace(namespace));
                }
                Directive::Output { mime, span } => self.check_output(mime, *span),
                _ => {}
            }
        }
    }

    fn check_output(&mut self, mime: &str, span: Span) {
        if !matches!(mime, "application/json" | "json" | "application/java" | "text/json") {
            let message = format!("the output `{mime}` is not supported");
            let problem = Problem::error(Code::Refused, span, message);
            self.problems.push(problem.with_help("results are JSON: `output application/json`"));
        }
    }

    fn import(&mut self, import: &Import) {
        let path = import.module.join("::");
        let Some(found) = module(&path) else {
            if let Some(reason) = refusal(&path, "") {
                self.error(Code::Refused, import.span, reason);
                return;
            }
            let message = format!("there is no module `{path}`");
            let names = MODULES.iter().map(|module| module.path);
            let mut problem = Problem::error(Code::UnknownModule, import.span, message);
            problem.help = did_you_mean(&path, names);
            self.problems.push(problem);
            return;
        };
        match &import.what {
            Imported::Everything => self.scope.open_modules.push(found),
            Imported::Module(alias) => self.scope.named_modules.push((alias.clone(), found)),
            Imported::Names(names) => {
                for (name, alias) in names {
                    match export(found, &name.text) {
                        Some(bound) => self.scope.bind(alias.clone(), bound),
                        None => self.unknown_import(&path, name, found),
                    }
                }
            }
        }
    }

    fn unknown_import(&mut self, path: &str, name: &Name, module: &super::super::library::Module) {
        if let Some(reason) = refusal(path, &name.text) {
            self.error(Code::Refused, name.span, reason);
            return;
        }
        // Types of modules are checked by structure, so importing their names has no effect.
        if name.text.starts_with(char::is_uppercase) {
            self.scope.bind(name.text.clone(), Binding::TypeParam);
            return;
        }
        let message = format!("`{path}` has no function `{}`", name.text);
        let mut problem = Problem::error(Code::UnknownName, name.span, message);
        problem.help = did_you_mean(&name.text, module.names());
        self.problems.push(problem);
    }

    pub(super) fn declare_types(&mut self, directives: &[Directive]) {
        let first = self.types.len();
        let mut next = first;
        for directive in directives {
            if let Directive::Type { name, .. } = directive {
                self.scope.bind(name.text.clone(), Binding::Type(next));
                next += 1;
                let placeholder = super::super::types::Type::new(super::super::types::Shape::Any);
                self.types.push(std::sync::Arc::new(placeholder));
            }
        }
        let mut at = first;
        for directive in directives {
            if let Directive::Type { name, params, target } = directive {
                let mark = self.scope.mark();
                for param in params {
                    self.scope.bind(param.clone(), Binding::TypeParam);
                }
                let mut declared = (*self.lower_type(target)).clone();
                declared.name = Some(name.text.clone());
                self.scope.restore(mark);
                if let Some(position) = self.types.get_mut(at) {
                    *position = std::sync::Arc::new(declared);
                }
                at += 1;
            }
        }
    }

    /// Creates the set of every function first, so that bodies can call all of them.
    pub(super) fn declare_functions<'e>(
        &mut self,
        directives: &'e [Directive],
    ) -> Vec<PendingFunction<'e>> {
        let mut pending = Vec::new();
        let mut names: Vec<(Text, SetId)> = Vec::new();
        for directive in directives {
            let Directive::Fun { name, type_params, lambda } = directive else { continue };
            self.check_defaults(lambda);
            let known = names.iter().find(|(known, _)| *known == name.text).map(|(_, set)| *set);
            let set = known.unwrap_or_else(|| {
                let set = self.new_set(name);
                names.push((name.text.clone(), set));
                self.scope.bind(name.text.clone(), Binding::Set(set));
                set
            });
            let callback = self.callback_of(lambda);
            if let Some(position) = self.callbacks.get_mut(set.0) {
                *position = position.or(callback);
            }
            pending.push(PendingFunction { set, type_params, lambda });
        }
        pending
    }

    fn new_set(&mut self, name: &Name) -> SetId {
        let captured = self.scope.frame.slots;
        let set = FunctionSet { name: name.text.clone(), overloads: Vec::new(), captured };
        self.sets.push(set);
        self.callbacks.push(None);
        SetId(self.sets.len() - 1)
    }

    /// Parameters with defaults must be at one end, so that it is unambiguous which are left out.
    fn check_defaults(&mut self, lambda: &LambdaExpr) {
        let has: Vec<bool> = lambda.params.iter().map(|param| param.default.is_some()).collect();
        let changes = has.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if changes > 1 {
            let span = lambda.params.first().map_or_else(Span::default, |param| param.name.span);
            let message = "parameters with defaults are all first or all last";
            self.error(Code::Arguments, span, message);
        }
    }

    /// The number of arguments of the second parameter, if that is a function.
    fn callback_of(&self, lambda: &LambdaExpr) -> Option<usize> {
        let kind = lambda.params.get(1)?.kind.as_ref()?;
        match &kind.kind {
            TypeExprKind::Function { params, .. } => Some(params.len()),
            TypeExprKind::Named { name, .. } => match self.scope.find(&name.text) {
                Some(Binding::Type(index)) => match &self.types.get(*index)?.shape {
                    super::super::types::Shape::Function { params, .. } => Some(params.len()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn compile_functions(&mut self, pending: Vec<PendingFunction<'_>>) {
        for PendingFunction { set, type_params, lambda } in pending {
            let mark = self.scope.mark();
            for param in type_params {
                self.scope.bind(param.clone(), Binding::TypeParam);
            }
            let outer = self.current.replace(set);
            let id = self.lambda(lambda, lambda.params.len());
            self.current = outer;
            self.scope.restore(mark);
            if let Some(set) = self.sets.get_mut(set.0) {
                set.overloads.push(id);
            }
        }
    }

    /// `do { … }` and `using (…)`. Variables get their slots first, so that functions of the block
    /// capture all of them.
    pub(super) fn block(
        &mut self,
        directives: &[Directive],
        body: &Expr,
        span: Span,
        tail: bool,
    ) -> Node {
        let mark = self.scope.mark();
        self.declare_modules(directives);
        self.declare_types(directives);
        let is_variable = |directive: &&Directive| match directive {
            Directive::Var { value, .. } => !super::structure::is_lambda(value),
            _ => false,
        };
        let first = self.scope.frame.slots;
        let variables = directives.iter().filter(is_variable).count();
        self.scope.frame.slots += variables;
        let functions = self.declare_functions(directives);
        let recursive = self.declare_lambda_variables(directives);
        for directive in directives.iter().filter(is_variable) {
            if let Directive::Var { name, .. } = directive {
                self.scope.bind(name.text.clone(), Binding::NotYetDeclared);
            }
        }
        let mut steps = Vec::new();
        for directive in directives.iter().filter(is_variable) {
            if let Directive::Var { name, value } = directive {
                let node = self.expression(value);
                let slot = first + steps.len();
                self.scope.bind(name.text.clone(), Binding::Slot(slot));
                steps.push((slot - self.scope.frame.captured, node));
            }
        }
        self.compile_functions(functions);
        self.compile_functions(recursive);
        let body = if tail { self.tail(body) } else { self.expression(body) };
        self.scope.restore(mark);
        Self::node(Op::Block { variables, steps, body: Box::new(body) }, span)
    }

    /// A variable whose value is a function: it can call itself.
    fn declare_lambda_variables<'e>(
        &mut self,
        directives: &'e [Directive],
    ) -> Vec<PendingFunction<'e>> {
        let mut pending = Vec::new();
        for directive in directives {
            if let Directive::Var { name, value } = directive
                && let ExprKind::Lambda(lambda) = &*value.ungrouped().kind
            {
                let set = self.new_set(name);
                self.scope.bind(name.text.clone(), Binding::Set(set));
                pending.push(PendingFunction { set, type_params: &[], lambda });
            }
        }
        pending
    }
}
