//! `match`.

use meantime_value::{Kind, Object, Value};

use super::super::coerce;
use super::super::program::{CaseNode, Node, PatternNode};
use super::compare::is_similar;
use super::fault::{Fault, FaultCode, Result};
use super::machine::{Eval, Frame};

impl Eval<'_> {
    pub(super) fn match_value(
        &mut self,
        value: &Node,
        cases: &[CaseNode],
        frame: Frame<'_>,
    ) -> Result {
        let value = self.eval(value, frame)?;
        for case in cases {
            let Some(found) = self.match_pattern(&case.pattern, &value, frame)? else { continue };
            let top = self.stack.len();
            self.stack.extend(found);
            let result = self.case_body(case, frame);
            self.stack.truncate(top);
            if let Some(result) = result? {
                return Ok(result);
            }
        }
        let message = format!("no case matches this {}", value.kind().name());
        Err(Fault::new(FaultCode::NoCase, message).with_help("add `else -> …` as the last case"))
    }

    fn case_body(&mut self, case: &CaseNode, frame: Frame<'_>) -> Result<Option<Value>> {
        if let Some(guard) = &case.guard
            && !self.condition(guard, frame)?
        {
            return Ok(None);
        }
        self.eval(&case.body, frame).map(Some)
    }

    /// The three values that a case can name: the matched value and its parts.
    fn match_pattern(
        &mut self,
        pattern: &PatternNode,
        value: &Value,
        frame: Frame<'_>,
    ) -> Result<Option<[Value; 3]>> {
        let whole = |is_match: bool| is_match.then(|| [value.clone(), Value::Null, Value::Null]);
        Ok(match pattern {
            PatternNode::Any => whole(true),
            PatternNode::Literal(node) => {
                let literal = self.eval(node, frame)?;
                self.charge_pair_visit(value, &literal)?;
                whole(is_similar(value, &literal))
            }
            PatternNode::Is(kind) => whole(self.is_instance_of(value, kind)?),
            PatternNode::Matches(node) => {
                let pattern = self.eval(node, frame)?;
                let groups = self.groups(value, &pattern)?;
                groups.map(|groups| [groups, Value::Null, Value::Null])
            }
            PatternNode::EmptyArray => {
                whole(matches!(value.bare(), Value::Array(items) if items.is_empty()))
            }
            PatternNode::Array => self.head_and_tail(value)?,
            PatternNode::EmptyObject => {
                whole(matches!(value.bare(), Value::Object(object) if object.is_empty()))
            }
            PatternNode::Object => self.first_pair(value)?,
        })
    }

    /// The groups of a regular expression that matches the whole text.
    fn groups(&mut self, value: &Value, pattern: &Value) -> Result<Option<Value>> {
        let Some(text) = coerce::auto_text(value) else { return Ok(None) };
        let is_written = pattern.kind() == Kind::Regex;
        let Value::Regex(pattern) = coerce::to_kind(pattern, Kind::Regex)? else { return Ok(None) };
        if !is_written {
            self.charge(pattern.compile_ops())?;
        }
        match pattern.match_whole(&text, self.ops())? {
            Some(found) => {
                let groups = found.groups().map(|group| match group {
                    Some(text) => Value::from(text),
                    None => Value::Null,
                });
                let groups = groups.collect();
                self.array(groups).map(Some)
            }
            None => Ok(None),
        }
    }

    fn head_and_tail(&mut self, value: &Value) -> Result<Option<[Value; 3]>> {
        if value.kind() != Kind::Array {
            return Ok(None);
        }
        let mut items = self.collect(value)?.into_iter();
        let Some(head) = items.next() else { return Ok(None) };
        let tail = self.array(items.collect())?;
        Ok(Some([value.clone(), head, tail]))
    }

    fn first_pair(&mut self, value: &Value) -> Result<Option<[Value; 3]>> {
        let Value::Object(object) = value.bare() else { return Ok(None) };
        let Some((first, others)) = object.entries().split_first() else { return Ok(None) };
        let others: Object = others.iter().cloned().collect();
        let tail = self.object(others)?;
        Ok(Some([Value::Key(first.key.clone()), first.value.clone(), tail]))
    }
}
