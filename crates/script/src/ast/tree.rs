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

/// A file: a bare script, workflows with shared functions and constants, or a module.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) statements: Vec<Stmt>,
    pub(crate) workflows: Vec<Workflow>,
    /// Whether it has an `export default`, so that the rules of JavaScript's modules apply.
    pub(crate) is_module: bool,
    /// The words `export` before declarations.
    pub(crate) exports: Vec<Span>,
    /// Names whose declarations could not be parsed; their uses are not reported as undefined.
    pub(crate) lost: BTreeSet<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Workflow {
    /// None for the `export default` of a module, which is named by its file.
    pub(crate) name: Option<Ident>,
    pub(crate) function: Function,
    pub(crate) form: WorkflowForm,
}

/// How a workflow is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkflowForm {
    /// `workflow name(input) {…}`, in which every function may wait.
    Keyword,
    /// `export default async function`
    Async,
    /// `export default function`, which may not wait itself.
    Plain,
}

impl Workflow {
    /// The name in traces.
    pub(crate) fn display_name(&self) -> Arc<str> {
        let name = self.name.as_ref().or(self.function.name.as_ref());
        name.map_or_else(|| "workflow".into(), |name| name.name.clone())
    }

    /// Whether it takes more than the input.
    pub(crate) const fn takes_context(&self) -> bool {
        self.function.params.len() > 1 || self.function.rest.is_some()
    }
}

/// A function, an arrow function, or the body of a workflow.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its own name, or the name of the variable it is assigned to.
    pub(crate) name: Option<Ident>,
    pub(crate) params: Vec<Param>,
    pub(crate) rest: Option<Pattern>,
    pub(crate) body: Body,
    pub(crate) kind: FunctionKind,
    /// Whether a call returns a promise at its first `await`.
    pub(crate) is_async: bool,
    /// Its position, which identifies the function.
    pub(crate) span: Span,
}

/// What a function is for, which decides what `this` and `super` mean in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// `function`, a method of an object literal, or a workflow.
    Plain,
    /// Uses `this` of the code around it.
    Arrow,
    /// A method, a getter or a setter of a class.
    Method,
    Constructor,
    /// The constructor of a class that extends another.
    DerivedConstructor,
    /// Defines the fields of a class on a new object, or on the class itself.
    Fields,
}

/// A class. Its constructor and its fields are functions, written or not.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) name: Option<Ident>,
    pub(crate) extends: Option<Expr>,
    pub(crate) constructor: Function,
    /// Defines the fields of instances; none if there are no fields.
    pub(crate) fields: Option<Function>,
    /// Defines static fields and runs static blocks, with the class as `this`.
    pub(crate) statics: Option<Function>,
    pub(crate) methods: Vec<ClassMethod>,
    /// The private names that it declares, without `#`.
    pub(crate) privates: Vec<Ident>,
}

/// A method, a getter or a setter of a class.
#[derive(Debug)]
pub(crate) struct ClassMethod {
    pub(crate) key: PropKey,
    pub(crate) is_static: bool,
    pub(crate) accessor: Option<Accessor>,
    pub(crate) function: Function,
}

/// Which half of an accessor a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accessor {
    Get,
    Set,
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
    Declare {
        constant: bool,
        declarators: Vec<Declarator>,
    },
    /// `var`: its names belong to the whole function.
    Var(Vec<Declarator>),
    Class(Box<Class>),
    /// A field of a class, in the function that defines all of them.
    Field {
        key: PropKey,
        value: Option<Expr>,
    },
    Function(Box<Function>),
    Expr(Expr),
    Block(Block),
    If {
        branches: Vec<(Expr, Stmt)>,
        otherwise: Option<Box<Stmt>>,
    },
    While {
        test: Expr,
        body: Box<Stmt>,
    },
    DoWhile {
        body: Box<Stmt>,
        test: Expr,
    },
    For {
        init: Option<Box<Stmt>>,
        test: Option<Expr>,
        update: Vec<Expr>,
        body: Box<Stmt>,
    },
    ForEach {
        over_keys: bool,
        binding: ForBinding,
        subject: Expr,
        body: Box<Stmt>,
    },
    Switch {
        subject: Expr,
        cases: Vec<Case>,
    },
    Try {
        block: Block,
        catch: Option<Catch>,
        finally: Option<Block>,
    },
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
    /// Whether it is a `var`, which is declared for the whole function and assigned here.
    pub(crate) is_var: bool,
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
    This,
    Regex {
        source: Arc<str>,
        flags: Arc<str>,
    },
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
    /// `paren` is the position of the arguments, or of `new` without any.
    New {
        callee: Box<Expr>,
        args: Vec<Arg>,
        paren: u32,
    },
    Class(Box<Class>),
    /// Expressions separated by commas.
    Sequence(Vec<Expr>),
    /// A template passed to a function: the texts as evaluated, and as written.
    Tagged {
        tag: Box<Expr>,
        texts: Vec<Arc<str>>,
        raws: Vec<Arc<str>>,
        values: Vec<Expr>,
        at: u32,
    },
    /// `super(…)`
    SuperCall {
        args: Vec<Arg>,
        paren: u32,
    },
    /// `super.name`
    SuperMember(Ident),
    /// `#name in object`
    HasPrivate {
        name: Ident,
        object: Box<Expr>,
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
    Accessor {
        key: PropKey,
        accessor: Accessor,
        function: Box<Function>,
    },
}

#[derive(Debug)]
pub(crate) enum PropKey {
    Name(Arc<str>, Span),
    Computed(Box<Expr>),
    /// `#name`, in classes only.
    Private(Ident),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Minus,
    Plus,
    Not,
    Typeof,
    Delete,
    Void,
    BitNot,
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
    InstanceOf,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
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
