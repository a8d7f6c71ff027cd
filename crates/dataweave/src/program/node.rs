//! The instructions: a tree in which every name is already a slot.

use std::sync::Arc;

use meantime_value::{Namespace, Text, Value};

use super::super::library::Native;
use super::super::syntax::{BinaryOp, SelectedPart, SelectorReach, Span};
use super::super::types::Type;

/// An instruction and its position in the source.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) span: Span,
}

/// Index of an overloaded function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SetId(pub(crate) usize);

/// Index of a function body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LambdaId(pub(crate) usize);

#[derive(Debug)]
pub(crate) enum Op {
    Constant(Value),
    Global(usize),
    /// A slot on the stack, from the base of the frame.
    Local(usize),
    /// A slot among the values that the function captured.
    Captured(usize),
    Interpolation(Vec<Node>),
    Array(Vec<ItemNode>),
    Object(Vec<MemberNode>),
    Select(Box<Node>, Box<SelectorNode>),
    /// A call of a library function.
    Native(&'static Native, Vec<Node>),
    /// A call of a declared function; a tail call of itself reuses its frame.
    CallSet {
        set: SetId,
        args: Vec<Node>,
        tail: bool,
    },
    /// A call of a function value.
    Call(Box<Node>, Vec<Node>),
    /// Functions as values.
    SetValue(SetId),
    LambdaValue(LambdaId),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(BinaryOp, Box<(Node, Node)>),
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
pub(crate) struct ItemNode {
    pub(crate) value: Node,
    pub(crate) condition: Option<Node>,
}

#[derive(Debug)]
pub(crate) enum MemberNode {
    Pair { key: KeyNode, value: Node, condition: Option<Node> },
    Splice(Node),
}

#[derive(Debug)]
pub(crate) struct KeyNode {
    pub(crate) namespace: Option<Namespace>,
    pub(crate) name: NameNode,
    pub(crate) attributes: Vec<MemberNode>,
}

#[derive(Debug)]
pub(crate) enum NameNode {
    Plain(Text),
    Dynamic(Node),
}

#[derive(Debug)]
pub(crate) enum SelectorNode {
    Field {
        reach: SelectorReach,
        what: SelectedPart,
        /// The namespace of the selector; none matches any.
        namespace: Option<Namespace>,
        name: NameNode,
    },
    All(SelectedPart),
    Descendants,
    Index(Node),
    Filter(LambdaId),
    Exists,
    Required,
}

/// A function with its overloads, in the order of declaration.
#[derive(Debug)]
pub(crate) struct FunctionSet {
    pub(crate) name: Text,
    pub(crate) overloads: Vec<LambdaId>,
    /// The number of slots of the enclosing frame that it captures.
    pub(crate) captured: usize,
}

#[derive(Debug)]
pub(crate) struct Lambda {
    pub(crate) params: Vec<ParamNode>,
    pub(crate) body: Node,
    pub(crate) captured: usize,
}

#[derive(Debug)]
pub(crate) struct ParamNode {
    pub(crate) name: Text,
    pub(crate) kind: Option<Arc<Type>>,
    pub(crate) default: Option<Node>,
}

#[derive(Debug)]
pub(crate) struct CaseNode {
    pub(crate) pattern: PatternNode,
    pub(crate) guard: Option<Node>,
    pub(crate) body: Node,
}

/// The pattern of a case. Every case has three slots on the stack for the values it matched: the
/// value, and two parts for destructuring.
#[derive(Debug)]
pub(crate) enum PatternNode {
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
pub(crate) struct UpdateNode {
    pub(crate) path: Vec<SelectorNode>,
    pub(crate) force: bool,
    pub(crate) guard: Option<Node>,
    pub(crate) body: Node,
}

impl Lambda {
    /// The minimum number of arguments.
    pub(crate) fn required(&self) -> usize {
        self.params.iter().filter(|param| param.default.is_none()).count()
    }
}
