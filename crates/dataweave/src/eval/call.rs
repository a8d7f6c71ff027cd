//! Calls of library functions, declared functions and function values.

use std::sync::Arc;

use meantime_value::{Kind, Value};

use super::super::library::{Args, Native};
use super::super::program::{Lambda, LambdaId, Node, SetId};
use super::fault::{Fault, FaultCode, Result};
use super::function::{Function, PartialCall};
use super::machine::{Eval, Frame};

impl Eval<'_> {
    pub(super) fn eval_native(
        &mut self,
        native: &'static Native,
        nodes: &[Node],
        frame: Frame<'_>,
    ) -> Result {
        let mut args = Args::default();
        for node in nodes {
            args.push(self.eval(node, frame)?);
        }
        self.call_native(native, args)
    }

    pub(super) fn eval_set(
        &mut self,
        set: SetId,
        nodes: &[Node],
        tail: bool,
        frame: Frame<'_>,
    ) -> Result {
        let mut args = Vec::with_capacity(nodes.len());
        for node in nodes {
            args.push(self.eval(node, frame)?);
        }
        if tail {
            self.tail = Some(args);
            return Ok(Value::Null);
        }
        let captured = self.captured_values(self.set_captures(set), frame);
        self.call_set(set, &captured, args)
    }

    pub(super) fn eval_call(&mut self, callee: &Node, nodes: &[Node], frame: Frame<'_>) -> Result {
        let callee = self.eval(callee, frame)?;
        let mut args = Vec::with_capacity(nodes.len());
        for node in nodes {
            args.push(self.eval(node, frame)?);
        }
        self.call(&callee, &mut args)
    }

    pub(super) fn set_value(&mut self, set: SetId, frame: Frame<'_>) -> Result {
        let captured = self.captured_values(self.set_captures(set), frame);
        let depth = Function::captured_depth(&captured);
        Self::nested(Function::Set { id: set, captured, depth }.into_value())
    }

    pub(super) fn lambda_value(&mut self, id: LambdaId, frame: Frame<'_>) -> Result {
        let count = self.code.lambdas.get(id.0).map_or(0, |lambda| lambda.captured);
        let captured = self.captured_values(count, frame);
        let depth = Function::captured_depth(&captured);
        Self::nested(Function::Lambda { id, captured, depth }.into_value())
    }

    fn set_captures(&self, set: SetId) -> usize {
        self.code.sets.get(set.0).map_or(0, |set| set.captured)
    }

    /// The first slots of the current frame.
    pub(super) fn captured_values(&self, count: usize, frame: Frame<'_>) -> Arc<[Value]> {
        if count == 0 {
            return Arc::default();
        }
        let own = self.stack.get(frame.base..).unwrap_or_default();
        frame.captured.iter().chain(own).take(count).cloned().collect()
    }

    /// Calls a value; the arguments are moved out.
    pub(crate) fn call(&mut self, callee: &Value, args: &mut [Value]) -> Result {
        match Function::from_value(callee) {
            Some(Function::Lambda { id, captured, .. }) => self.call_lambda(*id, captured, args),
            Some(Function::Native(native)) => {
                let native: &'static Native = native;
                let mut taken = Args::default();
                for arg in args {
                    taken.push(std::mem::take(arg));
                }
                self.call_native(native, taken)
            }
            Some(Function::Set { id, captured, .. }) => {
                let args = args.iter_mut().map(std::mem::take).collect();
                self.call_set(*id, captured, args)
            }
            Some(Function::Partial(waiting)) => self.call_partial(waiting, args),
            None => Err(Fault::expected(Kind::Function, callee)),
        }
    }

    fn call_partial(&mut self, waiting: &PartialCall, args: &mut [Value]) -> Result {
        let [last] = args else {
            return Err(Fault::type_error(format!("`{}` waits for `with`", waiting.name)));
        };
        let mut all = Args::default();
        waiting.args.iter().for_each(|arg| all.push(arg.clone()));
        all.push(std::mem::take(last));
        (waiting.run)(self, &mut all)
    }

    fn call_lambda(&mut self, id: LambdaId, captured: &[Value], args: &mut [Value]) -> Result {
        let code = self.code;
        let lambda = Self::lambda(code, id)?;
        if args.len() != lambda.params.len() || lambda.params.iter().any(|p| p.kind.is_some()) {
            return self.call_bound(lambda, captured, args);
        }
        let base = self.stack.len();
        self.stack.extend(args.iter_mut().map(std::mem::take));
        self.run_body(lambda, captured, base)
    }

    /// A call that needs defaults or type checks.
    fn call_bound(&mut self, lambda: &Lambda, captured: &[Value], args: &mut [Value]) -> Result {
        if !takes(lambda, args.len()) {
            return Err(wrong_count("the function", lambda, args.len()));
        }
        let base = self.stack.len();
        let bound = self.bind(lambda, captured, args, true);
        let Some(values) = bound? else {
            return Err(Self::no_overload("the function", &[lambda], args));
        };
        self.stack.extend(values);
        self.run_body(lambda, captured, base)
    }

    fn run_body(&mut self, lambda: &Lambda, captured: &[Value], base: usize) -> Result {
        let entered = self.enter();
        let result = match entered {
            Ok(()) => self.eval(&lambda.body, Frame { captured, base }),
            Err(fault) => Err(fault),
        };
        self.calls = self.calls.saturating_sub(1);
        self.stack.truncate(base);
        result
    }

    fn enter(&mut self) -> Result<()> {
        self.calls += 1;
        if self.calls > self.budget.calls {
            let message = format!("functions call each other deeper than {}", self.budget.calls);
            let help = "let the recursive call be the last thing the function does";
            return Err(Fault::limit(message).with_help(help));
        }
        Ok(())
    }

    /// Calls the first overload that accepts the arguments, and repeats while it ends in a call of
    /// itself.
    pub(super) fn call_set(
        &mut self,
        set: SetId,
        captured: &[Value],
        mut args: Vec<Value>,
    ) -> Result {
        let code = self.code;
        let Some(functions) = code.sets.get(set.0) else {
            return Err(Fault::type_error("there is no such function"));
        };
        let mut overloads = Vec::with_capacity(functions.overloads.len());
        for id in &functions.overloads {
            overloads.push(Self::lambda(code, *id)?);
        }
        loop {
            let (lambda, values) = self.choose(&functions.name, &overloads, captured, &mut args)?;
            let base = self.stack.len();
            self.stack.extend(values);
            let value = self.run_body(lambda, captured, base)?;
            match self.tail.take() {
                Some(next) => args = next,
                None => return Ok(value),
            }
        }
    }

    fn choose<'l>(
        &mut self,
        name: &str,
        overloads: &[&'l Lambda],
        captured: &[Value],
        args: &mut [Value],
    ) -> Result<(&'l Lambda, Vec<Value>)> {
        if let [only] = overloads
            && !takes(only, args.len())
        {
            return Err(wrong_count(&format!("`{name}`"), only, args.len()));
        }
        for may_coerce in [false, true] {
            for lambda in overloads {
                if takes(lambda, args.len())
                    && let Some(values) = self.bind(lambda, captured, args, may_coerce)?
                {
                    return Ok((lambda, values));
                }
            }
        }
        Err(Self::no_overload(&format!("`{name}`"), overloads, args))
    }

    /// The default of a parameter, for library functions that start with it.
    pub(crate) fn default_of(&mut self, callee: &Value, index: usize) -> Result<Option<Value>> {
        let code = self.code;
        let (id, captured) = match Function::from_value(callee) {
            Some(Function::Lambda { id, captured, .. }) => (*id, captured),
            Some(Function::Set { id, captured, .. }) => {
                let first = code.sets.get(id.0).and_then(|set| set.overloads.first());
                let Some(first) = first else { return Ok(None) };
                (*first, captured)
            }
            _ => return Ok(None),
        };
        let lambda = Self::lambda(code, id)?;
        match lambda.params.get(index).and_then(|param| param.default.as_ref()) {
            Some(default) => {
                let frame = Frame { captured, base: self.stack.len() };
                self.eval(default, frame).map(Some)
            }
            None => Ok(None),
        }
    }

    pub(super) fn lambda(code: &super::super::program::Code, id: LambdaId) -> Result<&Lambda> {
        code.lambdas.get(id.0).ok_or_else(|| Fault::type_error("there is no such function"))
    }
}

pub(super) fn takes(lambda: &Lambda, count: usize) -> bool {
    (lambda.required()..=lambda.params.len()).contains(&count)
}

fn wrong_count(name: &str, lambda: &Lambda, count: usize) -> Fault {
    let (least, most) = (lambda.required(), lambda.params.len());
    let takes = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Fault::new(FaultCode::Type, format!("{name} takes {takes} arguments, not {count}"))
}
