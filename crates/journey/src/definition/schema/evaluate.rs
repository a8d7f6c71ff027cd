//! The evaluator: checks a value, collects mismatches and counts every step.

use meantime_core::pause_point;
use meantime_value::{MatchTooCostly, Number, Object, Pattern, Value};

use super::check::{MAX_MISMATCHES, MAX_OPS, Mismatch};
use super::equal::{all_differ, is_same};
use super::format::Format;
use super::keyword::{AdditionalProperties, Keyword, Node, NodeId, Properties, Type};
use super::message::{choices, count_text, display_value, properties, unexpected};

/// The nesting depth of schemas while a value is checked: each takes a stack frame.
const MAX_DEPTH: usize = 400;

/// Why a check was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BudgetExceeded {
    #[error("checking it against the schema takes more than {MAX_OPS} operations")]
    Operations,
    #[error("checking it against the schema needs more than {MAX_DEPTH} levels")]
    Depth,
}

impl From<MatchTooCostly> for BudgetExceeded {
    fn from(_: MatchTooCostly) -> Self {
        Self::Operations
    }
}

type Result<T = bool> = std::result::Result<T, BudgetExceeded>;

/// The remaining operations.
pub(super) struct Budget {
    ops: u64,
}

impl Budget {
    pub(super) fn spend(&mut self, ops: u64) -> Result<()> {
        match self.ops.checked_sub(ops) {
            Some(left) => {
                pause_point::pass(self.ops, left);
                self.ops = left;
                Ok(())
            }
            None => {
                self.ops = 0;
                Err(BudgetExceeded::Operations)
            }
        }
    }

    /// Charges work that grows with the digits of a number.
    pub(super) fn spend_number(&mut self, number: &Number) -> Result<()> {
        if matches!(number, Number::Int(_)) {
            return Ok(());
        }
        let (unscaled, scale) = number.to_parts();
        let digits = (unscaled.bits() / 3).saturating_add(scale.unsigned_abs());
        self.spend(digits / 16)
    }
}

/// Which items or properties of one value keywords have evaluated, by position.
type EvaluatedMarks = Vec<bool>;

/// One check.
pub(super) struct Evaluation<'s> {
    nodes: &'s [Node],
    budget: Budget,
    depth: usize,
    /// Greater than zero while mismatches are not reported, such as inside `anyOf`.
    quiet: usize,
    path: Vec<String>,
    mismatches: Vec<Mismatch>,
}

impl<'s> Evaluation<'s> {
    pub(super) fn new(nodes: &'s [Node], ops: u64) -> Self {
        let (path, mismatches) = (Vec::new(), Vec::new());
        Self { nodes, budget: Budget { ops }, depth: 0, quiet: 0, path, mismatches }
    }

    /// Checks a value against the whole schema.
    pub(super) fn check_document(&mut self, value: &Value) -> Result<()> {
        self.schema(0, value, None).map(|_| ())
    }

    pub(super) fn ops(&self) -> u64 {
        self.budget.ops
    }

    /// In a fixed order, by pointer.
    pub(super) fn into_mismatches(mut self) -> Vec<Mismatch> {
        self.mismatches.sort();
        self.mismatches.dedup();
        self.mismatches
    }

    /// Checks a value against one schema; if marks are given, marks the parts that it evaluated.
    fn schema(&mut self, id: NodeId, value: &Value, marks: Option<&mut EvaluatedMarks>) -> Result {
        self.budget.spend(1)?;
        if self.depth >= MAX_DEPTH {
            return Err(BudgetExceeded::Depth);
        }
        let nodes = self.nodes;
        let Some(node) = nodes.get(id) else { return Ok(false) };
        self.depth += 1;
        let result = self.node(node, value, marks);
        self.depth -= 1;
        result
    }

    fn node(
        &mut self,
        node: &'s Node,
        value: &Value,
        marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let mut own = None;
        let is_asked = node.needs_marks || marks.is_some();
        if is_asked {
            own = Some(self.marks_of(value)?);
        }
        let mut is_valid = true;
        for keyword in &node.keywords {
            let asks = keyword.rank() == 9;
            // `unevaluated…` comes last and is defined only if all other keywords match.
            if asks && !is_valid {
                break;
            }
            is_valid &= self.keyword(keyword, value, own.as_mut())?;
            if !is_valid && self.has_enough_mismatches() {
                return Ok(false);
            }
        }
        if is_valid && let (Some(marks), Some(own)) = (marks, own) {
            self.budget.spend(own.len() as u64 / 16)?;
            for (mark, own) in marks.iter_mut().zip(own) {
                *mark |= own;
            }
        }
        Ok(is_valid)
    }

    fn marks_of(&mut self, value: &Value) -> Result<EvaluatedMarks> {
        let count = match value.bare() {
            Value::Array(items) => items.len(),
            Value::Object(object) => object.len(),
            _ => 0,
        };
        self.budget.spend(count as u64 / 16)?;
        Ok(vec![false; count])
    }

    /// Whether further mismatches would be dropped.
    fn has_enough_mismatches(&self) -> bool {
        self.quiet > 0 || self.mismatches.len() >= MAX_MISMATCHES
    }

    /// Reports a mismatch at the current path. Always returns false.
    fn report_mismatch(&mut self, message: impl FnOnce() -> String) -> bool {
        if !self.has_enough_mismatches() {
            let pointer = self.path.iter().fold(String::new(), |all, part| {
                all + "/" + &part.replace('~', "~0").replace('/', "~1")
            });
            self.mismatches.push(Mismatch { pointer, message: message() });
        }
        false
    }

    fn report_unless(&mut self, holds: bool, message: impl FnOnce() -> String) -> bool {
        holds || self.report_mismatch(message)
    }

    /// Whether a schema matches, without reporting mismatches.
    fn matches_silently(
        &mut self,
        id: NodeId,
        value: &Value,
        marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        self.quiet += 1;
        let result = self.schema(id, value, marks);
        self.quiet -= 1;
        result
    }

    /// Checks a part of the value.
    fn check_member(&mut self, part: impl FnOnce() -> String, id: NodeId, value: &Value) -> Result {
        if self.quiet > 0 {
            return self.schema(id, value, None);
        }
        self.path.push(part());
        let result = self.schema(id, value, None);
        self.path.pop();
        result
    }

    fn keyword(
        &mut self,
        keyword: &'s Keyword,
        value: &Value,
        marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        self.budget.spend(1)?;
        match (keyword, value.bare()) {
            (Keyword::Never, _) => Ok(self.report_mismatch(|| {
                format!("False schema does not allow {}", display_value(value))
            })),
            (Keyword::Type(types), _) => Ok(self.has_type(types, value)),
            (Keyword::Const(expected), _) => {
                let holds = is_same(expected, value, &mut self.budget)?;
                Ok(self
                    .report_unless(holds, || format!("{} was expected", display_value(expected))))
            }
            (Keyword::Enum(options), _) => self.is_one_of(options, value),
            (_, Value::Number(number)) if keyword.rank() == 3 => self.number(keyword, number),
            (_, Value::Text(text)) if keyword.rank() == 4 => self.text(keyword, value, text),
            (_, Value::Array(items)) if keyword.rank() == 5 => self.size(keyword, value, items),
            (_, Value::Object(object)) if keyword.rank() == 5 => {
                Ok(self.object_size(keyword, value, object.len() as u64))
            }
            (Keyword::Required(names), Value::Object(object)) => self.has_all(names, object),
            (Keyword::DependentRequired(rules), Value::Object(object)) => {
                let mut is_valid = true;
                for (name, needed) in rules {
                    if self.has(object, name)? {
                        is_valid &= self.has_all(needed, object)?;
                    }
                }
                Ok(is_valid)
            }
            (_, Value::Array(items)) if keyword.rank() == 7 => {
                self.items(keyword, value, items, marks)
            }
            (Keyword::Properties(rules), Value::Object(object)) => {
                self.properties(rules, object, marks)
            }
            (Keyword::PropertyNames(id), Value::Object(object)) => {
                let mut is_valid = true;
                for entry in object.entries() {
                    is_valid &= self.schema(*id, &Value::Text(entry.key.name().clone()), None)?;
                }
                Ok(is_valid)
            }
            (Keyword::UnevaluatedItems(id), Value::Array(items)) => {
                self.unevaluated_items(*id, items, marks)
            }
            (Keyword::UnevaluatedProperties(id), Value::Object(object)) => {
                self.unevaluated_properties(*id, object, marks)
            }
            (_, _) if keyword.rank() == 8 => self.same_value_schemas(keyword, value, marks),
            _ => Ok(true),
        }
    }

    fn has_type(&mut self, types: &[Type], value: &Value) -> bool {
        let holds = types.iter().any(|it| it.holds(value));
        self.report_unless(holds, || match types {
            [only] => format!("{} is not of type \"{}\"", display_value(value), only.name()),
            all => {
                let names: Vec<String> =
                    all.iter().map(|it| format!("\"{}\"", it.name())).collect();
                format!("{} is not of types {}", display_value(value), names.join(", "))
            }
        })
    }

    fn is_one_of(&mut self, options: &[Value], value: &Value) -> Result {
        for option in options {
            if is_same(option, value, &mut self.budget)? {
                return Ok(true);
            }
        }
        Ok(self.report_mismatch(|| {
            format!("{} is not one of {}", display_value(value), choices(options))
        }))
    }

    fn number(&mut self, keyword: &Keyword, number: &Number) -> Result {
        self.budget.spend_number(number)?;
        let value = || display_value(&Value::Number(number.clone()));
        let limit_text = |limit: &Number| display_value(&Value::Number(limit.clone()));
        Ok(match keyword {
            Keyword::Minimum { limit, exclusive } => {
                let holds = if *exclusive { number > limit } else { number >= limit };
                let than = if *exclusive { "less than or equal to" } else { "less than" };
                self.report_unless(holds, || {
                    format!("{} is {than} the minimum of {}", value(), limit_text(limit))
                })
            }
            Keyword::Maximum { limit, exclusive } => {
                let holds = if *exclusive { number < limit } else { number <= limit };
                let than = if *exclusive { "greater than or equal to" } else { "greater than" };
                self.report_unless(holds, || {
                    format!("{} is {than} the maximum of {}", value(), limit_text(limit))
                })
            }
            Keyword::MultipleOf(divisor) => {
                self.budget.spend_number(divisor)?;
                let holds = number.rem(divisor).is_ok_and(|rest| rest.is_zero());
                self.report_unless(holds, || {
                    format!("{} is not a multiple of {}", value(), limit_text(divisor))
                })
            }
            _ => true,
        })
    }

    fn text(&mut self, keyword: &Keyword, value: &Value, text: &str) -> Result {
        Ok(match keyword {
            Keyword::MinLength(least) => {
                let holds = self.length(text)? >= *least;
                self.report_unless(holds, || {
                    let least = count_text(*least, "character", "s");
                    format!("{} is shorter than {least}", display_value(value))
                })
            }
            Keyword::MaxLength(most) => {
                let holds = self.length(text)? <= *most;
                self.report_unless(holds, || {
                    format!(
                        "{} is longer than {}",
                        display_value(value),
                        count_text(*most, "character", "s")
                    )
                })
            }
            Keyword::Pattern(pattern) => {
                let holds = pattern.is_match(text, &mut self.budget.ops)?;
                self.report_unless(holds, || {
                    format!("{} does not match \"{}\"", display_value(value), pattern.source())
                })
            }
            Keyword::Format(format) => {
                self.budget.spend(Format::ops(text))?;
                let holds = format.holds(text);
                self.report_unless(holds, || {
                    format!("{} is not a \"{}\"", display_value(value), format.name())
                })
            }
            _ => true,
        })
    }

    /// The length in characters.
    fn length(&mut self, text: &str) -> Result<u64> {
        self.budget.spend(text.len() as u64 / 64)?;
        Ok(text.chars().count() as u64)
    }

    fn size(&mut self, keyword: &Keyword, value: &Value, items: &[Value]) -> Result {
        let count = items.len() as u64;
        Ok(match keyword {
            Keyword::MinItems(least) => self.report_unless(count >= *least, || {
                format!(
                    "{} has less than {}",
                    display_value(value),
                    count_text(*least, "item", "s")
                )
            }),
            Keyword::MaxItems(most) => self.report_unless(count <= *most, || {
                format!("{} has more than {}", display_value(value), count_text(*most, "item", "s"))
            }),
            Keyword::UniqueItems => {
                let holds = all_differ(items, &mut self.budget)?;
                self.report_unless(holds, || {
                    format!("{} has non-unique elements", display_value(value))
                })
            }
            _ => true,
        })
    }

    fn object_size(&mut self, keyword: &Keyword, value: &Value, count: u64) -> bool {
        match keyword {
            Keyword::MinProperties(least) => self.report_unless(count >= *least, || {
                format!("{} has less than {}", display_value(value), properties(*least))
            }),
            Keyword::MaxProperties(most) => self.report_unless(count <= *most, || {
                format!("{} has more than {}", display_value(value), properties(*most))
            }),
            _ => true,
        }
    }

    fn has(&mut self, object: &Object, name: &str) -> Result {
        self.budget.spend((object.len() as u64 / 8).saturating_add(1))?;
        Ok(object.get(name).is_some())
    }

    fn has_all(&mut self, names: &[String], object: &Object) -> Result {
        let mut is_valid = true;
        for name in names {
            let holds = self.has(object, name)?;
            is_valid &= self.report_unless(holds, || {
                let name = display_value(&Value::from(name.as_str()));
                format!("{name} is a required property")
            });
        }
        Ok(is_valid)
    }

    fn items(
        &mut self,
        keyword: &Keyword,
        value: &Value,
        items: &[Value],
        mut marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let mut is_valid = true;
        let mut mark = |at: usize| {
            if let Some(mark) = marks.as_mut().and_then(|marks| marks.get_mut(at)) {
                *mark = true;
            }
        };
        match keyword {
            Keyword::PrefixItems(ids) => {
                for (at, (id, item)) in ids.iter().zip(items).enumerate() {
                    is_valid &= self.check_member(|| at.to_string(), *id, item)?;
                    mark(at);
                }
            }
            Keyword::Items { skip, schema } => {
                for (at, item) in items.iter().enumerate().skip(*skip) {
                    is_valid &= self.check_member(|| at.to_string(), *schema, item)?;
                    mark(at);
                    if !is_valid && self.has_enough_mismatches() {
                        break;
                    }
                }
            }
            Keyword::Contains { schema, min, max } => {
                let mut count = 0_u64;
                for (at, item) in items.iter().enumerate() {
                    if self.matches_silently(*schema, item, None)? {
                        count = count.saturating_add(1);
                        mark(at);
                    }
                }
                is_valid = if count < *min {
                    self.report_mismatch(|| {
                        format!("None of {} are valid under the given schema", display_value(value))
                    })
                } else {
                    let most = max.unwrap_or(u64::MAX);
                    self.report_unless(count <= most, || {
                        let most = count_text(most, "item", "s");
                        format!(
                            "More than {most} of {} match the given schema",
                            display_value(value)
                        )
                    })
                };
            }
            _ => {}
        }
        Ok(is_valid)
    }

    fn properties(
        &mut self,
        rules: &'s Properties,
        object: &Object,
        mut marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let (mut is_valid, mut extra) = (true, Vec::new());
        for (at, entry) in object.entries().iter().enumerate() {
            self.budget.spend(1)?;
            let name: &str = entry.key.name();
            let mut is_known = false;
            if let Some(id) = rules.named.get(name) {
                is_known = true;
                is_valid &= self.check_member(|| name.to_owned(), *id, &entry.value)?;
            }
            for (pattern, id) in &rules.patterns {
                if self.is_match(pattern, name)? {
                    is_known = true;
                    is_valid &= self.check_member(|| name.to_owned(), *id, &entry.value)?;
                }
            }
            match rules.others {
                AdditionalProperties::None if !is_known => {
                    is_valid = false;
                    extra.push(name.to_owned());
                }
                AdditionalProperties::Match(id) if !is_known => {
                    is_known = true;
                    is_valid &= self.check_member(|| name.to_owned(), id, &entry.value)?;
                }
                _ => {}
            }
            if is_known && let Some(mark) = marks.as_mut().and_then(|marks| marks.get_mut(at)) {
                *mark = true;
            }
            if !is_valid && self.quiet > 0 {
                return Ok(false);
            }
        }
        if !extra.is_empty() {
            self.report_mismatch(|| unexpected("Additional properties", &extra));
        }
        Ok(is_valid)
    }

    fn is_match(&mut self, pattern: &Pattern, name: &str) -> Result {
        Ok(pattern.is_match(name, &mut self.budget.ops)?)
    }

    /// Keywords whose schemas apply to the same value.
    fn same_value_schemas(
        &mut self,
        keyword: &'s Keyword,
        value: &Value,
        marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let mut marks = marks;
        match keyword {
            Keyword::Ref(id) => self.schema(*id, value, marks),
            Keyword::AllOf(ids) => self.all_of(ids, value, marks),
            Keyword::AnyOf(ids) => self.any_of(ids, value, marks),
            Keyword::OneOf(ids) => self.one_of(ids, value, marks),
            Keyword::Not(id, schema) => {
                let holds = !self.matches_silently(*id, value, None)?;
                Ok(self.report_unless(holds, || {
                    format!("{schema} is not allowed for {}", display_value(value))
                }))
            }
            Keyword::If { test, then, otherwise } => {
                let holds = self.matches_silently(*test, value, marks.as_deref_mut())?;
                let branch = if holds { then } else { otherwise };
                match branch {
                    Some(id) => self.schema(*id, value, marks),
                    None => Ok(true),
                }
            }
            Keyword::DependentSchemas(rules) => {
                let Value::Object(object) = value.bare() else { return Ok(true) };
                let mut is_valid = true;
                for (name, id) in rules {
                    if self.has(object, name)? {
                        is_valid &= self.schema(*id, value, marks.as_deref_mut())?;
                    }
                }
                Ok(is_valid)
            }
            _ => Ok(true),
        }
    }

    fn all_of(
        &mut self,
        ids: &[NodeId],
        value: &Value,
        mut marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let mut is_valid = true;
        for id in ids {
            is_valid &= self.schema(*id, value, marks.as_deref_mut())?;
            if !is_valid && self.has_enough_mismatches() {
                return Ok(false);
            }
        }
        Ok(is_valid)
    }

    fn any_of(
        &mut self,
        ids: &[NodeId],
        value: &Value,
        mut marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let mut holds = false;
        for id in ids {
            holds |= self.matches_silently(*id, value, marks.as_deref_mut())?;
            // If evaluated parts are being marked, every branch must run, because each may mark
            // more.
            if holds && marks.is_none() {
                return Ok(true);
            }
        }
        Ok(self.report_unless(holds, || no_match_message("anyOf", value)))
    }

    fn one_of(
        &mut self,
        ids: &[NodeId],
        value: &Value,
        mut marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let mut count = 0;
        for id in ids {
            count += usize::from(self.matches_silently(*id, value, marks.as_deref_mut())?);
            if count > 1 {
                return Ok(self.report_mismatch(|| {
                    let listed = "of the schemas listed in the 'oneOf' keyword";
                    format!("{} is valid under more than one {listed}", display_value(value))
                }));
            }
        }
        Ok(self.report_unless(count == 1, || no_match_message("oneOf", value)))
    }

    fn unevaluated_items(
        &mut self,
        id: NodeId,
        items: &[Value],
        marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let Some(marks) = marks else { return Ok(true) };
        let mut extra = Vec::new();
        for (item, mark) in items.iter().zip(marks.iter_mut()) {
            self.budget.spend(1)?;
            if !*mark && !self.matches_silently(id, item, None)? {
                extra.push(display_value(item));
            }
            *mark = true;
        }
        Ok(self.report_unless(extra.is_empty(), || unexpected("Unevaluated items", &extra)))
    }

    fn unevaluated_properties(
        &mut self,
        id: NodeId,
        object: &Object,
        marks: Option<&mut EvaluatedMarks>,
    ) -> Result {
        let Some(marks) = marks else { return Ok(true) };
        let mut extra = Vec::new();
        for (entry, mark) in object.entries().iter().zip(marks.iter_mut()) {
            self.budget.spend(1)?;
            if !*mark && !self.matches_silently(id, &entry.value, None)? {
                extra.push(entry.key.name().to_string());
            }
            *mark = true;
        }
        Ok(self.report_unless(extra.is_empty(), || unexpected("Unevaluated properties", &extra)))
    }
}

fn no_match_message(keyword: &str, value: &Value) -> String {
    let listed = "of the schemas listed in the";
    format!("{} is not valid under any {listed} '{keyword}' keyword", display_value(value))
}
