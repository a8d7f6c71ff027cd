//! Converts type expressions to types.

use std::sync::Arc;

use meantime_value::{Kind, Namespace, Object, Text};

use super::super::diagnostic::{Code, Problem};
use super::super::syntax::{FieldExpr, Name, TypeExpr, TypeExprKind};
use super::super::types::{Field, Parameter, Shape, Type};
use super::compiler::Compiler;
use super::scope::Binding;
use super::suggest::did_you_mean;

const TYPE_NAMES: &[&str] = &[
    "Any",
    "Array",
    "Binary",
    "Boolean",
    "Comparable",
    "Date",
    "DateTime",
    "Dictionary",
    "Function",
    "Key",
    "LocalDateTime",
    "LocalTime",
    "Namespace",
    "Nothing",
    "Null",
    "Number",
    "Object",
    "Period",
    "Range",
    "Regex",
    "SimpleType",
    "String",
    "Time",
    "TimeZone",
    "Type",
    "Uri",
];

impl Compiler<'_> {
    /// A type; a declared name at the top level is replaced by its declaration.
    pub(super) fn lower_type(&mut self, expr: &TypeExpr) -> Arc<Type> {
        let lowered = self.nested_type(expr);
        match &lowered.shape {
            Shape::Reference(_, index) => match self.types.get(*index) {
                // While the table is being filled, an entry may still be empty; then a reference is
                // used.
                Some(target) if target.name.is_some() => Arc::clone(target),
                _ => lowered,
            },
            _ => lowered,
        }
    }

    fn nested_type(&mut self, expr: &TypeExpr) -> Arc<Type> {
        let shape = match &expr.kind {
            TypeExprKind::Named { module, name, args } => {
                return self.named_type(module, name, args);
            }
            TypeExprKind::Literal(value) => Shape::Literal(value.clone()),
            TypeExprKind::Object { fields, closed } => Shape::Object {
                fields: fields.iter().map(|field| self.field(field)).collect(),
                closed: *closed,
            },
            TypeExprKind::Function { params, result } => Shape::Function {
                params: params.iter().enumerate().map(|param| self.parameter(param)).collect(),
                result: self.nested_type(result),
            },
            TypeExprKind::Union(members) => {
                Shape::Union(members.iter().map(|member| self.nested_type(member)).collect())
            }
            TypeExprKind::Intersection(members) => {
                Shape::Intersection(members.iter().map(|member| self.nested_type(member)).collect())
            }
            TypeExprKind::Select(target, namespace, name) => {
                return self.selected_type(target, namespace.as_ref(), name);
            }
            TypeExprKind::Noted(inner, metadata) => {
                let mut lowered = (*self.lower_type(inner)).clone();
                let mut object = Object::default();
                for (name, value) in metadata {
                    object.insert(name, value.clone());
                }
                lowered.metadata.entries().iter().for_each(|entry| object.add(entry.clone()));
                lowered.metadata = object;
                lowered.name = None;
                return Arc::new(lowered);
            }
        };
        Arc::new(Type::new(shape))
    }

    fn parameter(&mut self, (index, param): (usize, &(Option<Name>, TypeExpr, bool))) -> Parameter {
        let (name, kind, optional) = param;
        let name = match name {
            Some(name) => name.text.clone(),
            None => Text::from(format!("param_{index}")),
        };
        Parameter { name, kind: self.nested_type(kind), optional: *optional }
    }

    fn field(&mut self, field: &FieldExpr) -> Field {
        Field {
            namespace: field.namespace.as_ref().and_then(|name| self.namespace(name)),
            name: field.name.clone(),
            optional: field.optional,
            repeated: field.repeated,
            attributes: field.attributes.iter().map(|field| self.field(field)).collect(),
            kind: self.nested_type(&field.kind),
        }
    }

    fn named_type(&mut self, module: &[Text], name: &Name, args: &[TypeExpr]) -> Arc<Type> {
        if module.is_empty() {
            match self.scope.find(&name.text) {
                Some(Binding::Type(index)) => {
                    return Arc::new(Type::new(Shape::Reference(name.text.clone(), *index)));
                }
                Some(Binding::TypeParam) => return Arc::new(Type::new(Shape::Any)),
                _ => {}
            }
        }
        match (Type::built_in(&name.text), args) {
            (Some(Type { shape: Shape::Kind(Kind::Array), .. }), [item]) => {
                Arc::new(Type::new(Shape::Array(self.nested_type(item))))
            }
            (Some(built_in), _) => Arc::new(built_in),
            // Types of imported modules are unknown here; they accept any value.
            (None, _) if !module.is_empty() || !self.scope.open_modules.is_empty() => {
                Arc::new(Type::new(Shape::Any))
            }
            (None, _) => {
                let message = format!("there is no type `{}`", name.text);
                let mut problem = Problem::error(Code::UnknownType, name.span, message);
                let declared =
                    self.scope.names().filter(|name| name.starts_with(char::is_uppercase));
                problem.help = did_you_mean(&name.text, TYPE_NAMES.iter().copied().chain(declared));
                self.problems.push(problem);
                Arc::new(Type::new(Shape::Any))
            }
        }
    }

    /// `Type.field`: the type of the field, over all members of a union.
    fn selected_type(
        &mut self,
        target: &TypeExpr,
        namespace: Option<&Name>,
        name: &Text,
    ) -> Arc<Type> {
        let namespace = namespace.and_then(|name| self.namespace(name));
        let target = self.nested_type(target);
        let mut found = Vec::new();
        self.fields_of(&target, namespace.as_ref(), name, &mut found, 0);
        match found.len() {
            0 => Arc::new(Type::new(Shape::Any)),
            1 => found.swap_remove(0),
            _ => Arc::new(Type::new(Shape::Union(found))),
        }
    }

    fn fields_of(
        &self,
        target: &Arc<Type>,
        namespace: Option<&Namespace>,
        name: &Text,
        found: &mut Vec<Arc<Type>>,
        level: usize,
    ) {
        if level > self.types.len() + 8 {
            return;
        }
        match &target.shape {
            Shape::Reference(_, index) => {
                if let Some(target) = self.types.get(*index) {
                    self.fields_of(target, namespace, name, found, level + 1);
                }
            }
            Shape::Union(members) | Shape::Intersection(members) => {
                for member in members {
                    self.fields_of(member, namespace, name, found, level + 1);
                }
            }
            Shape::Array(item) => self.fields_of(item, namespace, name, found, level + 1),
            Shape::Object { fields, .. } => {
                let is_it = |field: &&Field| {
                    field.name.as_ref() == Some(name) && field.namespace.as_ref() == namespace
                };
                found.extend(fields.iter().filter(is_it).map(|field| Arc::clone(&field.kind)));
            }
            _ => {}
        }
    }
}
