//! Chooses an overload: first without conversion, then with it.

use meantime_value::{Kind, Value};

use super::super::coerce;
use super::super::library::{Args, Native, Overload, Param};
use super::super::program::Lambda;
use super::super::types::Shape;
use super::call::takes;
use super::fault::{Fault, Result};
use super::function::Function;
use super::machine::{Eval, Frame};

/// Operations for compiling a regular expression at run time.
const OPS_PER_DYNAMIC_PATTERN: u64 = 100;

impl Eval<'_> {
    pub(crate) fn call_native(&mut self, native: &'static Native, mut args: Args) -> Result {
        let count = args.len();
        self.charge_call(&args)?;
        for overload in native.overloads {
            if overload.takes_count(count) && self.fits(overload, &args) {
                return (overload.run)(self, &mut args);
            }
        }
        for overload in native.overloads {
            if overload.takes_count(count)
                && let Some(mut coerced) = self.coerced(overload, &args)?
            {
                return (overload.run)(self, &mut coerced);
            }
        }
        Err(no_native(native, &args))
    }

    /// One operation for the call, and more for arguments that a function may visit completely.
    fn charge_call(&mut self, args: &Args) -> Result<()> {
        let mut ops = 1_u64;
        for arg in args.as_slice() {
            ops = ops.saturating_add(match arg.bare() {
                Value::Text(text) | Value::Uri(text) => text.len() as u64 / 64,
                Value::Binary(bytes) => bytes.len() as u64 / 64,
                Value::Number(number) => number.pair_ops(number),
                _ => 0,
            });
        }
        self.charge(ops)
    }

    fn fits(&self, overload: &Overload, args: &Args) -> bool {
        let pairs = overload.params.iter().zip(args.as_slice());
        pairs.into_iter().all(|(param, arg)| self.fits_param(*param, arg))
    }

    fn fits_param(&self, param: Param, arg: &Value) -> bool {
        param.takes(arg.kind())
            && match param.callback {
                Some(arity) => self.takes_arguments(arg, arity),
                None => true,
            }
    }

    /// Whether a function can be called with this number of arguments.
    fn takes_arguments(&self, function: &Value, count: usize) -> bool {
        match Function::from_value(function) {
            Some(Function::Lambda { id, .. }) => {
                self.code.lambdas.get(id.0).is_some_and(|lambda| takes(lambda, count))
            }
            Some(Function::Set { id, .. }) => {
                let overloads = self.code.sets.get(id.0).map(|set| &set.overloads);
                overloads.is_some_and(|ids| {
                    let mut lambdas = ids.iter().filter_map(|id| self.code.lambdas.get(id.0));
                    lambdas.any(|lambda| takes(lambda, count))
                })
            }
            Some(Function::Native(native)) => native.takes_count(count),
            Some(Function::Partial(_)) => count == 1,
            None => false,
        }
    }

    /// The arguments converted to the types of the overload; none if one does not convert.
    fn coerced(&mut self, overload: &Overload, args: &Args) -> Result<Option<Args>> {
        let mut coerced = Args::default();
        for (param, arg) in overload.params.iter().zip(args.as_slice()) {
            if self.fits_param(*param, arg) {
                coerced.push(arg.clone());
            } else {
                let Some(kind) = param.coerce else { return Ok(None) };
                if kind == Kind::Regex {
                    // Charged even if it does not compile.
                    self.charge(OPS_PER_DYNAMIC_PATTERN)?;
                }
                let Some(made) = coerce::auto(arg, kind) else { return Ok(None) };
                if let Value::Regex(pattern) = &made {
                    self.charge(pattern.compile_ops())?;
                }
                coerced.push(made);
            }
        }
        Ok(Some(coerced))
    }

    /// The values of the parameters, with defaults filled in; none if a type does not match.
    pub(super) fn bind(
        &mut self,
        lambda: &Lambda,
        captured: &[Value],
        args: &mut [Value],
        may_coerce: bool,
    ) -> Result<Option<Vec<Value>>> {
        let params = &lambda.params;
        let missing = params.len() - args.len();
        // If the first parameters have defaults, those are left out; otherwise the last ones.
        let first_missing = match params.first() {
            Some(first) if first.default.is_some() => 0,
            _ => args.len(),
        };
        let mut fitting = Vec::with_capacity(args.len());
        for (index, arg) in args.iter().enumerate() {
            let index = if index >= first_missing { index + missing } else { index };
            match self.fit(lambda, index, arg, may_coerce)? {
                Some(value) => fitting.push(value),
                None => return Ok(None),
            }
        }
        let mut values = Vec::with_capacity(params.len());
        let mut given = fitting.into_iter();
        for (index, param) in params.iter().enumerate() {
            if (first_missing..first_missing + missing).contains(&index) {
                let frame = Frame { captured, base: self.stack.len() };
                match &param.default {
                    Some(default) => values.push(self.eval(default, frame)?),
                    None => values.push(Value::Null),
                }
            } else {
                values.extend(given.next());
            }
        }
        Ok(Some(values))
    }

    fn fit(
        &mut self,
        lambda: &Lambda,
        index: usize,
        arg: &Value,
        may_coerce: bool,
    ) -> Result<Option<Value>> {
        let Some(kind) = lambda.params.get(index).and_then(|param| param.kind.as_ref()) else {
            return Ok(Some(arg.clone()));
        };
        if self.is_instance_of(arg, kind)? {
            return Ok(Some(arg.clone()));
        }
        if !may_coerce {
            return Ok(None);
        }
        Ok(match &kind.resolved(self.types()).shape {
            Shape::Kind(kind) => coerce::auto(arg, *kind),
            _ => None,
        })
    }

    pub(super) fn no_overload(name: &str, overloads: &[&Lambda], args: &[Value]) -> Fault {
        let list = |lambda: &&Lambda| {
            let param = |param: &super::super::program::ParamNode| match &param.kind {
                Some(kind) => kind.to_string(),
                None => "Any".to_owned(),
            };
            format!("({})", lambda.params.iter().map(param).collect::<Vec<_>>().join(", "))
        };
        let expected: Vec<_> = overloads.iter().map(list).collect();
        let message =
            format!("cannot call {name} with {}, it takes {}", kinds(args), expected.join(" or "));
        Fault::type_error(message)
    }
}

fn no_native(native: &Native, args: &Args) -> Fault {
    let found = kinds(args.as_slice());
    let message =
        format!("cannot call `{}` with {found}, it takes {}", native.name, native.describe());
    let mut fault = Fault::type_error(message);
    if args.as_slice().iter().any(Value::is_null) {
        fault.help = Some("a missing value is null: give a fallback with `default`");
    }
    fault
}

/// The kinds for messages: `(String, Null)`.
pub(super) fn kinds(values: &[Value]) -> String {
    let names: Vec<_> = values.iter().map(|value| value.kind().name()).collect();
    format!("({})", names.join(", "))
}

impl Eval<'_> {
    /// The error of an operator that does not accept these kinds.
    pub(crate) fn operator_type_error(operator: &str, left: &Value, right: &Value) -> Fault {
        let found = kinds(&[left.clone(), right.clone()]);
        let mut fault = Fault::type_error(format!("`{operator}` does not work on {found}"));
        if left.kind() == Kind::Null || right.kind() == Kind::Null {
            fault.help = Some("a missing value is null: give a fallback with `default`");
        }
        fault
    }
}
