//! Compiles a document to nodes. References are resolved here, once: a node refers to others by
//! number.

use std::collections::BTreeMap;

use meantime_value::json::read;
use meantime_value::{Number, Pattern, Value};
use serde_json::{Map, Value as Json};

use super::format::Format;
use super::keyword::{AdditionalProperties, Keyword, Node, NodeId, Properties, Type};
use super::refer::{References, join};

/// The most subschemas in one schema.
const MAX_NODES: usize = 20_000;

/// The nesting depth of subschemas.
const MAX_NESTING: usize = 128;

/// Regular expressions of one schema: each takes memory for the lifetime of the definition.
const MAX_PATTERNS: usize = 500;

type Result<T> = std::result::Result<T, String>;

/// Compiles a document that is a valid schema.
pub(super) fn compile(document: &Json) -> Result<Vec<Node>> {
    let mut compiler = Compiler {
        document,
        references: References::of(document)?,
        nodes: Vec::new(),
        known: BTreeMap::new(),
        patterns: 0,
        nesting: 0,
    };
    compiler.schema(document, "")?;
    // In the order in which they were found: a reference may point to a node that is compiled
    // later.
    let mut nodes = Vec::with_capacity(compiler.nodes.len());
    for node in compiler.nodes {
        nodes.push(node.unwrap_or_default());
    }
    match cycle(&nodes) {
        Some(()) => {
            Err("a `$ref` refers back to itself without descending into the value".to_owned())
        }
        None => Ok(nodes),
    }
}

struct Compiler<'d> {
    document: &'d Json,
    references: References,
    nodes: Vec<Option<Node>>,
    /// Node numbers by pointer.
    known: BTreeMap<String, NodeId>,
    patterns: usize,
    nesting: usize,
}

impl<'d> Compiler<'d> {
    fn schema(&mut self, schema: &'d Json, pointer: &str) -> Result<NodeId> {
        if let Some(id) = self.known.get(pointer) {
            return Ok(*id);
        }
        let id = self.nodes.len();
        if id >= MAX_NODES {
            return Err(format!("it has more than {MAX_NODES} schemas inside it"));
        }
        if self.nesting >= MAX_NESTING {
            return Err(format!("it is nested deeper than {MAX_NESTING} levels"));
        }
        self.known.insert(pointer.to_owned(), id);
        self.nodes.push(None);
        self.nesting += 1;
        let mut keywords = match schema {
            Json::Bool(true) => Vec::new(),
            Json::Bool(false) => vec![Keyword::Never],
            Json::Object(members) => self.keywords(members, pointer)?,
            _ => return Err(format!("`{pointer}` is not a schema")),
        };
        self.nesting -= 1;
        keywords.sort_by_key(Keyword::rank);
        let asks = |it: &Keyword| {
            matches!(it, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_))
        };
        let needs_marks = keywords.iter().any(asks);
        if let Some(node) = self.nodes.get_mut(id) {
            *node = Some(Node { keywords, needs_marks });
        }
        Ok(id)
    }

    fn keywords(&mut self, members: &'d Map<String, Json>, pointer: &str) -> Result<Vec<Keyword>> {
        let mut found = Vec::new();
        self.properties(members, pointer, &mut found)?;
        for (key, value) in members {
            let at = join(pointer, key);
            let keyword = match key.as_str() {
                "$ref" | "$dynamicRef" => self.reference(value)?,
                "type" => Keyword::Type(types(value)),
                "const" => Keyword::Const(data(value)?),
                "enum" => Keyword::Enum(elements(value).iter().map(data).collect::<Result<_>>()?),
                "minimum" => Keyword::Minimum { limit: number(value)?, exclusive: false },
                "exclusiveMinimum" => Keyword::Minimum { limit: number(value)?, exclusive: true },
                "maximum" => Keyword::Maximum { limit: number(value)?, exclusive: false },
                "exclusiveMaximum" => Keyword::Maximum { limit: number(value)?, exclusive: true },
                "multipleOf" => Keyword::MultipleOf(number(value)?),
                "minLength" => Keyword::MinLength(count(value)?),
                "maxLength" => Keyword::MaxLength(count(value)?),
                "pattern" => Keyword::Pattern(Box::new(self.pattern(text(value))?)),
                "format" => match Format::new(text(value)) {
                    Some(format) => Keyword::Format(format),
                    None => continue,
                },
                "minItems" => Keyword::MinItems(count(value)?),
                "maxItems" => Keyword::MaxItems(count(value)?),
                "uniqueItems" if value == &Json::Bool(true) => Keyword::UniqueItems,
                "prefixItems" => Keyword::PrefixItems(self.schemas(value, &at)?),
                "items" => {
                    let skip = members.get("prefixItems").map_or(0, |it| elements(it).len());
                    Keyword::Items { skip, schema: self.schema(value, &at)? }
                }
                "contains" => Keyword::Contains {
                    schema: self.schema(value, &at)?,
                    min: members.get("minContains").map_or(Ok(1), count)?,
                    max: members.get("maxContains").map(count).transpose()?,
                },
                "minProperties" => Keyword::MinProperties(count(value)?),
                "maxProperties" => Keyword::MaxProperties(count(value)?),
                "required" => Keyword::Required(texts(value)),
                "dependentRequired" => Keyword::DependentRequired(
                    entries(value).map(|(name, needed)| (name.clone(), texts(needed))).collect(),
                ),
                "dependentSchemas" => Keyword::DependentSchemas(self.named(value, &at)?),
                "dependencies" => {
                    self.dependencies(value, &at, &mut found)?;
                    continue;
                }
                "propertyNames" => Keyword::PropertyNames(self.schema(value, &at)?),
                "allOf" => Keyword::AllOf(self.schemas(value, &at)?),
                "anyOf" => Keyword::AnyOf(self.schemas(value, &at)?),
                "oneOf" => Keyword::OneOf(self.schemas(value, &at)?),
                "not" => Keyword::Not(self.schema(value, &at)?, super::message::excerpt(value)),
                "if" => {
                    let mut other = |key: &str| {
                        let schema = members.get(key);
                        schema.map(|it| self.schema(it, &join(pointer, key))).transpose()
                    };
                    let (then, otherwise) = (other("then")?, other("else")?);
                    Keyword::If { test: self.schema(value, &at)?, then, otherwise }
                }
                "unevaluatedItems" => Keyword::UnevaluatedItems(self.schema(value, &at)?),
                "unevaluatedProperties" => Keyword::UnevaluatedProperties(self.schema(value, &at)?),
                // Annotations and unknown keywords assert nothing.
                _ => continue,
            };
            found.push(keyword);
        }
        Ok(found)
    }

    fn properties(
        &mut self,
        members: &'d Map<String, Json>,
        pointer: &str,
        found: &mut Vec<Keyword>,
    ) -> Result<()> {
        let names = ["properties", "patternProperties", "additionalProperties"];
        if !names.iter().any(|name| members.contains_key(*name)) {
            return Ok(());
        }
        let mut properties = Properties::default();
        if let Some(schemas) = members.get("properties") {
            let pairs = self.named(schemas, &join(pointer, "properties"))?;
            properties.named = pairs.into_iter().collect();
        }
        if let Some(patterns) = members.get("patternProperties") {
            for (source, id) in self.named(patterns, &join(pointer, "patternProperties"))? {
                properties.patterns.push((self.pattern(&source)?, id));
            }
        }
        properties.others = match members.get("additionalProperties") {
            None => AdditionalProperties::Any,
            Some(Json::Bool(false)) => AdditionalProperties::None,
            Some(schema) => AdditionalProperties::Match(
                self.schema(schema, &join(pointer, "additionalProperties"))?,
            ),
        };
        found.push(Keyword::Properties(properties));
        Ok(())
    }

    /// `dependencies` of older drafts, which is two keywords in the current one.
    fn dependencies(
        &mut self,
        value: &'d Json,
        pointer: &str,
        found: &mut Vec<Keyword>,
    ) -> Result<()> {
        for (name, needed) in entries(value) {
            found.push(match needed {
                Json::Array(_) => Keyword::DependentRequired(vec![(name.clone(), texts(needed))]),
                schema => {
                    let id = self.schema(schema, &join(pointer, name))?;
                    Keyword::DependentSchemas(vec![(name.clone(), id)])
                }
            });
        }
        Ok(())
    }

    /// `$dynamicRef` as well: within one document it has only one possible target.
    fn reference(&mut self, value: &'d Json) -> Result<Keyword> {
        let reference = text(value);
        let pointer = self.references.resolve(reference)?;
        let missing = || format!("`{reference}` refers to nothing");
        let schema = self.document.pointer(&pointer).ok_or_else(missing)?;
        if !schema.is_object() && !schema.is_boolean() {
            return Err(format!("`{reference}` does not refer to a schema"));
        }
        Ok(Keyword::Ref(self.schema(schema, &pointer)?))
    }

    fn schemas(&mut self, value: &'d Json, pointer: &str) -> Result<Vec<NodeId>> {
        let schemas = elements(value).iter().enumerate();
        schemas.map(|(at, it)| self.schema(it, &format!("{pointer}/{at}"))).collect()
    }

    fn named(&mut self, value: &'d Json, pointer: &str) -> Result<Vec<(String, NodeId)>> {
        let schemas = entries(value);
        schemas.map(|(key, it)| Ok((key.clone(), self.schema(it, &join(pointer, key))?))).collect()
    }

    /// A regular expression of ECMA-262.
    fn pattern(&mut self, source: &str) -> Result<Pattern> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} regular expressions"));
        }
        let translated = jsonschema_regex::to_rust_regex(source);
        let translated =
            translated.map_err(|()| format!("`{source}` is not a regular expression"))?;
        Pattern::translated(source, &translated).map_err(|error| format!("`{source}` is {error}"))
    }
}

/// Whether evaluating a node can return to it with the same value.
fn cycle(nodes: &[Node]) -> Option<()> {
    let edges: Vec<Vec<NodeId>> = nodes
        .iter()
        .map(|it| it.keywords.iter().flat_map(Keyword::same_value_schemas).collect())
        .collect();
    // 0: not visited, 1: in progress, 2: done.
    let mut seen = vec![0_u8; nodes.len()];
    for root in 0..nodes.len() {
        let mut way = vec![(root, 0_usize)];
        while let Some((id, next)) = way.pop() {
            if next == 0 {
                match seen.get_mut(id) {
                    Some(state @ 0) => *state = 1,
                    _ => continue,
                }
            }
            match edges.get(id).and_then(|edges| edges.get(next)) {
                Some(to) => {
                    way.push((id, next.saturating_add(1)));
                    match seen.get(*to) {
                        Some(1) => return Some(()),
                        Some(0) => way.push((*to, 0)),
                        _ => {}
                    }
                }
                None => {
                    if let Some(state) = seen.get_mut(id) {
                        *state = 2;
                    }
                }
            }
        }
    }
    None
}

fn elements(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn entries(value: &Json) -> impl Iterator<Item = (&String, &Json)> {
    value.as_object().into_iter().flatten()
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Json) -> Vec<String> {
    elements(value).iter().map(|it| text(it).to_owned()).collect()
}

fn types(value: &Json) -> Vec<Type> {
    match value {
        Json::Array(names) => names.iter().filter_map(|it| Type::from_name(text(it))).collect(),
        name => Type::from_name(text(name)).into_iter().collect(),
    }
}

/// A constant that values are compared with.
fn data(value: &Json) -> Result<Value> {
    read(&value.to_string()).map_err(|error| error.to_string())
}

fn number(value: &Json) -> Result<Number> {
    match data(value)? {
        Value::Number(number) => Ok(number),
        _ => Err(format!("{value} is not a number")),
    }
}

/// A count; one above the largest number is treated as the largest, since no value reaches it.
fn count(value: &Json) -> Result<u64> {
    Ok(number(value)?.to_i64().and_then(|it| u64::try_from(it).ok()).unwrap_or(u64::MAX))
}
