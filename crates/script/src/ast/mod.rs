//! The syntax tree and its visitor.

mod tree;
mod visit;

pub(crate) use tree::{
    Accessor, Arg, AssignOp, BinaryOp, Block, Body, Case, Catch, Class, ClassMethod, Declarator,
    Expr, ExprKind, File, ForBinding, Function, FunctionKind, Ident, LogicalOp, Param, Pattern,
    PatternItem, PatternKind, Prop, PropKey, Stmt, StmtKind, UnaryOp, Workflow, WorkflowForm,
};
pub(crate) use visit::{Visitor, walk_body, walk_expr, walk_function, walk_pattern, walk_stmt};
