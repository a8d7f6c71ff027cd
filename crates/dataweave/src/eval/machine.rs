//! The evaluator and its main dispatch.

use std::sync::Arc;

use jiff::Zoned;
use meantime_core::SplitMix64;
use meantime_value::{Array, Kind, Object, Text, Value, ValueSize, text};

use super::super::coerce;
use super::super::program::{Code, Node, Op};
use super::super::syntax::{BinaryOp, Span};
use super::super::types::{Type, TypeTable, is_instance_of};
use super::budget::{Budget, MAX_NESTING};
use super::fault::{Fault, Result};

/// Time and random seed of an evaluation.
#[derive(Debug, Clone)]
pub(crate) struct EvalInputs {
    pub(crate) now: Zoned,
    pub(crate) seed: u64,
}

/// Where the values of a running function are.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f> {
    pub(super) captured: &'f [Value],
    /// The index of its first own value on the stack.
    pub(super) base: usize,
}

/// One evaluation.
pub(crate) struct Eval<'p> {
    pub(super) code: &'p Code,
    pub(super) moment: &'p EvalInputs,
    pub(super) random: SplitMix64,
    pub(super) globals: Vec<Value>,
    pub(super) stack: Vec<Value>,
    pub(super) budget: Budget,
    pub(super) calls: u32,
    /// The arguments of a tail call, for the function that is about to return.
    pub(super) tail: Option<Vec<Value>>,
    /// The values passed to `log`.
    pub(super) log: Vec<(Text, Value)>,
}

impl<'p> Eval<'p> {
    pub(crate) fn new(code: &'p Code, moment: &'p EvalInputs, budget: Budget) -> Self {
        Self {
            code,
            moment,
            random: SplitMix64::new(moment.seed),
            globals: Vec::new(),
            stack: Vec::new(),
            budget,
            calls: 0,
            tail: None,
            log: Vec::new(),
        }
    }

    /// Runs the script with its inputs in the order of their declaration.
    pub(crate) fn run(&mut self, inputs: Vec<Value>) -> Result {
        let code = self.code;
        self.globals = inputs;
        let top = Frame { captured: &[], base: 0 };
        for variable in &code.variables {
            let value = self.eval(variable, top)?;
            self.globals.push(value);
        }
        self.eval(&code.body, top)
    }

    pub(crate) fn ops_left(&self) -> u64 {
        self.budget.ops
    }

    pub(crate) fn into_log(self) -> Vec<(Text, Value)> {
        self.log
    }

    pub(crate) fn types(&self) -> &'p TypeTable {
        &self.code.types
    }

    pub(crate) fn now(&self) -> &'p Zoned {
        &self.moment.now
    }

    pub(crate) fn random(&mut self) -> u64 {
        self.random.next_u64()
    }

    pub(crate) fn log(&mut self, prefix: Text, value: Value) {
        // The log needs no own limit: the operations limit its size.
        self.log.push((prefix, value));
    }

    /// The heights of the stacks, to be restored when a failure is caught.
    pub(crate) fn save(&self) -> (usize, u32) {
        (self.stack.len(), self.calls)
    }

    pub(crate) fn restore(&mut self, (stack, calls): &(usize, u32)) {
        self.stack.truncate(*stack);
        self.calls = *calls;
        self.tail = None;
    }

    /// A position in the source as text.
    pub(crate) fn location(&self, span: Option<Span>) -> String {
        let start = span.unwrap_or_default().start;
        let position = self.code.lines.position(&self.code.source, start as usize);
        format!("line {}, column {}", position.line, position.column)
    }

    /// Charges operations.
    pub(crate) fn charge(&mut self, ops: u64) -> Result<()> {
        self.budget.spend(ops)
    }

    /// The remaining operations, for code that counts by itself.
    pub(crate) fn ops(&mut self) -> &mut u64 {
        &mut self.budget.ops
    }

    /// Charges for visiting a whole value; shared parts are counted every time.
    pub(crate) fn charge_visit(&mut self, value: &Value) -> Result<()> {
        let extent = ValueSize::of(value, self.budget.ops);
        self.charge(extent.ops)
    }

    /// Charges for visiting two values at the same time: the smaller one limits the work.
    pub(crate) fn charge_pair_visit(&mut self, left: &Value, right: &Value) -> Result<()> {
        if is_small(left) || is_small(right) {
            return Ok(());
        }
        let most = ValueSize::of(left, self.budget.ops);
        let ops = ValueSize::of(right, most.ops).ops.min(most.ops);
        self.charge(ops)
    }

    /// Whether two values are equal; charged.
    pub(crate) fn same(&mut self, left: &Value, right: &Value) -> Result<bool> {
        self.charge_pair_visit(left, right)?;
        Ok(left == right)
    }

    /// Whether a value is of a type; charged, because a recursive type can need more steps than
    /// there are values.
    pub(crate) fn is_instance_of(&mut self, value: &Value, kind: &Arc<Type>) -> Result<bool> {
        let table = self.types();
        match is_instance_of(value, kind, table, &mut self.budget.ops) {
            Some(found) => Ok(found),
            None => {
                self.budget.ops = 0;
                self.charge(1).map(|()| false)
            }
        }
    }

    /// The characters of a text, each as a text; charged.
    pub(crate) fn units(&mut self, text: &str) -> Result<Vec<Text>> {
        self.charge(text.len() as u64)?;
        self.budget.allocate(text.len().saturating_mul(size_of::<Value>()))?;
        Ok(text::units(text))
    }

    /// A new text; charged.
    pub(crate) fn text(&mut self, text: impl Into<Text>) -> Result {
        let text = text.into();
        self.reserve_text(text.len())?;
        Ok(Value::Text(text))
    }

    /// Charges for a text of this size before it is created.
    pub(crate) fn reserve_text(&mut self, bytes: usize) -> Result<()> {
        self.budget.check_text(bytes)?;
        self.budget.allocate(bytes)
    }

    /// Rejects a text that grows beyond the limit.
    pub(crate) fn check_text(&self, bytes: usize) -> Result<()> {
        self.budget.check_text(bytes)
    }

    /// The size limit of one text, in bytes.
    pub(crate) fn text_limit(&self) -> usize {
        self.budget.text
    }

    /// A new array; charged.
    pub(crate) fn array(&mut self, items: Vec<Value>) -> Result {
        self.budget.allocate(items.len().saturating_mul(size_of::<Value>()))?;
        Self::nested(Value::array(items))
    }

    /// A new object; charged.
    pub(crate) fn object(&mut self, object: Object) -> Result {
        self.budget.allocate(object.len().saturating_mul(2 * size_of::<Value>()))?;
        Self::nested(Value::object(object))
    }

    pub(super) fn nested(value: Value) -> Result {
        if value.depth() > MAX_NESTING {
            return Err(Fault::limit(format!("data is nested deeper than {MAX_NESTING} levels")));
        }
        Ok(value)
    }

    /// The elements of an array or range.
    pub(crate) fn items(value: &Value) -> ItemIter {
        match value.bare() {
            Value::Array(items) => ItemIter::Array(std::sync::Arc::clone(items), 0),
            Value::Range(range) => ItemIter::Range(*range, 0),
            _ => ItemIter::Range(meantime_value::Range { from: 0, to: 0 }, 1),
        }
    }

    pub(super) fn eval(&mut self, node: &Node, frame: Frame<'_>) -> Result {
        self.budget.spend(1).map_err(|fault| fault.at(node.span))?;
        self.step(node, frame).map_err(|fault| fault.at(node.span))
    }

    /// Dispatch only; longer cases are separate functions, which keeps the stack frames of this
    /// recursion small.
    fn step(&mut self, node: &Node, frame: Frame<'_>) -> Result {
        match &node.op {
            Op::Constant(value) => Ok(value.clone()),
            Op::Global(index) => self.global(*index),
            Op::Local(index) => Ok(self.stack.get(frame.base + index).cloned().unwrap_or_default()),
            Op::Captured(index) => Ok(frame.captured.get(*index).cloned().unwrap_or_default()),
            Op::Interpolation(pieces) => self.interpolate(pieces, frame),
            Op::Array(items) => self.make_array(items, frame),
            Op::Object(members) => self.make_object(members, frame),
            Op::Select(target, selector) => self.select(target, selector, frame),
            Op::Native(native, args) => self.eval_native(native, args, frame),
            Op::CallSet { set, args, tail } => self.eval_set(*set, args, *tail, frame),
            Op::Call(callee, args) => self.eval_call(callee, args, frame),
            Op::SetValue(set) => self.set_value(*set, frame),
            Op::LambdaValue(lambda) => self.lambda_value(*lambda, frame),
            Op::Negate(operand) => self.negate(operand, frame),
            Op::Not(operand) => Ok(Value::Bool(!self.condition(operand, frame)?)),
            Op::Binary(operator, operands) => self.binary(*operator, operands, frame),
            Op::Append(operands) => self.append_nodes(operands, frame),
            Op::Remove(operands) => self.remove_nodes(operands, frame),
            Op::As { value, target, schema } => self.convert(value, target, schema, frame),
            Op::Is(value, target) => {
                let value = self.eval(value, frame)?;
                self.is_instance_of(&value, target).map(Value::Bool)
            }
            Op::Default(operands) => self.default(operands, frame),
            Op::If(parts) => {
                let (condition, then, otherwise) = &**parts;
                let branch = if self.condition(condition, frame)? { then } else { otherwise };
                self.eval(branch, frame)
            }
            Op::Block { variables, steps, body } => self.block(*variables, steps, body, frame),
            Op::Match(value, cases) => self.match_value(value, cases, frame),
            Op::Update(value, cases) => self.update(value, cases, frame),
            Op::SortWith(operands) => self.sort_with(operands, frame),
        }
    }

    fn global(&self, index: usize) -> Result {
        match self.globals.get(index) {
            Some(value) => Ok(value.clone()),
            None => Err(Fault::type_error("the variable has no value yet")
                .with_help("declare it before the variable that uses it")),
        }
    }

    /// A value that must be a boolean.
    pub(super) fn condition(&mut self, node: &Node, frame: Frame<'_>) -> Result<bool> {
        let value = self.eval(node, frame)?;
        coerce::to_boolean(&value).map_err(|_| Fault::expected(Kind::Boolean, &value).at(node.span))
    }

    fn binary(&mut self, operator: BinaryOp, operands: &(Node, Node), frame: Frame<'_>) -> Result {
        match operator {
            BinaryOp::And => {
                let both =
                    self.condition(&operands.0, frame)? && self.condition(&operands.1, frame)?;
                Ok(Value::Bool(both))
            }
            BinaryOp::Or => {
                let either =
                    self.condition(&operands.0, frame)? || self.condition(&operands.1, frame)?;
                Ok(Value::Bool(either))
            }
            _ => {
                let left = self.eval(&operands.0, frame)?;
                let right = self.eval(&operands.1, frame)?;
                self.operate(operator, left, right)
            }
        }
    }

    fn append_nodes(&mut self, operands: &(Node, Node), frame: Frame<'_>) -> Result {
        let left = self.eval(&operands.0, frame)?;
        let right = self.eval(&operands.1, frame)?;
        self.append(left, &right)
    }

    fn remove_nodes(&mut self, operands: &(Node, Node), frame: Frame<'_>) -> Result {
        let left = self.eval(&operands.0, frame)?;
        let right = self.eval(&operands.1, frame)?;
        self.remove_all(&left, &right)
    }

    fn sort_with(&mut self, operands: &(Node, Node), frame: Frame<'_>) -> Result {
        let items = self.eval(&operands.0, frame)?;
        let comparison = self.eval(&operands.1, frame)?;
        match items.bare() {
            Value::Null => Ok(Value::Null),
            Value::Array(_) | Value::Range(_) => self.sort_by_comparison(&items, &comparison),
            _ => Err(Fault::expected(Kind::Array, &items)),
        }
    }

    /// The fallback for null and for a conversion that fails.
    fn default(&mut self, operands: &(Node, Node), frame: Frame<'_>) -> Result {
        match self.eval(&operands.0, frame) {
            Ok(value) if !value.is_null() => Ok(value),
            Err(fault) if fault.code != super::FaultCode::Coercion => Err(fault),
            _ => self.eval(&operands.1, frame),
        }
    }

    fn block(
        &mut self,
        variables: usize,
        steps: &[(usize, Node)],
        body: &Node,
        frame: Frame<'_>,
    ) -> Result {
        let top = self.stack.len();
        self.stack.resize(top + variables, Value::Null);
        let result = self.block_steps(steps, body, frame);
        self.stack.truncate(top);
        result
    }

    fn block_steps(&mut self, steps: &[(usize, Node)], body: &Node, frame: Frame<'_>) -> Result {
        for (slot, node) in steps {
            let value = self.eval(node, frame)?;
            if let Some(index) = self.stack.get_mut(frame.base + slot) {
                *index = value;
            }
        }
        self.eval(body, frame)
    }
}

/// The elements of an array or range.
pub(crate) enum ItemIter {
    Array(std::sync::Arc<Array>, usize),
    Range(meantime_value::Range, u64),
}

impl Iterator for ItemIter {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        match self {
            Self::Array(items, next) => {
                let item = items.get(*next)?.clone();
                *next += 1;
                Some(item)
            }
            Self::Range(range, next) => {
                let item = range.get(*next)?;
                *next += 1;
                Some(Value::from(item))
            }
        }
    }
}

/// Whether visiting a value takes one step, whatever it is compared with.
fn is_small(value: &Value) -> bool {
    match value.bare() {
        Value::Text(text) | Value::Uri(text) => text.len() <= 64,
        Value::Array(_) | Value::Object(_) | Value::Binary(_) | Value::Foreign(_) => false,
        Value::Number(number) => matches!(number, meantime_value::Number::Int(_)),
        _ => true,
    }
}
