//! Mappings and repetition.

use crate::expression::Expression;

/// Input and output mappings.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
}

/// A local variable that is set on entering.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) target: VariablePath,
    pub(crate) source: Expression,
}

/// A variable of the enclosing scope that is set on leaving.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) target: VariablePath,
    pub(crate) source: Expression,
}

/// A variable, or a property of one: `order.total`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariablePath {
    pub(crate) variable: String,
    pub(crate) path: Vec<String>,
}

impl VariablePath {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('.').map(str::to_owned);
        let variable = parts.next()?;
        let path: Vec<String> = parts.collect();
        let named = !variable.is_empty() && path.iter().all(|part| !part.is_empty());
        named.then_some(Self { variable, path })
    }
}

/// How an activity repeats.
#[derive(Debug)]
pub(crate) enum LoopCharacteristics {
    MultiInstance(MultiInstance),
    /// A standard loop.
    StandardLoop {
        /// Whether the condition is evaluated before the first repetition.
        test_before: bool,
        condition: Option<Expression>,
        maximum: Option<Expression>,
    },
}

/// Multi-instance.
#[derive(Debug)]
pub(crate) struct MultiInstance {
    pub(crate) sequential: bool,
    /// A number of iterations, or a collection of items.
    pub(crate) cardinality: Option<Expression>,
    pub(crate) collection: Option<Expression>,
    /// The variable of the item.
    pub(crate) item: Option<String>,
    /// The output collection, and the expression that each iteration adds to it.
    pub(crate) output: Option<(VariablePath, Expression)>,
    pub(crate) completion: Option<Expression>,
}
