//! Arrays, objects, texts, selectors.

use meantime_value::{Namespace, Text, Value};

use super::super::diagnostic::Code;
use super::super::program::{
    ItemNode, KeyNode, Lambda, LambdaId, MemberNode, NameNode, Node, Op, ParamNode, SelectorNode,
};
use super::super::syntax::{
    Expr, ExprKind, InterpolationPart, Item, KeyExpr, KeyName, LambdaExpr, Member, Name, Selector,
};
use super::compiler::Compiler;
use super::scope::Binding;

/// The names of implicit parameters.
const IMPLICIT_PARAMETERS: &[&str] = &["$", "$$", "$$$"];

/// Whether the expression is a function literal.
pub(super) fn is_lambda(expr: &Expr) -> bool {
    matches!(&*expr.ungrouped().kind, ExprKind::Lambda(_))
}

impl Compiler<'_> {
    pub(super) fn interpolation(&mut self, pieces: &[InterpolationPart]) -> Vec<Node> {
        let piece = |compiler: &mut Self, piece: &InterpolationPart| match piece {
            InterpolationPart::Text(text) => {
                Self::constant(Value::Text(text.clone()), <_>::default())
            }
            InterpolationPart::Expr(expr) => compiler.expression(expr),
        };
        pieces.iter().map(|each| piece(self, each)).collect()
    }

    pub(super) fn items(&mut self, items: &[Item]) -> Vec<ItemNode> {
        let item = |item: &Item| ItemNode {
            value: self.expression(&item.value),
            condition: item.condition.as_ref().map(|condition| self.expression(condition)),
        };
        items.iter().map(item).collect()
    }

    pub(super) fn members(&mut self, members: &[Member]) -> Vec<MemberNode> {
        members.iter().map(|member| self.member(member)).collect()
    }

    fn member(&mut self, member: &Member) -> MemberNode {
        match member {
            Member::Splice(expr) => MemberNode::Splice(self.expression(expr)),
            Member::Pair { key, value, condition } => MemberNode::Pair {
                key: self.key(key),
                value: self.expression(value),
                condition: condition.as_ref().map(|condition| self.expression(condition)),
            },
        }
    }

    fn key(&mut self, key: &KeyExpr) -> KeyNode {
        KeyNode {
            namespace: key.namespace.as_ref().and_then(|name| self.namespace(name)),
            name: self.key_name(&key.name),
            attributes: self.members(&key.attributes),
        }
    }

    fn key_name(&mut self, name: &KeyName) -> NameNode {
        match name {
            KeyName::Plain(text) => NameNode::Plain(text.clone()),
            KeyName::Dynamic(expr) => NameNode::Dynamic(self.expression(expr)),
        }
    }

    pub(super) fn namespace(&mut self, name: &Name) -> Option<Namespace> {
        if let Some(Binding::Namespace(namespace)) = self.scope.find(&name.text) {
            return Some(namespace.clone());
        }
        let message = format!("there is no namespace `{}`: declare it with `ns`", name.text);
        self.error(Code::UnknownName, name.span, message);
        None
    }

    pub(super) fn selector(&mut self, selector: &Selector) -> SelectorNode {
        match selector {
            Selector::Field { reach, what, namespace, name } => SelectorNode::Field {
                reach: *reach,
                what: *what,
                namespace: namespace.as_ref().and_then(|name| self.namespace(name)),
                name: self.key_name(name),
            },
            Selector::All(part) => SelectorNode::All(*part),
            Selector::Descendants => SelectorNode::Descendants,
            Selector::Index(expr) => SelectorNode::Index(self.expression(expr)),
            Selector::Filter(expr) => SelectorNode::Filter(self.implicit_lambda(expr, 2)),
            Selector::Exists => SelectorNode::Exists,
            Selector::Required => SelectorNode::Required,
        }
    }

    /// A function with the parameters `$`, `$$` and `$$$`.
    pub(super) fn implicit_lambda(&mut self, body: &Expr, arity: usize) -> LambdaId {
        let names = IMPLICIT_PARAMETERS.iter().take(arity).map(|name| Text::from(*name));
        self.function(names.collect(), |compiler| compiler.expression(body))
    }

    /// A function literal that will be called with this number of arguments.
    pub(super) fn lambda(&mut self, lambda: &LambdaExpr, arity: usize) -> LambdaId {
        // Defaults and types are evaluated in the enclosing scope.
        let mut params: Vec<ParamNode> = Vec::new();
        for param in &lambda.params {
            params.push(ParamNode {
                name: param.name.text.clone(),
                kind: param.kind.as_ref().map(|kind| self.lower_type(kind)),
                default: param.default.as_ref().map(|default| self.expression(default)),
            });
        }
        let is_own = self.current.is_some();
        let mut names: Vec<Text> = params.iter().map(|param| param.name.clone()).collect();
        // Parameters that the function does not name get slots as well.
        names.extend(
            IMPLICIT_PARAMETERS.iter().take(arity).skip(names.len()).map(|name| Text::from(*name)),
        );
        let id = self.function(names, |compiler| {
            if is_own { compiler.tail(&lambda.body) } else { compiler.expression(&lambda.body) }
        });
        if let Some(Some(compiled)) = self.lambdas.get_mut(id.0) {
            for (index, param) in compiled.params.iter_mut().zip(params) {
                *index = param;
            }
        }
        id
    }

    /// Compiles a body in a new frame with these parameters.
    pub(super) fn function(
        &mut self,
        params: Vec<Text>,
        body: impl FnOnce(&mut Self) -> Node,
    ) -> LambdaId {
        let id = LambdaId(self.lambdas.len());
        self.lambdas.push(None);
        let mark = self.scope.mark();
        self.scope.enter_function();
        let captured = self.scope.frame.captured;
        for param in &params {
            self.scope.bind_slot(param.clone());
        }
        let body = body(self);
        self.scope.restore(mark);
        let params =
            params.into_iter().map(|name| ParamNode { name, kind: None, default: None }).collect();
        if let Some(index) = self.lambdas.get_mut(id.0) {
            *index = Some(Lambda { params, body, captured });
        }
        id
    }

    /// The operation that reads a slot from the current function.
    pub(super) fn slot(&self, slot: usize) -> Op {
        match slot.checked_sub(self.scope.frame.captured) {
            Some(local) => Op::Local(local),
            None => Op::Captured(slot),
        }
    }
}
