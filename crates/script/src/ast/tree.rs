//! The syntax tree. Every node has its position; names are not resolved.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::lex::Number;
use crate::span::Span;

/// A name with its position, which identifies this use of the name.
#[derive(Debug, Clone)]
pub(crate) struct Ident {
    pub(crate) name: Arc<str>,
    pub(crate) span: Span,
}

/// A file: a bare script, or workflows with shared functions and constants.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) statements: Vec<Stmt>,
    pub(crate) workflows: Vec<Workflow>,
    /// Names whose declarations could not be parsed; their uses are not reported as undefined.
    pub(crate) lost: BTreeSet<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Workflow {
    pub(crate) name: Ident,
    pub(crate) function: Function,
}

/// A function, an arrow function, or the body of a workflow.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its own name, or the name of the variable it is assigned to.
    pub(crate) name: Option<Ident>,
    pub(crate) params: Vec<Param>,
    pub(crate) rest: Option<Pattern>,
    pub(crate) body: Body,
    /// Its position, which identifies the function.
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum Body {
    Block(Block),
    /// An arrow function without braces.
    Expr(Box<Expr>),
}

#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) pattern: Pattern,
    pub(crate) default: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Declare { constant: bool, declarators: Vec<Declarator> },
    Function(Box<Function>),
    Expr(Expr),
    Block(Block),
    If { branches: Vec<(Expr, Stmt)>, otherwise: Option<Box<Stmt>> },
    While { test: Expr, body: Box<Stmt> },
    DoWhile { body: Box<Stmt>, test: Expr },
    For { init: Option<Box<Stmt>>, test: Option<Expr>, update: Vec<Expr>, body: Box<Stmt> },
    ForEach { over_keys: bool, binding: ForBinding, subject: Expr, body: Box<Stmt> },
    Switch { subject: Expr, cases: Vec<Case> },
    Try { block: Block, catch: Option<Catch>, finally: Option<Block> },
    Throw(Expr),
    Return(Option<Expr>),
    Break(Option<Ident>),
    Continue(Option<Ident>),
    Labeled(Ident, Box<Stmt>),
    Empty,
}

#[derive(Debug)]
pub(crate) struct Declarator {
    pub(crate) pattern: Pattern,
    pub(crate) init: Option<Expr>,
}

/// The target of a `for … of` or `for … in`.
#[derive(Debug)]
pub(crate) struct ForBinding {
    /// Whether it declares a variable, and if so whether a constant.
    pub(crate) declares: Option<bool>,
    pub(crate) pattern: Pattern,
}

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) test: Option<Expr>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Catch {
    pub(crate) param: Option<Pattern>,
    pub(crate) body: Block,
}

#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) kind: PatternKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum PatternKind {
    Name(Ident),
    /// A property or an index; only in assignments.
    Member(Box<Expr>),
    Array {
        items: Vec<Option<PatternItem>>,
        rest: Option<Box<Pattern>>,
    },
    Object {
        entries: Vec<(PropKey, PatternItem)>,
        rest: Option<Box<Pattern>>,
    },
}

#[derive(Debug)]
pub(crate) struct PatternItem {
    pub(crate) pattern: Pattern,
    pub(crate) default: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Null,
    Bool(bool),
    Number(Number),
    Text(Arc<str>),
    /// Texts and expressions alternate; there is one text more than expressions.
    Template {
        texts: Vec<Arc<str>>,
        values: Vec<Expr>,
    },
    Name(Arc<str>),
    Array(Vec<Arg>),
    Object(Vec<Prop>),
    Function(Box<Function>),
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Update {
        target: Box<Pattern>,
        add: i8,
        prefix: bool,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Logical {
        op: LogicalOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Ternary {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Assign {
        target: Box<Pattern>,
        op: AssignOp,
        value: Box<Expr>,
    },
    Member {
        object: Box<Expr>,
        name: Ident,
        optional: bool,
    },
    Index {
        object: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// `paren` is the position of the opening parenthesis, which identifies the call.
    Call {
        callee: Box<Expr>,
        args: Vec<Arg>,
        optional: bool,
        paren: u32,
    },
    /// The expression that `?.` skips when the value is null or undefined.
    Chain(Box<Expr>),
    Await(Box<Expr>),
    NewError {
        name: Ident,
        args: Vec<Arg>,
    },
    /// An expression whose problem is already reported.
    Bad,
}

/// An argument or an element, possibly spread.
#[derive(Debug)]
pub(crate) struct Arg {
    pub(crate) value: Expr,
    pub(crate) spread: bool,
}

#[derive(Debug)]
pub(crate) enum Prop {
    Pair {
        key: PropKey,
        value: Expr,
    },
    /// `{ name }`; a default is valid only if this becomes a pattern.
    Short {
        name: Ident,
        default: Option<Expr>,
    },
    Spread(Expr),
}

#[derive(Debug)]
pub(crate) enum PropKey {
    Name(Arc<str>, Span),
    Computed(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Minus,
    Plus,
    Not,
    Typeof,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    /// `==` and `!=`, which convert their operands.
    Eq,
    Ne,
    /// `===` and `!==`.
    StrictEq,
    StrictNe,
    Lt,
    Le,
    Gt,
    Ge,
    In,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogicalOp {
    And,
    Or,
    Nullish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AssignOp {
    Plain,
    Binary(BinaryOp),
    Logical(LogicalOp),
}
