//! Calls of functions, user-defined and of the library.

use meantime_value::Value;

use super::evaluator::{Evaluator, Result};
use crate::foreign::Function;
use crate::library;
use crate::syntax::{Arguments, Expr};

impl Evaluator<'_> {
    pub(super) fn call(&mut self, function: &Expr, arguments: &Arguments) -> Result {
        let callee = match function {
            Expr::Name(name) => self.callee(name)?,
            _ => self.evaluate(function)?,
        };
        let found = match &callee {
            Value::Foreign(foreign) => foreign.get::<Function>().cloned(),
            _ => None,
        };
        let Some(found) = found else {
            let what = match function {
                Expr::Name(name) => format!("`{name}`"),
                _ => "this".to_owned(),
            };
            return Ok(self.null(|| format!("{what} is not a function")));
        };
        match &found {
            Function::Written { parameters, .. } => {
                let values = self.arguments(arguments, parameters)?;
                match values {
                    Some(values) => self.invoke(&found, values),
                    None => Ok(self.null(|| "wrong arguments of a function".to_owned())),
                }
            }
            Function::Library(name) => {
                let values = match arguments {
                    Arguments::Positional(exprs) => {
                        let values: Result<Vec<Value>> =
                            exprs.iter().map(|expr| self.evaluate(expr)).collect();
                        Some(values?)
                    }
                    Arguments::Named(_) => self.library_arguments(name, arguments)?,
                };
                match values {
                    Some(values) => self.invoke(&found, values),
                    None => Ok(self.null(|| format!("wrong arguments of `{name}`"))),
                }
            }
        }
    }

    /// Calls a function with values.
    pub(crate) fn invoke(&mut self, function: &Function, values: Vec<Value>) -> Result {
        self.spend(1)?;
        match function {
            Function::Library(name) => library::call(self, name, &values),
            Function::Written { parameters, body, names } => {
                if parameters.len() != values.len() {
                    return Ok(self.null(|| "wrong number of arguments".to_owned()));
                }
                let outer = std::mem::replace(&mut self.names, names.clone());
                for (name, value) in parameters.iter().zip(values) {
                    self.names = self.names.with(name, value);
                }
                let result = self.evaluate(body);
                self.names = outer;
                result
            }
        }
    }

    fn library_arguments(
        &mut self,
        name: &str,
        arguments: &Arguments,
    ) -> Result<Option<Vec<Value>>> {
        for parameters in library::parameters(name) {
            let parameters: Vec<String> = parameters.iter().map(|it| (*it).to_owned()).collect();
            if let Some(values) = self.arguments(arguments, &parameters)? {
                return Ok(Some(values));
            }
        }
        Ok(None)
    }

    /// Values in the order of the parameters; `None` if a name is not a parameter. Named parameters
    /// without a value are null, unless they come last.
    fn arguments(
        &mut self,
        arguments: &Arguments,
        parameters: &[String],
    ) -> Result<Option<Vec<Value>>> {
        match arguments {
            Arguments::Positional(exprs) => {
                let values: Result<Vec<Value>> =
                    exprs.iter().map(|expr| self.evaluate(expr)).collect();
                Ok(Some(values?))
            }
            Arguments::Named(named) => {
                if named.iter().any(|(name, _)| !parameters.contains(name)) {
                    return Ok(None);
                }
                let last = parameters
                    .iter()
                    .rposition(|parameter| named.iter().any(|(name, _)| name == parameter));
                let mut values = Vec::new();
                for parameter in parameters.iter().take(last.map_or(0, |last| last + 1)) {
                    let given = named.iter().find(|(name, _)| name == parameter);
                    values.push(match given {
                        Some((_, expr)) => self.evaluate(expr)?,
                        None => Value::Null,
                    });
                }
                Ok(Some(values))
            }
        }
    }
}
