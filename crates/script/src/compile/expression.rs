//! Expressions: each leaves one value on the stack.

use super::builder::{FunctionBuilder, JumpPatch};
use super::op::Op;
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, LogicalOp, Prop, PropKey, UnaryOp};
use crate::check::NameUse;
use crate::lex::Number;
use crate::library::{Global, Member, member};
use crate::vm::Value;

impl FunctionBuilder<'_, '_> {
    /// Dispatch only.
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Null => self.emit(Op::Null),
            ExprKind::Bool(value) => self.emit(Op::Bool(*value)),
            ExprKind::Number(number) => self.number(*number),
            ExprKind::Text(text) => {
                let text = self.shared.text(text);
                self.emit(Op::Const(text));
            }
            ExprKind::Template { texts, values } => self.template(expr, texts, values),
            ExprKind::Name(_) => self.name(expr),
            ExprKind::This => self.this(expr),
            ExprKind::Regex { source, flags } => {
                let (source, flags) = (self.shared.text(source), self.shared.text(flags));
                self.at(expr.span.start);
                self.emit(Op::NewRegex { source, flags });
            }
            ExprKind::Array(elements) => self.list(elements),
            ExprKind::Object(props) => self.record(props),
            ExprKind::Function(function) => self.closure(function),
            ExprKind::Unary { op, operand } => self.unary(expr, *op, operand),
            ExprKind::Update { target, add, prefix } => {
                self.update(expr.span.start, target, *add, *prefix);
            }
            ExprKind::Binary { op, left, right } => {
                self.expr(left);
                if let Some(op) = with_small(*op, right) {
                    self.at(left.span.start);
                    return self.emit(op);
                }
                self.expr(right);
                self.at(left.span.start);
                self.emit(binary(*op));
            }
            ExprKind::Logical { op, left, right } => {
                self.expr(left);
                let over = self.jump(short_circuit_op(*op));
                self.expr(right);
                self.patch_here(over);
            }
            ExprKind::Ternary { test, then, otherwise } => {
                let no = self.jump_unless(test);
                let height = self.stack_height();
                self.expr(then);
                let over = self.jump(Op::Jump(0));
                self.patch_here(no);
                self.set_stack_height(height);
                self.expr(otherwise);
                self.patch_here(over);
            }
            ExprKind::Assign { target, op, value } => {
                self.assign(target, *op, value, true);
            }
            ExprKind::Member { .. } | ExprKind::Index { .. } => self.access(expr, &mut Vec::new()),
            ExprKind::Call { .. } => self.call(expr, &mut Vec::new()),
            ExprKind::Chain(inner) => self.chain(inner),
            ExprKind::Await(operand) => {
                self.expr(operand);
                self.emit_suspension_point(expr.span.start, Op::Await);
            }
            ExprKind::New { .. } => self.construct(expr),
            ExprKind::Class(class) => self.class(class, None),
            ExprKind::Sequence(all) => {
                for (index, item) in all.iter().enumerate() {
                    if index + 1 == all.len() {
                        self.expr(item);
                    } else {
                        self.expr_for_effect(item);
                    }
                }
            }
            ExprKind::Tagged { tag, texts, raws, values, at } => {
                self.tagged(tag, texts, raws, values, *at);
            }
            ExprKind::SuperCall { args, paren } => self.super_call(expr, args, *paren),
            ExprKind::SuperMember(name) => self.super_member(expr.span.start, name),
            ExprKind::HasPrivate { name, object } => {
                self.expr(object);
                let name = self.private_text(name);
                self.at(expr.span.start);
                self.emit(Op::HasPrivate(name));
            }
            ExprKind::Bad => self.emit(Op::Undefined),
        }
    }

    /// Evaluates only for the side effect: leaves nothing on the stack.
    pub(super) fn expr_for_effect(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Assign { target, op, value } => self.assign(target, *op, value, false),
            ExprKind::Update { target, add, .. } if self.increment(target, *add) => {}
            _ => {
                self.expr(expr);
                self.emit(Op::Pop);
            }
        }
    }

    fn number(&mut self, number: Number) {
        match number {
            Number::Int(value) => {
                if let Ok(small) = i32::try_from(value) {
                    self.emit(Op::Int(small));
                } else {
                    let id = self.shared.constant(Value::Int(value));
                    self.emit(Op::Const(id));
                }
            }
            Number::Float(value) => {
                let id = self.shared.constant(Value::Float(value));
                self.emit(Op::Const(id));
            }
        }
    }

    fn template(&mut self, expr: &Expr, texts: &[std::sync::Arc<str>], values: &[Expr]) {
        let mut count = 0;
        let mut values = values.iter();
        for text in texts {
            if !text.is_empty() {
                let text = self.shared.text(text);
                self.emit(Op::Const(text));
                count += 1;
            }
            if let Some(value) = values.next() {
                self.expr(value);
                count += 1;
            }
        }
        self.at(expr.span.start);
        self.emit(Op::Join(count));
    }

    fn name(&mut self, expr: &Expr) {
        match self.shared.analysis.at(expr.span) {
            Some(NameUse::Decl(id)) => self.load(id),
            Some(NameUse::Global(Global::Function(function))) => {
                let id = self.shared.constant(Value::Builtin(function));
                self.emit(Op::Const(id));
            }
            Some(NameUse::Global(Global::Number(value))) => self.number(Number::Float(value)),
            _ => self.emit(Op::Undefined),
        }
    }

    pub(super) fn list(&mut self, elements: &[Arg]) {
        self.emit(Op::NewList);
        for element in elements {
            self.expr(&element.value);
            self.at(element.value.span.start);
            self.emit(if element.spread { Op::AppendAll } else { Op::Append });
        }
    }

    fn record(&mut self, props: &[Prop]) {
        self.emit(Op::NewRecord);
        for prop in props {
            match prop {
                Prop::Pair { key: PropKey::Name(name, _), value } => {
                    self.expr(value);
                    let name = self.shared.text(name);
                    self.emit(Op::Put(name));
                }
                Prop::Pair { key: PropKey::Computed(key), value } => {
                    self.expr(key);
                    self.expr(value);
                    self.at(key.span.start);
                    self.emit(Op::PutComputed);
                }
                Prop::Pair { key: PropKey::Private(_), .. } => {}
                Prop::Accessor { key, accessor, function } => {
                    self.literal_accessor(key, *accessor, function);
                }
                Prop::Short { name, .. } => {
                    match self.shared.analysis.at(name.span) {
                        Some(NameUse::Decl(id)) => self.load(id),
                        _ => self.emit(Op::Undefined),
                    }
                    let name = self.shared.text(&name.name);
                    self.emit(Op::Put(name));
                }
                Prop::Spread(value) => {
                    self.expr(value);
                    self.at(value.span.start);
                    self.emit(Op::PutAll);
                }
            }
        }
    }

    fn unary(&mut self, expr: &Expr, op: UnaryOp, operand: &Expr) {
        if op == UnaryOp::Delete {
            return self.delete(operand);
        }
        if let (UnaryOp::Minus, ExprKind::Number(number)) = (op, &operand.kind) {
            let negated = match number {
                Number::Int(0) => Number::Float(-0.0),
                Number::Int(value) => Number::Int(-value),
                Number::Float(value) => Number::Float(-value),
            };
            return self.number(negated);
        }
        self.expr(operand);
        self.at(expr.span.start);
        if op == UnaryOp::Void {
            self.emit(Op::Pop);
            return self.emit(Op::Undefined);
        }
        self.emit(match op {
            UnaryOp::BitNot => Op::BitNot,
            UnaryOp::Minus => Op::Negate,
            UnaryOp::Plus => Op::Plus,
            UnaryOp::Not => Op::Not,
            UnaryOp::Typeof | UnaryOp::Delete | UnaryOp::Void => Op::Typeof,
        });
    }

    fn delete(&mut self, operand: &Expr) {
        match &operand.kind {
            ExprKind::Member { object, name, .. } => {
                self.expr(object);
                let name_id = self.shared.text(&name.name);
                self.at(name.span.start);
                self.emit(Op::Delete(name_id));
            }
            ExprKind::Index { object, index, .. } => {
                self.expr(object);
                self.expr(index);
                self.at(operand.span.start);
                self.emit(Op::DeleteIndex);
            }
            _ => self.emit(Op::Bool(true)),
        }
    }

    /// A property or an index; `exits` collects the jumps that leave an optional chain.
    pub(super) fn access(&mut self, expr: &Expr, exits: &mut Vec<JumpPatch>) {
        match &expr.kind {
            ExprKind::Member { object, name, optional } => {
                if let Some(found) = self.library_member(object, &name.name) {
                    return self.constant_member(found);
                }
                self.link(object, exits);
                if *optional {
                    exits.push(self.jump(Op::JumpIfNothing(0)));
                }
                let id = self.member_text(name);
                self.at(name.span.start);
                self.emit(Op::Get(id));
            }
            ExprKind::Index { object, index, optional } => {
                self.link(object, exits);
                if *optional {
                    exits.push(self.jump(Op::JumpIfNothing(0)));
                }
                self.expr(index);
                self.at(index.span.start);
                self.emit(Op::GetIndex);
            }
            _ => self.expr(expr),
        }
    }

    /// The object of a link, which may itself be a link of the same chain.
    pub(super) fn link(&mut self, object: &Expr, exits: &mut Vec<JumpPatch>) {
        match &object.kind {
            ExprKind::Member { .. } | ExprKind::Index { .. } => self.access(object, exits),
            ExprKind::Call { .. } => self.call(object, exits),
            _ => self.expr(object),
        }
    }

    fn chain(&mut self, inner: &Expr) {
        let mut exits = Vec::new();
        self.link(inner, &mut exits);
        self.patch_all_here(exits);
    }

    /// The library member, if the object is a library name.
    pub(super) fn library_member(&self, object: &Expr, name: &str) -> Option<Member> {
        let ExprKind::Name(namespace) = &object.kind else { return None };
        match self.shared.analysis.at(object.span)? {
            NameUse::Global(_) => member(namespace, name),
            NameUse::Decl(_) => None,
        }
    }

    fn constant_member(&mut self, found: Member) {
        let value = match found {
            Member::Function(function) => Value::Builtin(function),
            Member::Int(value) => Value::Int(value),
            Member::Float(value) => Value::Float(value),
            Member::InstanceId => return self.emit(Op::InstanceId),
            Member::InstanceKey => return self.emit(Op::InstanceKey),
        };
        let id = self.shared.constant(value);
        self.emit(Op::Const(id));
    }

    /// `name < constant` for a local variable that is not shared, as one operation.
    fn counts_up(&self, test: &Expr) -> Option<Op> {
        let ExprKind::Binary { op: BinaryOp::Lt, left, right } = &test.kind else { return None };
        let ExprKind::Number(Number::Int(limit)) = right.kind else { return None };
        let slot = self.plain_local(left)?;
        Some(Op::JumpIfBelow { slot, limit: i32::try_from(limit).ok()?, to: 0 })
    }

    /// The slot of a local variable that no inner function shares.
    pub(super) fn plain_local(&self, expr: &Expr) -> Option<u32> {
        let ExprKind::Name(_) = expr.kind else { return None };
        let id = self.shared.analysis.decl(expr.span)?;
        self.locals.get(&id).copied().filter(|_| !self.is_captured(id))
    }

    /// Jumps if a condition is false.
    pub(super) fn jump_unless(&mut self, test: &Expr) -> JumpPatch {
        if let ExprKind::Binary { op, left, right } = &test.kind
            && let Some(jump) = jump_if_not_op(*op)
        {
            self.expr(left);
            self.expr(right);
            self.at(left.span.start);
            return self.jump(jump);
        }
        self.expr(test);
        self.jump(Op::JumpIfFalse(0))
    }

    /// Jumps back to a known position if a condition is true.
    pub(super) fn jump_back_if(&mut self, test: &Expr, target: u32) {
        if let Some(op) = self.counts_up(test) {
            self.at(test.span.start);
            return self.emit(op.to(target));
        }
        if let ExprKind::Binary { op, left, right } = &test.kind
            && let Some(jump) = compare(Some(*op))
        {
            self.expr(left);
            self.expr(right);
            self.at(left.span.start);
            return self.emit(jump.to(target));
        }
        self.expr(test);
        self.emit(Op::JumpIfTrue(target));
    }
}

/// Operations with a small number as right operand.
fn with_small(op: BinaryOp, right: &Expr) -> Option<Op> {
    let ExprKind::Number(Number::Int(value)) = right.kind else { return None };
    match op {
        BinaryOp::Add => i8::try_from(value).ok().map(Op::AddInt),
        BinaryOp::Sub if value > 0 => i8::try_from(-value).ok().map(Op::AddInt),
        BinaryOp::Rem => i32::try_from(value).ok().filter(|it| *it != 0).map(Op::RemInt),
        _ => None,
    }
}

/// Comparisons that are one operation together with their jump.
fn compare(op: Option<BinaryOp>) -> Option<Op> {
    Some(match op? {
        BinaryOp::Lt => Op::JumpIfLt(0),
        BinaryOp::Le => Op::JumpIfLe(0),
        BinaryOp::Gt => Op::JumpIfGt(0),
        BinaryOp::Ge => Op::JumpIfGe(0),
        BinaryOp::Eq => Op::JumpIfEq(0),
        BinaryOp::Ne => Op::JumpIfNe(0),
        BinaryOp::StrictEq => Op::JumpIfStrictEq(0),
        BinaryOp::StrictNe => Op::JumpIfStrictNe(0),
        _ => return None,
    })
}

/// A jump if a comparison is false. With NaN both `<` and `>=` are false, so ordered comparisons
/// need their own jumps.
fn jump_if_not_op(op: BinaryOp) -> Option<Op> {
    Some(match op {
        BinaryOp::Lt => Op::JumpUnlessLt(0),
        BinaryOp::Le => Op::JumpUnlessLe(0),
        BinaryOp::Gt => Op::JumpUnlessGt(0),
        BinaryOp::Ge => Op::JumpUnlessGe(0),
        BinaryOp::Eq => Op::JumpIfNe(0),
        BinaryOp::Ne => Op::JumpIfEq(0),
        BinaryOp::StrictEq => Op::JumpIfStrictNe(0),
        BinaryOp::StrictNe => Op::JumpIfStrictEq(0),
        _ => return None,
    })
}

pub(super) const fn binary(op: BinaryOp) -> Op {
    match op {
        BinaryOp::Add => Op::Add,
        BinaryOp::Sub => Op::Sub,
        BinaryOp::Mul => Op::Mul,
        BinaryOp::Div => Op::Div,
        BinaryOp::Rem => Op::Rem,
        BinaryOp::Pow => Op::Pow,
        BinaryOp::Eq => Op::Eq,
        BinaryOp::Ne => Op::Ne,
        BinaryOp::StrictEq => Op::StrictEq,
        BinaryOp::StrictNe => Op::StrictNe,
        BinaryOp::Lt => Op::Lt,
        BinaryOp::Le => Op::Le,
        BinaryOp::Gt => Op::Gt,
        BinaryOp::Ge => Op::Ge,
        BinaryOp::In => Op::In,
        BinaryOp::InstanceOf => Op::InstanceOf,
        BinaryOp::BitAnd => Op::BitAnd,
        BinaryOp::BitOr => Op::BitOr,
        BinaryOp::BitXor => Op::BitXor,
        BinaryOp::ShiftLeft => Op::ShiftLeft,
        BinaryOp::ShiftRight => Op::ShiftRight,
        BinaryOp::ShiftRightUnsigned => Op::ShiftRightUnsigned,
    }
}

pub(super) const fn short_circuit_op(op: LogicalOp) -> Op {
    match op {
        LogicalOp::And => Op::JumpIfFalseKeep(0),
        LogicalOp::Or => Op::JumpIfTrueKeep(0),
        LogicalOp::Nullish => Op::JumpIfPresentKeep(0),
    }
}
