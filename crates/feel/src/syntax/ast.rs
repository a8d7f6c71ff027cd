//! The syntax tree of an expression.

use std::sync::Arc;

use meantime_value::Value;

/// An expression.
#[derive(Debug)]
pub(crate) enum Expr {
    Literal(Value),
    Name(String),
    List(Vec<Expr>),
    Context(Vec<(String, Expr)>),
    Interval { start: Box<Expr>, end: Box<Expr>, start_included: bool, end_included: bool },
    Negate(Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Between { value: Box<Expr>, low: Box<Expr>, high: Box<Expr> },
    In { value: Box<Expr>, tests: Vec<UnaryTest> },
    InstanceOf { value: Box<Expr>, kind: String },
    If { condition: Box<Expr>, yes: Box<Expr>, no: Box<Expr> },
    For { iterations: Vec<Iteration>, body: Box<Expr> },
    Some { iterations: Vec<Iteration>, condition: Box<Expr> },
    Every { iterations: Vec<Iteration>, condition: Box<Expr> },
    Function { parameters: Vec<String>, body: Arc<Expr> },
    Call { function: Box<Expr>, arguments: Arguments },
    Path { value: Box<Expr>, name: String },
    Filter { value: Box<Expr>, condition: Box<Expr> },
}

/// Operators of numbers, durations, times and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A test after `in`.
#[derive(Debug)]
pub(crate) enum UnaryTest {
    /// `> 5`
    Compare(Comparison, Expr),
    /// A value, a list or an interval.
    Matches(Expr),
}

/// `x in list`, or `i in 1..3`.
#[derive(Debug)]
pub(crate) struct Iteration {
    pub(crate) name: String,
    pub(crate) from: Expr,
    /// The end of a range of numbers.
    pub(crate) to: Option<Expr>,
}

/// The arguments of a call.
#[derive(Debug)]
pub(crate) enum Arguments {
    Positional(Vec<Expr>),
    Named(Vec<(String, Expr)>),
}
