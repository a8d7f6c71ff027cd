//! Selectors.

use meantime_value::{Entry, Kind, Namespace, Number, Object, Range, Text, Value, text};

use super::super::coerce;
use super::super::program::{NameNode, Node, Op, SelectorNode};
use super::super::syntax::{SelectedPart, SelectorReach};
use super::fault::{Fault, FaultCode, Result};
use super::machine::{Eval, Frame};
use crate::calendar;

/// The name that a selector searches.
struct FieldQuery<'w> {
    name: &'w str,
    namespace: Option<&'w Namespace>,
}

impl FieldQuery<'_> {
    fn is(&self, entry: &Entry) -> bool {
        &**entry.key.name() == self.name
            && match (self.namespace, entry.key.namespace()) {
                (None, _) => true,
                (Some(wanted), Some(found)) => wanted.uri == found.uri,
                (Some(_), None) => false,
            }
    }
}

impl Eval<'_> {
    pub(super) fn select(
        &mut self,
        target: &Node,
        selector: &SelectorNode,
        frame: Frame<'_>,
    ) -> Result {
        match selector {
            SelectorNode::Exists => self.exists(target, frame),
            SelectorNode::Required => self.required(target, frame),
            SelectorNode::Field {
                reach: SelectorReach::First,
                what: SelectedPart::Attribute,
                name,
                namespace,
            } => self.attribute(target, name, namespace.as_ref(), frame),
            SelectorNode::All(SelectedPart::Attribute | SelectedPart::Namespace) => {
                self.select_of_key(target, selector, frame)
            }
            _ => {
                let value = self.eval(target, frame)?;
                // Selecting from a selection that found nothing gives null, not an error.
                if value.is_null() && matches!(target.op, Op::Select(..)) {
                    return Ok(Value::Null);
                }
                let found = self.apply(&value, selector, frame)?;
                if found.is_null() && self.code.headers_in_any_case && is_headers(target) {
                    return self.header(&value, selector, frame);
                }
                Ok(found)
            }
        }
    }

    /// A header by its name in any case.
    fn header(&mut self, headers: &Value, selector: &SelectorNode, frame: Frame<'_>) -> Result {
        let Value::Object(headers) = headers.bare() else { return Ok(Value::Null) };
        let name = match selector {
            SelectorNode::Field {
                reach: SelectorReach::First,
                what: SelectedPart::Value,
                namespace: None,
                name,
            } => self.name(name, frame)?.to_string(),
            SelectorNode::Index(node) => match self.eval(node, frame)?.bare() {
                Value::Text(name) => name.to_string(),
                _ => return Ok(Value::Null),
            },
            _ => return Ok(Value::Null),
        };
        self.charge(headers.len() as u64)?;
        let found = headers.entries().iter().find(|it| it.key.name().eq_ignore_ascii_case(&name));
        Ok(found.map(|entry| entry.value.clone()).unwrap_or_default())
    }

    fn apply(&mut self, value: &Value, selector: &SelectorNode, frame: Frame<'_>) -> Result {
        match selector {
            SelectorNode::Field { reach, what, namespace, name } => {
                if *what == SelectedPart::Metadata {
                    let name = self.name(name, frame)?;
                    return Ok(note(value, &name));
                }
                if let (SelectorReach::First, SelectedPart::Value, NameNode::Plain(name), None) =
                    (reach, what, name, namespace)
                {
                    return self.field(value, &FieldQuery { name, namespace: None });
                }
                let name = self.name(name, frame)?;
                let wanted = FieldQuery { name: &name, namespace: namespace.as_ref() };
                self.reach(value, *reach, *what, &wanted)
            }
            SelectorNode::All(_) => {
                let metadata = value.metadata().cloned().unwrap_or_default();
                Ok(Value::object(metadata))
            }
            SelectorNode::Descendants => {
                let mut found = Vec::new();
                let mut pick = |object: &Object, found: &mut Vec<Value>| {
                    found.extend(object.entries().iter().map(|entry| entry.value.clone()));
                };
                self.descend(value, &mut pick, &mut found)?;
                self.array(found)
            }
            SelectorNode::Index(node) => {
                let index = self.eval(node, frame)?;
                self.index(value, &index)
            }
            SelectorNode::Filter(lambda) => {
                let filter = self.lambda_value(*lambda, frame)?;
                self.filter_selector(value, &filter)
            }
            SelectorNode::Exists | SelectorNode::Required => Ok(value.clone()),
        }
    }

    fn reach(
        &mut self,
        value: &Value,
        reach: SelectorReach,
        what: SelectedPart,
        wanted: &FieldQuery<'_>,
    ) -> Result {
        match (reach, what) {
            (SelectorReach::First, SelectedPart::Value) => self.field(value, wanted),
            (SelectorReach::First | SelectorReach::All, SelectedPart::Pair) => {
                self.pairs(value, wanted)
            }
            (SelectorReach::All, SelectedPart::Value) => self.all_fields(value, wanted),
            (SelectorReach::Descendants | SelectorReach::AllDescendants, _) => {
                self.descendant_fields(value, reach, what, wanted)
            }
            (SelectorReach::First | SelectorReach::All, _) => Ok(Value::Null),
        }
    }

    /// `.name`.
    fn field(&mut self, value: &Value, wanted: &FieldQuery<'_>) -> Result {
        match value.bare() {
            Value::Object(object) => {
                let found = object.entries().iter().find(|entry| wanted.is(entry));
                Ok(found.map(|entry| entry.value.clone()).unwrap_or_default())
            }
            Value::Null | Value::Number(_) | Value::Range(_) => Ok(Value::Null),
            Value::Array(items) => {
                let mut found = Vec::new();
                self.charge(items.len() as u64)?;
                for item in items.iter() {
                    if let Value::Object(object) = item.bare() {
                        let entry = object.entries().iter().find(|entry| wanted.is(entry));
                        found.extend(entry.map(|entry| entry.value.clone()));
                    }
                }
                self.found_or_null(found)
            }
            Value::Namespace(namespace) => Ok(match wanted.name {
                "prefix" => Value::Text(namespace.prefix.clone()),
                "uri" => Value::Text(namespace.uri.clone()),
                _ => Value::Null,
            }),
            other => match calendar::part(other, wanted.name) {
                Some(part) => Ok(part),
                None => Err(no_fields(value, wanted.name)),
            },
        }
    }

    /// The found values, or null if there are none.
    fn found_or_null(&mut self, found: Vec<Value>) -> Result {
        if found.is_empty() { Ok(Value::Null) } else { self.array(found) }
    }

    /// `.&name`: the pairs with that name.
    fn pairs(&mut self, value: &Value, wanted: &FieldQuery<'_>) -> Result {
        match value.bare() {
            Value::Object(object) => {
                let pairs: Object =
                    object.entries().iter().filter(|entry| wanted.is(entry)).cloned().collect();
                if pairs.is_empty() { Ok(Value::Null) } else { self.object(pairs) }
            }
            Value::Array(items) => {
                let mut found = Vec::new();
                for item in items.iter() {
                    self.charge(1)?;
                    if let Value::Object(_) = item.bare() {
                        let pairs = self.pairs(item, wanted)?;
                        if !pairs.is_null() {
                            found.push(pairs);
                        }
                    }
                }
                self.found_or_null(found)
            }
            Value::Null => Ok(Value::Null),
            _ => Err(no_fields(value, wanted.name)),
        }
    }

    /// `.*name`.
    fn all_fields(&mut self, value: &Value, wanted: &FieldQuery<'_>) -> Result {
        let mut found = Vec::new();
        match value.bare() {
            Value::Object(object) => collect(object, wanted, &mut found),
            Value::Array(items) => {
                self.charge(items.len() as u64)?;
                for item in items.iter() {
                    if let Value::Object(object) = item.bare() {
                        collect(object, wanted, &mut found);
                    }
                }
            }
            Value::Null => {}
            _ => return Err(no_fields(value, wanted.name)),
        }
        self.found_or_null(found)
    }

    /// `..name`: at every level, outer levels first.
    fn descendant_fields(
        &mut self,
        value: &Value,
        reach: SelectorReach,
        what: SelectedPart,
        wanted: &FieldQuery<'_>,
    ) -> Result {
        if value.is_null() {
            return Err(no_fields(value, wanted.name));
        }
        let mut found = Vec::new();
        let mut pick = |object: &Object, found: &mut Vec<Value>| {
            let own = object.entries().iter().filter(|entry| wanted.is(entry));
            match what {
                SelectedPart::Attribute => {
                    let keys = object.entries().iter().filter_map(|entry| entry.key.attributes());
                    let pairs = keys.flat_map(Object::entries).filter(|entry| wanted.is(entry));
                    found.extend(pairs.map(|entry| entry.value.clone()));
                }
                SelectedPart::Pair => {
                    let pairs: Object = own.cloned().collect();
                    found.extend((!pairs.is_empty()).then(|| Value::object(pairs)));
                }
                _ => {
                    let most = if reach == SelectorReach::Descendants { 1 } else { usize::MAX };
                    found.extend(own.take(most).map(|entry| entry.value.clone()));
                }
            }
        };
        self.descend(value, &mut pick, &mut found)?;
        self.found_or_null(found)
    }

    fn descend(
        &mut self,
        value: &Value,
        pick: &mut dyn FnMut(&Object, &mut Vec<Value>),
        found: &mut Vec<Value>,
    ) -> Result<()> {
        match value.bare() {
            Value::Object(object) => {
                self.charge(object.len() as u64)?;
                pick(object, found);
                for entry in object.entries() {
                    self.descend(&entry.value, pick, found)?;
                }
            }
            Value::Array(items) => {
                self.charge(items.len() as u64)?;
                for item in items.iter() {
                    self.descend(item, pick, found)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `[index]`, `["name"]`, `[from to to]`.
    pub(super) fn index(&mut self, value: &Value, index: &Value) -> Result {
        match index.bare() {
            Value::Number(number) => Self::element(value, number),
            Value::Range(range) => self.slice(value, *range),
            Value::Text(name) => self.named_element(value, name),
            Value::Key(key) => self.named_element(value, key.name()),
            Value::Null if value.is_null() => Ok(Value::Null),
            _ => Err(no_index(value, index)),
        }
    }

    fn named_element(&mut self, value: &Value, name: &Text) -> Result {
        self.field(value, &FieldQuery { name, namespace: None })
    }

    fn element(value: &Value, number: &Number) -> Result {
        let found = match value.bare() {
            Value::Array(items) => {
                item_index(number, items.len()).and_then(|at| items.get(at).cloned())
            }
            Value::Range(range) => {
                let size = usize::try_from(range.len()).unwrap_or(usize::MAX);
                item_index(number, size).and_then(|at| range.get(at as u64)).map(Value::from)
            }
            Value::Object(object) => item_index(number, object.len())
                .and_then(|at| object.entries().get(at))
                .map(|entry| entry.value.clone()),
            Value::Binary(bytes) => item_index(number, bytes.len())
                .and_then(|at| bytes.get(at))
                .map(|byte| Value::Binary([*byte].into())),
            Value::Null => None,
            other => {
                let Some(text) = coerce::auto_text(other) else {
                    return Err(no_index(value, &Value::Number(number.clone())));
                };
                item_index(number, text::length(&text))
                    .and_then(|at| text::unit(&text, at))
                    .map(Value::from)
            }
        };
        Ok(found.unwrap_or_default())
    }

    /// A range of elements, backwards if the range is descending. Null if it is outside.
    fn slice(&mut self, value: &Value, range: Range) -> Result {
        let size = match value.bare() {
            Value::Array(items) => items.len(),
            Value::Range(all) => usize::try_from(all.len()).unwrap_or(usize::MAX),
            Value::Text(text) => text::length(text),
            Value::Binary(bytes) => bytes.len(),
            other => match coerce::auto_text(other) {
                Some(text) => return self.slice(&Value::Text(text), range),
                None => return Err(no_index(value, &Value::Range(range))),
            },
        };
        let ends =
            (item_index(&Number::Int(range.from), size), item_index(&Number::Int(range.to), size));
        let (Some(from), Some(to)) = ends else { return Ok(Value::Null) };
        let (low, high) = (from.min(to), from.max(to) + 1);
        self.charge((high - low) as u64)?;
        let backwards = from > to;
        match value.bare() {
            Value::Text(text) => {
                let slice = text::slice(text, low, high);
                self.text(if backwards { slice.chars().rev().collect() } else { slice })
            }
            Value::Binary(bytes) => {
                let mut slice = bytes.get(low..high).unwrap_or_default().to_vec();
                if backwards {
                    slice.reverse();
                }
                Ok(Value::Binary(slice.into()))
            }
            _ => {
                let count = high.saturating_sub(low);
                self.charge(count as u64)?;
                self.budget.allocate(count.saturating_mul(size_of::<Value>()))?;
                let skipped = low as u64 / 8;
                self.charge(skipped)?;
                let mut items: Vec<Value> = Self::items(value).skip(low).take(count).collect();
                if backwards {
                    items.reverse();
                }
                self.array(items)
            }
        }
    }

    /// `[?(condition)]`.
    fn filter_selector(&mut self, value: &Value, filter: &Value) -> Result {
        match value.bare() {
            Value::Array(_) | Value::Range(_) => {
                let mut found = Vec::new();
                for (index, item) in Self::items(value).enumerate() {
                    if self.test(filter, &mut [item.clone(), Value::from(index)])? {
                        found.push(item);
                    }
                }
                self.found_or_null(found)
            }
            Value::Object(object) => {
                let mut found = Object::default();
                for entry in object.entries() {
                    let key = Value::Key(entry.key.clone());
                    if self.test(filter, &mut [entry.value.clone(), key])? {
                        found.add(entry.clone());
                    }
                }
                if found.is_empty() { Ok(Value::Null) } else { self.object(found) }
            }
            Value::Null => Ok(Value::Null),
            _ => Err(no_index(value, filter)),
        }
    }

    /// Calls a function that must return a boolean.
    pub(crate) fn test(&mut self, function: &Value, args: &mut [Value]) -> Result<bool> {
        let value = self.call(function, args)?;
        coerce::to_boolean(&value).map_err(|_| Fault::expected(Kind::Boolean, &value))
    }

    /// `selector?`.
    fn exists(&mut self, target: &Node, frame: Frame<'_>) -> Result {
        let Op::Select(inner, selector) = &target.op else {
            let value = self.eval(target, frame)?;
            return Ok(Value::Bool(!value.is_null()));
        };
        let value = match &**selector {
            SelectorNode::Field { what: SelectedPart::Attribute, .. } | SelectorNode::All(_) => {
                let value = self.select(inner, selector, frame)?;
                return Ok(Value::Bool(!value.is_null()));
            }
            _ => self.eval(inner, frame)?,
        };
        if let (
            Value::Object(object),
            SelectorNode::Field { reach: SelectorReach::First, name, namespace, .. },
        ) = (value.bare(), &**selector)
        {
            // A key whose value is null exists.
            let name = self.name(name, frame)?;
            let wanted = FieldQuery { name: &name, namespace: namespace.as_ref() };
            return Ok(Value::Bool(object.entries().iter().any(|entry| wanted.is(entry))));
        }
        match self.apply(&value, selector, frame) {
            Ok(found) => Ok(Value::Bool(!found.is_null())),
            Err(fault) if fault.code == FaultCode::Type => Ok(Value::Bool(false)),
            Err(fault) => Err(fault),
        }
    }

    /// `selector!`.
    fn required(&mut self, target: &Node, frame: Frame<'_>) -> Result {
        let exists = self.exists(target, frame)?;
        if exists == Value::Bool(true) {
            return self.eval(target, frame);
        }
        let what = match &target.op {
            Op::Select(_, selector) => match &**selector {
                SelectorNode::Field { name, .. } => {
                    format!("there is no key `{}`", self.name(name, frame)?)
                }
                _ => "there is nothing at this index".to_owned(),
            },
            _ => "there is no value".to_owned(),
        };
        Err(Fault::new(FaultCode::Missing, what))
    }

    /// `.@name` of the pair that the preceding selector found.
    fn attribute(
        &mut self,
        target: &Node,
        name: &NameNode,
        namespace: Option<&Namespace>,
        frame: Frame<'_>,
    ) -> Result {
        let name = self.name(name, frame)?;
        let wanted = FieldQuery { name: &name, namespace };
        if let Some(entries) = self.pairs_of_all(target, frame)? {
            let attributes = entries.iter().filter_map(|entry| entry.key.attributes());
            let pairs = attributes.flat_map(Object::entries).filter(|entry| wanted.is(entry));
            let found = pairs.map(|entry| entry.value.clone()).collect();
            return self.found_or_null(found);
        }
        let key = self.key_of(target, frame)?;
        let attributes = key.as_ref().and_then(|entry| entry.key.attributes());
        let found = attributes.and_then(|all| all.entries().iter().find(|entry| wanted.is(entry)));
        Ok(found.map(|entry| entry.value.clone()).unwrap_or_default())
    }

    /// `.@` and `.#`.
    fn select_of_key(
        &mut self,
        target: &Node,
        selector: &SelectorNode,
        frame: Frame<'_>,
    ) -> Result {
        let Some(entry) = self.key_of(target, frame)? else { return Ok(Value::Null) };
        Ok(match selector {
            SelectorNode::All(SelectedPart::Namespace) => match entry.key.namespace() {
                Some(namespace) => Value::Namespace(std::sync::Arc::new(namespace.clone())),
                None => Value::Null,
            },
            _ => match entry.key.attributes() {
                Some(attributes) => Value::object(attributes.clone()),
                None => Value::Null,
            },
        })
    }

    /// The pairs that `.*name` finds.
    fn pairs_of_all(&mut self, target: &Node, frame: Frame<'_>) -> Result<Option<Vec<Entry>>> {
        let Op::Select(inner, selector) = &target.op else { return Ok(None) };
        let SelectorNode::Field {
            reach: SelectorReach::All,
            what: SelectedPart::Value,
            name,
            namespace,
        } = &**selector
        else {
            return Ok(None);
        };
        let value = self.eval(inner, frame)?;
        let name = self.name(name, frame)?;
        let wanted = FieldQuery { name: &name, namespace: namespace.as_ref() };
        Ok(match value.bare() {
            Value::Object(object) => {
                Some(object.entries().iter().filter(|entry| wanted.is(entry)).cloned().collect())
            }
            _ => None,
        })
    }

    /// The pair that a field selector finds; a key itself counts as a pair.
    fn key_of(&mut self, target: &Node, frame: Frame<'_>) -> Result<Option<Entry>> {
        if let Op::Select(inner, selector) = &target.op
            && let SelectorNode::Field {
                reach: SelectorReach::First,
                what: SelectedPart::Value,
                name,
                namespace,
            } = &**selector
        {
            let value = self.eval(inner, frame)?;
            let name = self.name(name, frame)?;
            let wanted = FieldQuery { name: &name, namespace: namespace.as_ref() };
            return Ok(match value.bare() {
                Value::Object(object) => {
                    object.entries().iter().find(|entry| wanted.is(entry)).cloned()
                }
                _ => None,
            });
        }
        let value = self.eval(target, frame)?;
        Ok(match value.bare() {
            Value::Key(key) => Some(Entry { key: key.clone(), value: Value::Null }),
            _ => None,
        })
    }
}

/// Whether a node selects a field `headers`.
fn is_headers(node: &Node) -> bool {
    let Op::Select(_, selector) = &node.op else { return false };
    matches!(
        &**selector,
        SelectorNode::Field {
            reach: SelectorReach::First,
            what: SelectedPart::Value,
            namespace: None,
            name: NameNode::Plain(name),
        } if &**name == "headers"
    )
}

fn collect(object: &Object, wanted: &FieldQuery<'_>, found: &mut Vec<Value>) {
    let entries = object.entries().iter().filter(|entry| wanted.is(entry));
    found.extend(entries.map(|entry| entry.value.clone()));
}

/// An index; negative ones count from the end. None if it is outside.
fn item_index(number: &Number, size: usize) -> Option<usize> {
    let index = number.to_i64()?;
    if index >= 0 {
        return usize::try_from(index).ok().filter(|index| *index < size);
    }
    size.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
}

fn note(value: &Value, name: &str) -> Value {
    value.metadata().and_then(|metadata| metadata.get(name)).cloned().unwrap_or_default()
}

fn no_fields(value: &Value, name: &str) -> Fault {
    Fault::type_error(format!("a {} has no field `{name}`", value.kind().name()))
}

fn no_index(value: &Value, index: &Value) -> Fault {
    let (value, index) = (value.kind().name(), index.kind().name());
    Fault::type_error(format!("a {value} cannot be indexed with a {index}"))
}
