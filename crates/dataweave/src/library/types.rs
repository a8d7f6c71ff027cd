//! `dw::core::Types`.

use std::sync::Arc;

use meantime_value::{Kind, Namespace, Object, Text, Value};

use super::super::eval::{Eval, Fault, Result};
use super::super::types::{Field, Shape, Type};
use super::native::{Args, Native, Overload, Param};

const ONE_PARAM: &[Param] = &[Param::TYPE];

/// `isXType` for every kind; tests the shape behind the name.
macro_rules! questions {
    ($($name:literal => $is:expr),+ $(,)?) => {
        &[$(Native::new($name, &[Overload::new(ONE_PARAM, |eval, args| {
            let is: fn(&Shape) -> bool = $is;
            Ok(Value::Bool(is(&resolved(eval, args)?.shape)))
        })])),+]
    };
}

macro_rules! is_kind {
    ($kind:ident) => {
        |shape| matches!(shape, Shape::Kind(Kind::$kind))
    };
}

pub(super) const TYPE_QUERIES: &[Native] = questions! {
    "isAnyType" => |shape| matches!(shape, Shape::Any),
    "isNothingType" => |shape| matches!(shape, Shape::Nothing),
    "isArrayType" => |shape| matches!(shape, Shape::Array(_) | Shape::Kind(Kind::Array)),
    "isObjectType" => |shape| matches!(shape, Shape::Object { .. } | Shape::Kind(Kind::Object)),
    "isFunctionType" => |shape| {
        matches!(shape, Shape::Function { .. } | Shape::Kind(Kind::Function))
    },
    "isUnionType" => |shape| matches!(shape, Shape::Union(_)),
    "isIntersectionType" => |shape| matches!(shape, Shape::Intersection(_)),
    "isLiteralType" => |shape| matches!(shape, Shape::Literal(_)),
    "isBinaryType" => is_kind!(Binary),
    "isBooleanType" => is_kind!(Boolean),
    "isDateTimeType" => is_kind!(DateTime),
    "isDateType" => is_kind!(Date),
    "isKeyType" => is_kind!(Key),
    "isLocalDateTimeType" => is_kind!(LocalDateTime),
    "isLocalTimeType" => is_kind!(LocalTime),
    "isNamespaceType" => is_kind!(Namespace),
    "isNullType" => is_kind!(Null),
    "isNumberType" => is_kind!(Number),
    "isPeriodType" => is_kind!(Period),
    "isRangeType" => is_kind!(Range),
    "isRegexType" => is_kind!(Regex),
    "isStringType" => is_kind!(String),
    "isTimeType" => is_kind!(Time),
    "isTimeZoneType" => is_kind!(TimeZone),
    "isTypeType" => is_kind!(Type),
    "isUriType" => is_kind!(Uri),
};

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("isReferenceType", &[Overload::new(ONE_PARAM, is_reference)]),
    Native::new("arrayItem", &[Overload::new(ONE_PARAM, array_item)]),
    Native::new("baseTypeOf", &[Overload::new(ONE_PARAM, base_type_of)]),
    Native::new("functionParamTypes", &[Overload::new(ONE_PARAM, function_param_types)]),
    Native::new("functionReturnType", &[Overload::new(ONE_PARAM, function_return_type)]),
    Native::new("intersectionItems", &[Overload::new(ONE_PARAM, intersection_items)]),
    Native::new("unionItems", &[Overload::new(ONE_PARAM, union_items)]),
    Native::new("literalValueOf", &[Overload::new(ONE_PARAM, literal_value_of)]),
    Native::new("metadataOf", &[Overload::new(ONE_PARAM, metadata_of)]),
    Native::new("nameOf", &[Overload::new(ONE_PARAM, name_of)]),
    Native::new("objectFields", &[Overload::new(ONE_PARAM, object_fields)]),
];

fn given(args: &Args) -> Result<Arc<Type>> {
    match Type::from_value(args.get(0)) {
        Some(found) => Ok(Arc::new(found.clone())),
        None => Err(Fault::expected(Kind::Type, args.get(0))),
    }
}

fn resolved(eval: &Eval<'_>, args: &Args) -> Result<Arc<Type>> {
    Ok(Arc::clone(given(args)?.resolved(eval.types())))
}

fn value(found: &Type) -> Value {
    found.clone().into_value()
}

fn expected(wanted: &str, found: &Type) -> Fault {
    Fault::type_error(format!("expected a type of the form {wanted}, found {found}"))
}

fn is_reference(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(matches!(given(args)?.shape, Shape::Reference(..))))
}

fn array_item(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    match &found.shape {
        Shape::Array(item) => Ok(value(item)),
        Shape::Kind(Kind::Array) => Ok(Type::new(Shape::Any).into_value()),
        _ => Err(expected("Array", &found)),
    }
}

/// The type without its name and metadata.
fn base_type_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    Ok(Type::new(found.shape.clone()).into_value())
}

fn function_param_types(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    let Shape::Function { params, .. } = &found.shape else {
        return Err(expected("Function", &found));
    };
    let mut list = Vec::with_capacity(params.len());
    for param in params {
        let mut described = Object::with_capacity(3);
        described.insert("paramType", value(&param.kind));
        described.insert("name", param.name.clone());
        described.insert("optional", param.optional);
        list.push(eval.object(described)?);
    }
    eval.array(list)
}

fn function_return_type(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    match &found.shape {
        Shape::Function { result, .. } => Ok(value(result)),
        _ => Err(expected("Function", &found)),
    }
}

fn intersection_items(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    match &found.shape {
        Shape::Intersection(members) => {
            let members = members.iter().map(|member| value(member)).collect();
            eval.array(members)
        }
        _ => Err(expected("Intersection", &found)),
    }
}

fn union_items(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    match &found.shape {
        Shape::Union(members) => {
            let members = members.iter().map(|member| value(member)).collect();
            eval.array(members)
        }
        _ => Err(expected("Union", &found)),
    }
}

fn literal_value_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    match &found.shape {
        Shape::Literal(value) => Ok(value.clone()),
        _ => Err(expected("literal", &found)),
    }
}

fn metadata_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    eval.object(found.metadata.clone())
}

fn name_of(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let name = given(args)?.to_string();
    eval.text(name)
}

fn object_fields(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let found = resolved(eval, args)?;
    let fields = match &found.shape {
        Shape::Object { fields, .. } => fields.as_slice(),
        Shape::Kind(Kind::Object) => &[],
        _ => return Err(expected("Object", &found)),
    };
    let mut list = Vec::with_capacity(fields.len());
    for field in fields {
        let mut attributes = Vec::new();
        for attribute in &field.attributes {
            let mut described = Object::with_capacity(3);
            described.insert("name", qualified_name(attribute));
            described.insert("value", value(&attribute.kind));
            described.insert("required", !attribute.optional);
            attributes.push(eval.object(described)?);
        }
        let mut key = Object::with_capacity(2);
        key.insert("name", qualified_name(field));
        key.insert("attributes", eval.array(attributes)?);
        let mut described = Object::with_capacity(4);
        described.insert("key", key);
        described.insert("required", !field.optional);
        described.insert("repeated", field.repeated);
        described.insert("value", value(&field.kind));
        list.push(eval.object(described)?);
    }
    eval.array(list)
}

fn qualified_name(field: &Field) -> Object {
    let namespace = |namespace: &Namespace| Value::Namespace(Arc::new(namespace.clone()));
    let mut name = Object::with_capacity(2);
    name.insert("localName", field.name.clone().unwrap_or_else(|| Text::from("_")));
    name.insert("namespace", field.namespace.as_ref().map_or(Value::Null, namespace));
    name
}
