//! The instructions: a tree in which every name is already a place.

use std::sync::Arc;

use super::super::library::Native;
use super::super::syntax::{Binary, Part, Reach, Span};
use super::super::types::Type;
use crate::value::{Namespace, Text, Value};

/// An instruction and where it came from.
#[derive(Debug)]
pub(in crate::dataweave) struct Node {
    pub(in crate::dataweave) op: Op,
    pub(in crate::dataweave) span: Span,
}

/// Place of an overloaded function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataweave) struct SetId(pub(in crate::dataweave) usize);

/// Place of a function body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dataweave) struct LambdaId(pub(in crate::dataweave) usize);

#[derive(Debug)]
pub(in crate::dataweave) enum Op {
    Constant(Value),
    Global(usize),
    /// A place on the stack, from the base of the frame.
    Local(usize),
    /// A place among the values that the function captured.
    Captured(usize),
    Interpolation(Vec<Node>),
    Array(Vec<ItemNode>),
    Object(Vec<MemberNode>),
    Select(Box<Node>, Box<SelectorNode>),
    /// A call of a library function.
    Native(&'static Native, Vec<Node>),
    /// A call of a declared function; in tail position of itself it reuses its frame.
    CallSet {
        set: SetId,
        args: Vec<Node>,
        tail: bool,
    },
    /// A call of whatever the value is.
    Call(Box<Node>, Vec<Node>),
    /// Functions as values.
    SetValue(SetId),
    LambdaValue(LambdaId),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Binary, Box<(Node, Node)>),
    Append(Box<(Node, Node)>),
    Remove(Box<(Node, Node)>),
    As {
        value: Box<Node>,
        target: Arc<Type>,
        schema: Vec<MemberNode>,
    },
    Is(Box<Node>, Arc<Type>),
    Default(Box<(Node, Node)>),
    If(Box<(Node, Node, Node)>),
    Block {
        variables: usize,
        steps: Vec<(usize, Node)>,
        body: Box<Node>,
    },
    Match(Box<Node>, Vec<CaseNode>),
    Update(Box<Node>, Vec<UpdateNode>),
    /// `orderBy` with a comparator.
    SortWith(Box<(Node, Node)>),
}

#[derive(Debug)]
pub(in crate::dataweave) struct ItemNode {
    pub(in crate::dataweave) value: Node,
    pub(in crate::dataweave) condition: Option<Node>,
}

#[derive(Debug)]
pub(in crate::dataweave) enum MemberNode {
    Pair { key: KeyNode, value: Node, condition: Option<Node> },
    Splice(Node),
}

#[derive(Debug)]
pub(in crate::dataweave) struct KeyNode {
    pub(in crate::dataweave) namespace: Option<Namespace>,
    pub(in crate::dataweave) name: NameNode,
    pub(in crate::dataweave) attributes: Vec<MemberNode>,
}

#[derive(Debug)]
pub(in crate::dataweave) enum NameNode {
    Plain(Text),
    Dynamic(Node),
}

#[derive(Debug)]
pub(in crate::dataweave) enum SelectorNode {
    Field { reach: Reach, what: Part, namespace: Option<Namespace>, name: NameNode },
    All(Part),
    Descendants,
    Index(Node),
    Filter(LambdaId),
    Exists,
    Required,
}

/// A function with its overloads, in the order of declaration.
#[derive(Debug)]
pub(in crate::dataweave) struct FunctionSet {
    pub(in crate::dataweave) name: Text,
    pub(in crate::dataweave) overloads: Vec<LambdaId>,
    /// How many places of the surrounding frame it captures.
    pub(in crate::dataweave) captured: usize,
}

#[derive(Debug)]
pub(in crate::dataweave) struct Lambda {
    pub(in crate::dataweave) params: Vec<ParamNode>,
    pub(in crate::dataweave) body: Node,
    pub(in crate::dataweave) captured: usize,
}

#[derive(Debug)]
pub(in crate::dataweave) struct ParamNode {
    pub(in crate::dataweave) name: Text,
    pub(in crate::dataweave) kind: Option<Arc<Type>>,
    pub(in crate::dataweave) default: Option<Node>,
}

#[derive(Debug)]
pub(in crate::dataweave) struct CaseNode {
    pub(in crate::dataweave) pattern: PatternNode,
    pub(in crate::dataweave) guard: Option<Node>,
    pub(in crate::dataweave) body: Node,
}

/// What a case looks for. Every case has three places on the stack, in which the pattern leaves
/// what it found: the value, and for destructuring two more.
#[derive(Debug)]
pub(in crate::dataweave) enum PatternNode {
    Any,
    Literal(Node),
    Is(Arc<Type>),
    Matches(Node),
    EmptyArray,
    Array,
    EmptyObject,
    Object,
}

#[derive(Debug)]
pub(in crate::dataweave) struct UpdateNode {
    pub(in crate::dataweave) path: Vec<SelectorNode>,
    pub(in crate::dataweave) force: bool,
    pub(in crate::dataweave) guard: Option<Node>,
    pub(in crate::dataweave) body: Node,
}

impl Lambda {
    /// How many arguments it needs at least.
    pub(in crate::dataweave) fn required(&self) -> usize {
        self.params.iter().filter(|param| param.default.is_none()).count()
    }
}
