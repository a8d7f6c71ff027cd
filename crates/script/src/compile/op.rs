//! The operations of the machine.

use crate::ast::Accessor;
use crate::library::Builtin;

/// What a function becomes when it is added to a class or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MethodKind {
    pub(crate) is_static: bool,
    pub(crate) accessor: Option<Accessor>,
    /// Of an object literal, where it is enumerable.
    pub(crate) in_literal: bool,
}

/// One operation. Jump targets are positions in the same function; `slot` is a local variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Op {
    Undefined,
    Null,
    Bool(bool),
    Int(i32),
    Const(u32),

    Load(u32),
    Store(u32),
    /// The variable becomes a new shared cell, empty or with its current value.
    NewCell(u32),
    BoxCell(u32),
    /// A new cell with the value of the old one, for the next iteration of a loop.
    RenewCell(u32),
    LoadCell(u32),
    StoreCell(u32),
    /// Variables of enclosing functions.
    LoadUp(u32),
    StoreUp(u32),
    /// Adds to a local number.
    Increment {
        slot: u32,
        by: i8,
    },
    /// Adds the value on top to a local variable.
    AddTo(u32),

    Pop,
    Dup,
    Dup2,
    Swap,
    /// Moves the third value to the top.
    Rotate,

    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Eq,
    Ne,
    StrictEq,
    StrictNe,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    Negate,
    /// Converts to a number.
    Plus,
    Not,
    Typeof,
    /// Adds a small number to the number on top.
    AddInt(i8),
    /// The remainder of the number on top.
    RemInt(i32),
    /// Concatenates the texts of this many values.
    Join(u32),

    Jump(u32),
    JumpIfFalse(u32),
    JumpIfTrue(u32),
    /// Compare and jump; most loops end with one.
    JumpIfLt(u32),
    JumpIfLe(u32),
    JumpIfGt(u32),
    JumpIfGe(u32),
    JumpIfEq(u32),
    JumpIfNe(u32),
    JumpIfStrictEq(u32),
    JumpIfStrictNe(u32),
    JumpUnlessLt(u32),
    JumpUnlessLe(u32),
    JumpUnlessGt(u32),
    JumpUnlessGe(u32),
    /// Compares a local variable with a small number and jumps; counting loops end with it.
    JumpIfBelow {
        slot: u32,
        limit: i32,
        to: u32,
    },
    /// Keeps the value and jumps, or drops it and continues.
    JumpIfFalseKeep(u32),
    JumpIfTrueKeep(u32),
    JumpIfPresentKeep(u32),
    JumpIfDefinedKeep(u32),
    /// Leaves an optional chain with `undefined` if the value is null or undefined.
    JumpIfNothing(u32),
    /// Leaves an optional chain if the value has no such method.
    JumpIfNoMethod {
        name: u32,
        to: u32,
    },
    /// Leaves an optional chain if the value on top, above its receiver, is null or undefined.
    JumpIfNoCallee(u32),
    /// Skips a default if the parameter has a value.
    JumpIfGiven {
        slot: u32,
        to: u32,
    },

    NewList,
    Append,
    AppendAll,
    NewRecord,
    /// Adds a property to an object under construction.
    Put(u32),
    PutComputed,
    PutAll,
    Get(u32),
    Set(u32),
    GetIndex,
    SetIndex,
    Delete(u32),
    DeleteIndex,
    /// Increments or decrements a property; leaves the new or the old value.
    Update {
        name: u32,
        by: i8,
        prefix: bool,
    },
    UpdateIndex {
        by: i8,
        prefix: bool,
    },
    /// Throws if the value cannot be destructured as an object.
    NeedRecord,
    NeedList,
    /// The object without this many keys, which are above it on the stack.
    RestOfRecord(u32),
    /// The list from an index on.
    RestOfList(u32),

    Closure(u32),
    Call(u32),
    CallMethod {
        name: u32,
        args: u32,
    },
    CallBuiltin {
        function: Builtin,
        args: u32,
    },
    /// With all arguments in one list.
    CallSpread,
    CallMethodSpread(u32),
    CallBuiltinSpread(Builtin),
    NewError {
        function: Builtin,
        args: u32,
    },
    InstanceId,
    InstanceKey,

    /// `this`, the object for `super`, and the constructed class, at the start of a function.
    TakeThis,
    TakeHome,
    TakeTarget,
    /// Throws if `this` has no value yet, or if it already has one.
    NeedThis,
    NotYet,
    /// The value below `this` if it is an object, otherwise `this`.
    OrThis,
    /// A class from its parent and its constructor.
    NewClass {
        derived: bool,
    },
    /// Adds a method to the class or object below it.
    Define {
        name: u32,
        kind: MethodKind,
    },
    DefineComputed(MethodKind),
    /// The function that defines the fields of the class below it.
    SetFields {
        is_static: bool,
    },
    /// Calls that function, of the class with the prototype on top, for the object below.
    CallFields,
    /// Defines a property of the object below its value.
    DefineField(u32),
    /// A property of the parent, read for `this` below it.
    SuperGet(u32),
    /// With a receiver below the function.
    CallThis(u32),
    CallThisSpread,
    Construct(u32),
    ConstructSpread,
    SuperConstruct(u32),
    SuperConstructSpread,
    /// The function at an index of the object below; the object stays as receiver.
    GetCallee(u32),
    GetCalleeIndex,
    /// A new regular expression from its source and its flags.
    NewRegex {
        source: u32,
        flags: u32,
    },
    /// The list of texts of a tagged template; the texts as written are on top.
    Raw,
    InstanceOf,
    HasPrivate(u32),
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    BitNot,

    Await,
    Return,
    /// The end of the workflow: its frame stays, so that its variables can be read.
    Finish,
    Throw,
    /// Throws again the error that entered a `finally` block.
    Rethrow {
        value: u32,
        trace: u32,
    },

    /// The head of a loop: the machine may yield here.
    LoopHead,
    /// The values or keys to iterate, as a list.
    Values,
    Keys,
    /// The next element of the list in a slot, with the index in the following slot; jumps at the
    /// end.
    Next {
        slot: u32,
        to: u32,
    },
}

impl Op {
    /// The change of the operand stack's height if the operation does not jump.
    #[expect(clippy::too_many_lines, reason = "one arm per effect, nothing else")]
    pub(super) fn effect(self) -> i64 {
        match self {
            Self::Undefined
            | Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Const(_)
            | Self::Load(_)
            | Self::LoadCell(_)
            | Self::LoadUp(_)
            | Self::Dup
            | Self::NewList
            | Self::NewRecord
            | Self::Closure(_)
            | Self::InstanceId
            | Self::InstanceKey
            | Self::RestOfList(_)
            | Self::TakeThis
            | Self::TakeHome
            | Self::TakeTarget
            | Self::GetCallee(_)
            | Self::NewRegex { .. }
            | Self::Next { .. } => 1,
            Self::Dup2 => 2,
            Self::Store(_)
            | Self::StoreCell(_)
            | Self::StoreUp(_)
            | Self::AddTo(_)
            | Self::Pop
            | Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Div
            | Self::Rem
            | Self::Pow
            | Self::Eq
            | Self::Ne
            | Self::StrictEq
            | Self::StrictNe
            | Self::Lt
            | Self::Le
            | Self::Gt
            | Self::Ge
            | Self::In
            | Self::JumpIfFalse(_)
            | Self::JumpIfTrue(_)
            | Self::JumpIfFalseKeep(_)
            | Self::JumpIfTrueKeep(_)
            | Self::JumpIfPresentKeep(_)
            | Self::JumpIfDefinedKeep(_)
            | Self::Append
            | Self::AppendAll
            | Self::Put(_)
            | Self::PutAll
            | Self::Set(_)
            | Self::GetIndex
            | Self::DeleteIndex
            | Self::UpdateIndex { .. }
            | Self::CallSpread
            | Self::CallMethodSpread(_)
            | Self::Return
            | Self::Finish
            | Self::NotYet
            | Self::OrThis
            | Self::NewClass { .. }
            | Self::Define { .. }
            | Self::SetFields { is_static: false }
            | Self::SuperGet(_)
            | Self::CallFields
            | Self::Raw
            | Self::ConstructSpread
            | Self::InstanceOf
            | Self::BitAnd
            | Self::BitOr
            | Self::BitXor
            | Self::ShiftLeft
            | Self::ShiftRight
            | Self::ShiftRightUnsigned
            | Self::Throw => -1,
            Self::JumpIfLt(_)
            | Self::JumpIfLe(_)
            | Self::JumpIfGt(_)
            | Self::JumpIfGe(_)
            | Self::JumpIfEq(_)
            | Self::JumpIfNe(_)
            | Self::JumpIfStrictEq(_)
            | Self::JumpIfStrictNe(_)
            | Self::JumpUnlessLt(_)
            | Self::JumpUnlessLe(_)
            | Self::JumpUnlessGt(_)
            | Self::JumpUnlessGe(_)
            | Self::PutComputed
            | Self::DefineComputed(_)
            | Self::DefineField(_)
            | Self::CallThisSpread
            | Self::SuperConstructSpread
            | Self::SetIndex => -2,
            Self::CallThis(args) | Self::SuperConstruct(args) => -1 - i64::from(args),
            Self::Join(count) => 1 - i64::from(count),
            Self::RestOfRecord(args)
            | Self::Call(args)
            | Self::Construct(args)
            | Self::CallMethod { args, .. } => -i64::from(args),
            Self::CallBuiltin { args, .. } | Self::NewError { args, .. } => 1 - i64::from(args),
            Self::NewCell(_)
            | Self::BoxCell(_)
            | Self::RenewCell(_)
            | Self::Increment { .. }
            | Self::Swap
            | Self::Rotate
            | Self::Negate
            | Self::Plus
            | Self::Not
            | Self::Typeof
            | Self::AddInt(_)
            | Self::RemInt(_)
            | Self::JumpIfBelow { .. }
            | Self::Jump(_)
            | Self::JumpIfNothing(_)
            | Self::JumpIfNoCallee(_)
            | Self::JumpIfNoMethod { .. }
            | Self::JumpIfGiven { .. }
            | Self::Get(_)
            | Self::Delete(_)
            | Self::Update { .. }
            | Self::NeedRecord
            | Self::NeedList
            | Self::CallBuiltinSpread(_)
            | Self::Await
            | Self::Rethrow { .. }
            | Self::LoopHead
            | Self::NeedThis
            | Self::SetFields { is_static: true }
            | Self::GetCalleeIndex
            | Self::HasPrivate(_)
            | Self::BitNot
            | Self::Values
            | Self::Keys => 0,
        }
    }

    /// The same jump with its target.
    pub(super) fn to(self, target: u32) -> Self {
        match self {
            Self::Jump(_) => Self::Jump(target),
            Self::JumpIfFalse(_) => Self::JumpIfFalse(target),
            Self::JumpIfTrue(_) => Self::JumpIfTrue(target),
            Self::JumpIfLt(_) => Self::JumpIfLt(target),
            Self::JumpIfLe(_) => Self::JumpIfLe(target),
            Self::JumpIfGt(_) => Self::JumpIfGt(target),
            Self::JumpIfGe(_) => Self::JumpIfGe(target),
            Self::JumpIfEq(_) => Self::JumpIfEq(target),
            Self::JumpIfNe(_) => Self::JumpIfNe(target),
            Self::JumpIfStrictEq(_) => Self::JumpIfStrictEq(target),
            Self::JumpIfStrictNe(_) => Self::JumpIfStrictNe(target),
            Self::JumpUnlessLt(_) => Self::JumpUnlessLt(target),
            Self::JumpUnlessLe(_) => Self::JumpUnlessLe(target),
            Self::JumpUnlessGt(_) => Self::JumpUnlessGt(target),
            Self::JumpUnlessGe(_) => Self::JumpUnlessGe(target),
            Self::JumpIfBelow { slot, limit, .. } => Self::JumpIfBelow { slot, limit, to: target },
            Self::JumpIfFalseKeep(_) => Self::JumpIfFalseKeep(target),
            Self::JumpIfTrueKeep(_) => Self::JumpIfTrueKeep(target),
            Self::JumpIfPresentKeep(_) => Self::JumpIfPresentKeep(target),
            Self::JumpIfDefinedKeep(_) => Self::JumpIfDefinedKeep(target),
            Self::JumpIfNothing(_) => Self::JumpIfNothing(target),
            Self::JumpIfNoCallee(_) => Self::JumpIfNoCallee(target),
            Self::JumpIfNoMethod { name, .. } => Self::JumpIfNoMethod { name, to: target },
            Self::JumpIfGiven { slot, .. } => Self::JumpIfGiven { slot, to: target },
            Self::Next { slot, .. } => Self::Next { slot, to: target },
            other => other,
        }
    }
}
