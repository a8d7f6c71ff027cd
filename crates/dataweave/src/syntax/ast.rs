//! The syntax tree.

use meantime_value::{Text, Value};

use super::Span;

/// An expression and its position.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) kind: Box<ExprKind>,
    pub(crate) span: Span,
    /// The nesting depth of the expression, itself included; the parser limits it.
    pub(crate) depth: u32,
}

/// A name and its position.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) text: Text,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    Literal(Value),
    /// A text with expressions inside.
    Interpolation(Vec<InterpolationPart>),
    /// A name, possibly with a module in front: `Crypto::MD5`.
    Name {
        module: Vec<Text>,
        name: Name,
    },
    Array(Vec<Item>),
    Object(Vec<Member>),
    /// Parentheses are kept for precedence lints and keys.
    Group(Expr),
    Select {
        target: Expr,
        selector: Selector,
    },
    Call {
        callee: Expr,
        args: Vec<Expr>,
    },
    /// `left name right`, the name possibly with a module in front.
    Infix {
        left: Expr,
        module: Vec<Text>,
        operator: Name,
        right: Expr,
    },
    Unary {
        operator: UnaryOp,
        operand: Expr,
    },
    Binary {
        operator: BinaryOp,
        left: Expr,
        right: Expr,
    },
    As {
        value: Expr,
        target: TypeExpr,
        schema: Vec<Member>,
    },
    Is {
        value: Expr,
        target: TypeExpr,
    },
    Default {
        value: Expr,
        fallback: Expr,
    },
    If {
        condition: Expr,
        then: Expr,
        otherwise: Expr,
    },
    Lambda(LambdaExpr),
    Do {
        directives: Vec<Directive>,
        body: Expr,
    },
    Match {
        value: Expr,
        cases: Vec<Case>,
    },
    Update {
        value: Expr,
        cases: Vec<UpdateCase>,
    },
    /// An expression that could not be parsed.
    Broken,
}

/// Part of an interpolated text.
#[derive(Debug, Clone)]
pub(crate) enum InterpolationPart {
    Text(Text),
    Expr(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Minus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    ShiftLeft,
    ShiftRight,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Compare,
    Equal,
    NotEqual,
    Similar,
    And,
    Or,
}

/// An element of an array, possibly with a condition.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) value: Expr,
    pub(crate) condition: Option<Expr>,
}

/// A member of an object.
#[derive(Debug, Clone)]
pub(crate) enum Member {
    Pair {
        key: KeyExpr,
        value: Expr,
        condition: Option<Expr>,
    },
    /// `(expression)`: the pairs of its value.
    Splice(Expr),
}

#[derive(Debug, Clone)]
pub(crate) struct KeyExpr {
    pub(crate) namespace: Option<Name>,
    pub(crate) name: KeyName,
    pub(crate) attributes: Vec<Member>,
}

#[derive(Debug, Clone)]
pub(crate) enum KeyName {
    Plain(Text),
    Dynamic(Expr),
}

#[derive(Debug, Clone)]
pub(crate) enum Selector {
    /// `.name`, `.*name`, `..name` and their variants.
    Field { reach: SelectorReach, what: SelectedPart, namespace: Option<Name>, name: KeyName },
    /// `.@`: all attributes; `.^`: all metadata; `.#`: the namespace.
    All(SelectedPart),
    /// `..`: all descendants.
    Descendants,
    /// `[expression]`.
    Index(Expr),
    /// `[?(condition)]`.
    Filter(Expr),
    /// `?` after a selector.
    Exists,
    /// `!` after a selector.
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectorReach {
    /// `.name`: the first match.
    First,
    /// `.*name`: all matches.
    All,
    /// `..name`: the first match at every level.
    Descendants,
    /// `..*name`: all matches at every level.
    AllDescendants,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SelectedPart {
    Value,
    /// `.&name`: the pair.
    Pair,
    /// `.@name`.
    Attribute,
    /// `.^name`.
    Metadata,
    /// `.#`.
    Namespace,
}

#[derive(Debug, Clone)]
pub(crate) struct LambdaExpr {
    pub(crate) params: Vec<Param>,
    pub(crate) body: Expr,
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) name: Name,
    pub(crate) kind: Option<TypeExpr>,
    pub(crate) default: Option<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) pattern: Pattern,
    pub(crate) guard: Option<Expr>,
    pub(crate) body: Expr,
}

#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    /// Any value, possibly with a name.
    Any(Option<Name>),
    Literal(Option<Name>, Expr),
    Is(Option<Name>, TypeExpr),
    Matches(Option<Name>, Expr),
    EmptyArray,
    /// `[head ~ tail]`.
    Array(Name, Name),
    EmptyObject,
    /// `{key: value ~ tail}`.
    Object(Name, Name, Name),
}

#[derive(Debug, Clone)]
pub(crate) struct UpdateCase {
    pub(crate) name: Option<Name>,
    pub(crate) path: Vec<Selector>,
    /// `!` after the path: missing parts are created.
    pub(crate) force: bool,
    pub(crate) guard: Option<Expr>,
    pub(crate) body: Expr,
}

#[derive(Debug, Clone)]
pub(crate) enum Directive {
    Var { name: Name, value: Expr },
    Fun { name: Name, type_params: Vec<Text>, lambda: LambdaExpr },
    Type { name: Name, params: Vec<Text>, target: TypeExpr },
    Namespace { name: Name, uri: Text },
    Import(Import),
    Output { mime: Text, span: Span },
}

#[derive(Debug, Clone)]
pub(crate) struct Import {
    pub(crate) module: Vec<Text>,
    pub(crate) span: Span,
    pub(crate) what: Imported,
}

#[derive(Debug, Clone)]
pub(crate) enum Imported {
    Everything,
    /// Names with their local names.
    Names(Vec<(Name, Text)>),
    /// The module itself, with its local name.
    Module(Text),
}

/// A type as it is written.
#[derive(Debug, Clone)]
pub(crate) struct TypeExpr {
    pub(crate) kind: TypeExprKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeExprKind {
    Named {
        module: Vec<Text>,
        name: Name,
        args: Vec<TypeExpr>,
    },
    Literal(Value),
    Object {
        fields: Vec<FieldExpr>,
        closed: bool,
    },
    Function {
        params: Vec<(Option<Name>, TypeExpr, bool)>,
        result: Box<TypeExpr>,
    },
    Union(Vec<TypeExpr>),
    Intersection(Vec<TypeExpr>),
    /// `Type.field`.
    Select(Box<TypeExpr>, Option<Name>, Text),
    /// `Type {format: "…"}`.
    Noted(Box<TypeExpr>, Vec<(Text, Value)>),
}

#[derive(Debug, Clone)]
pub(crate) struct FieldExpr {
    pub(crate) namespace: Option<Name>,
    /// None is `_`, which matches any key.
    pub(crate) name: Option<Text>,
    pub(crate) optional: bool,
    pub(crate) repeated: bool,
    pub(crate) attributes: Vec<FieldExpr>,
    pub(crate) kind: TypeExpr,
}

impl Expr {
    pub(crate) fn new(kind: ExprKind, span: Span) -> Self {
        let mut depth = 0;
        kind.each_child(&mut |child| depth = depth.max(child.depth));
        Self { kind: Box::new(kind), span, depth: depth.saturating_add(1) }
    }

    /// The expression without parentheses around it.
    pub(crate) fn ungrouped(&self) -> &Self {
        match &*self.kind {
            ExprKind::Group(inner) => inner.ungrouped(),
            _ => self,
        }
    }
}

impl ExprKind {
    /// Visits the direct subexpressions.
    pub(crate) fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Self::Literal(_) | Self::Name { .. } | Self::Broken => {}
            Self::Interpolation(pieces) => pieces.iter().for_each(|piece| {
                if let InterpolationPart::Expr(expr) = piece {
                    visit(expr);
                }
            }),
            Self::Array(items) => items.iter().for_each(|item| {
                visit(&item.value);
                item.condition.iter().for_each(&mut *visit);
            }),
            Self::Object(members) => each_of_members(members, visit),
            Self::Group(inner) | Self::Unary { operand: inner, .. } => visit(inner),
            Self::Is { value, .. } => visit(value),
            Self::As { value, schema, .. } => {
                visit(value);
                each_of_members(schema, visit);
            }
            Self::Select { target, selector } => {
                visit(target);
                selector.each_child(visit);
            }
            Self::Call { callee, args } => {
                visit(callee);
                args.iter().for_each(visit);
            }
            Self::Infix { left, right, .. } | Self::Binary { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Self::Default { value, fallback } => {
                visit(value);
                visit(fallback);
            }
            Self::If { condition, then, otherwise } => {
                [condition, then, otherwise].into_iter().for_each(visit);
            }
            Self::Lambda(lambda) => lambda.each_child(visit),
            Self::Do { directives, body } => {
                for directive in directives {
                    match directive {
                        Directive::Var { value, .. } => visit(value),
                        Directive::Fun { lambda, .. } => lambda.each_child(visit),
                        _ => {}
                    }
                }
                visit(body);
            }
            Self::Match { value, cases } => {
                visit(value);
                for case in cases {
                    case.each_child(visit);
                }
            }
            Self::Update { value, cases } => {
                visit(value);
                for case in cases {
                    case.each_child(visit);
                }
            }
        }
    }
}

impl LambdaExpr {
    fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        self.params.iter().filter_map(|param| param.default.as_ref()).for_each(&mut *visit);
        visit(&self.body);
    }
}

impl Case {
    fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        if let Pattern::Literal(_, expr) | Pattern::Matches(_, expr) = &self.pattern {
            visit(expr);
        }
        self.guard.iter().for_each(&mut *visit);
        visit(&self.body);
    }
}

impl UpdateCase {
    fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        for selector in &self.path {
            selector.each_child(visit);
        }
        self.guard.iter().for_each(&mut *visit);
        visit(&self.body);
    }
}

impl Selector {
    fn each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match self {
            Self::Field { name: KeyName::Dynamic(expr), .. }
            | Self::Index(expr)
            | Self::Filter(expr) => visit(expr),
            _ => {}
        }
    }
}

fn each_of_members<'e>(members: &'e [Member], visit: &mut dyn FnMut(&'e Expr)) {
    for member in members {
        match member {
            Member::Splice(expr) => visit(expr),
            Member::Pair { key, value, condition } => {
                if let KeyName::Dynamic(expr) = &key.name {
                    visit(expr);
                }
                each_of_members(&key.attributes, visit);
                visit(value);
                condition.iter().for_each(&mut *visit);
            }
        }
    }
}
