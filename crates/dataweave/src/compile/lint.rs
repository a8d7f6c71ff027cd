//! Warnings about code that is valid but probably not intended.

use super::super::diagnostic::{Code, Problem};
use super::super::syntax::{BinaryOp, Expr, ExprKind, LambdaExpr, Selector};
use super::compiler::Compiler;

impl Compiler<'_> {
    /// `xs contains 1 and y` means `xs contains (1 and y)`.
    pub(super) fn lint_right_operand(&mut self, operator: &str, right: &Expr) {
        let ExprKind::Binary { operator: swallowed, left, .. } = &*right.kind else { return };
        let sign = match swallowed {
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            _ => return,
        };
        let first = left.span.text(self.source);
        let message =
            format!("`{operator}` takes everything up to the end of `{sign}` as its right side");
        let help = format!("if that is not meant, write `(… {operator} {first}) {sign} …`");
        let warning = Problem::warning(Code::Precedence, right.span, message);
        self.problems.push(warning.with_help(help));
    }
}

/// Whether a function compares two elements rather than computing a key from an element and its
/// index: it uses `<=>`, or selects fields of both.
pub(super) fn is_comparator(expr: &Expr) -> bool {
    let ExprKind::Lambda(LambdaExpr { params, body }) = &*expr.ungrouped().kind else {
        return false;
    };
    let [first, second] = params.as_slice() else { return false };
    let mut uses = ParameterUses::default();
    uses.visit(body, &first.name.text, &second.name.text);
    uses.compares || (uses.selects_first && uses.selects_second)
}

#[derive(Default)]
struct ParameterUses {
    compares: bool,
    selects_first: bool,
    selects_second: bool,
}

impl ParameterUses {
    fn visit(&mut self, expr: &Expr, first: &str, second: &str) {
        match &*expr.kind {
            ExprKind::Binary { operator: BinaryOp::Compare, .. } => self.compares = true,
            ExprKind::Select { target, selector: Selector::Field { .. } } => {
                if let ExprKind::Name { name, .. } = &*target.kind {
                    self.selects_first |= &*name.text == first;
                    self.selects_second |= &*name.text == second;
                }
            }
            _ => {}
        }
        expr.kind.each_child(&mut |child| self.visit(child, first, second));
    }
}
