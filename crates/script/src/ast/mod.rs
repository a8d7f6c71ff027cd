//! The syntax tree and its visitor.

mod tree;
mod visit;

pub(crate) use tree::{
    Arg, AssignOp, BinaryOp, Block, Body, Case, Catch, Declarator, Expr, ExprKind, File,
    ForBinding, Function, Ident, LogicalOp, Param, Pattern, PatternItem, PatternKind, Prop,
    PropKey, Stmt, StmtKind, UnaryOp, Workflow,
};
pub(crate) use visit::{Visitor, walk_expr, walk_function, walk_pattern, walk_stmt};
