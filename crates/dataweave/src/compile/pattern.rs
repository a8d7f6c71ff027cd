//! `match` and `update`.

use meantime_value::Text;

use super::super::program::{CaseNode, Node, Op, PatternNode, UpdateNode};
use super::super::syntax::{Case, Expr, Name, Pattern, Span, UpdateCase};
use super::compiler::Compiler;
use super::scope::Binding;

impl Compiler<'_> {
    pub(super) fn match_cases(
        &mut self,
        value: &Expr,
        cases: &[Case],
        span: Span,
        tail: bool,
    ) -> Node {
        let value = self.expression(value);
        let cases = cases.iter().map(|case| self.case(case, tail)).collect();
        Self::node(Op::Match(Box::new(value), cases), span)
    }

    /// A case has three slots: the matched value, and two for its parts.
    fn case(&mut self, case: &Case, tail: bool) -> CaseNode {
        let mark = self.scope.mark();
        // The pattern's own expressions are evaluated before its names are bound.
        let (pattern, names) = self.pattern(&case.pattern);
        let first = self.scope.frame.slots;
        self.scope.frame.slots += 3;
        self.scope.bind(Text::from("$"), Binding::Slot(first));
        for (offset, name) in names.into_iter().enumerate() {
            if let Some(name) = name {
                self.scope.bind(name.text.clone(), Binding::Slot(first + offset));
            }
        }
        let guard = case.guard.as_ref().map(|guard| self.expression(guard));
        let body = if tail { self.tail(&case.body) } else { self.expression(&case.body) };
        self.scope.restore(mark);
        CaseNode { pattern, guard, body }
    }

    fn pattern<'e>(&mut self, pattern: &'e Pattern) -> (PatternNode, [Option<&'e Name>; 3]) {
        match pattern {
            Pattern::Any(name) => (PatternNode::Any, [name.as_ref(), None, None]),
            Pattern::Literal(name, expr) => {
                (PatternNode::Literal(self.expression(expr)), [name.as_ref(), None, None])
            }
            Pattern::Is(name, kind) => {
                (PatternNode::Is(self.lower_type(kind)), [name.as_ref(), None, None])
            }
            Pattern::Matches(name, expr) => {
                (PatternNode::Matches(self.expression(expr)), [name.as_ref(), None, None])
            }
            Pattern::EmptyArray => (PatternNode::EmptyArray, [None; 3]),
            Pattern::Array(head, tail) => (PatternNode::Array, [None, Some(head), Some(tail)]),
            Pattern::EmptyObject => (PatternNode::EmptyObject, [None; 3]),
            Pattern::Object(key, value, tail) => {
                (PatternNode::Object, [Some(key), Some(value), Some(tail)])
            }
        }
    }

    pub(super) fn update_cases(&mut self, value: &Expr, cases: &[UpdateCase], span: Span) -> Node {
        let value = self.expression(value);
        let cases = cases.iter().map(|case| self.update_case(case)).collect();
        Self::node(Op::Update(Box::new(value), cases), span)
    }

    /// A case has two slots: the old value and its index.
    fn update_case(&mut self, case: &UpdateCase) -> UpdateNode {
        let path = case.path.iter().map(|selector| self.selector(selector)).collect();
        let mark = self.scope.mark();
        let first = self.scope.frame.slots;
        self.scope.frame.slots += 2;
        self.scope.bind(Text::from("$"), Binding::Slot(first));
        self.scope.bind(Text::from("$$"), Binding::Slot(first + 1));
        if let Some(name) = &case.name {
            self.scope.bind(name.text.clone(), Binding::Slot(first));
        }
        let guard = case.guard.as_ref().map(|guard| self.expression(guard));
        let body = self.expression(&case.body);
        self.scope.restore(mark);
        UpdateNode { path, force: case.force, guard, body }
    }
}
