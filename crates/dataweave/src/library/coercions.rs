//! `dw::util::Coercions`: `as` in the form of functions.

use meantime_value::{Kind, Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Fault, Result};
use super::native::{Args, Native, Overload, Param};

/// Overloads with a format and a locale, or with a list of such pairs to try.
macro_rules! formatted {
    ($run:ident, $listed:ident) => {
        &[
            Overload::new(&[Param::only(Kind::String), Param::ARRAY], $listed),
            Overload::new(&[Param::TEXT, OPTIONAL_PARAM, OPTIONAL_PARAM], $run).optional(2),
        ]
    };
}

const OPTIONAL_PARAM: Param = Param::TEXT.or(Kind::Null);
const LISTED_PARAMS: &[Param] = &[Param::only(Kind::String), Param::ARRAY];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("toArray", &[Overload::new(&[Param::TEXT], to_array)]),
    Native::new("toBinary", &[Overload::new(&[Param::TEXT, Param::TEXT], to_binary)]),
    Native::new("toBoolean", &[Overload::new(&[Param::only(Kind::String)], to_boolean)]),
    Native::new("toDate", formatted!(to_date, to_date_listed)),
    Native::new("toDateOrNull", &[Overload::new(LISTED_PARAMS, to_date_or_null)]),
    Native::new(
        "toDateTime",
        &[
            Overload::new(LISTED_PARAMS, to_date_time_listed),
            Overload::new(&[Param::only(Kind::Number), OPTIONAL_PARAM], number_to_date_time)
                .optional(1),
            Overload::new(&[Param::TEXT, OPTIONAL_PARAM, OPTIONAL_PARAM], to_date_time).optional(2),
        ],
    ),
    Native::new("toDateTimeOrNull", &[Overload::new(LISTED_PARAMS, to_date_time_or_null)]),
    Native::new("toLocalDateTime", formatted!(to_local_date_time, to_local_date_time_listed)),
    Native::new(
        "toLocalDateTimeOrNull",
        &[Overload::new(LISTED_PARAMS, to_local_date_time_or_null)],
    ),
    Native::new("toLocalTime", formatted!(to_local_time, to_local_time_listed)),
    Native::new("toLocalTimeOrNull", &[Overload::new(LISTED_PARAMS, to_local_time_or_null)]),
    Native::new("toTime", formatted!(to_time, to_time_listed)),
    Native::new("toTimeOrNull", &[Overload::new(LISTED_PARAMS, to_time_or_null)]),
    Native::new(
        "toNumber",
        &[
            Overload::new(LISTED_PARAMS, to_number_listed),
            Overload::new(&[Param::only(Kind::DateTime), OPTIONAL_PARAM], unit_to_number)
                .optional(1),
            Overload::new(&[Param::only(Kind::Period), OPTIONAL_PARAM], unit_to_number).optional(1),
            Overload::new(&[Param::TEXT.or(Kind::Key), OPTIONAL_PARAM, OPTIONAL_PARAM], to_number)
                .optional(2),
        ],
    ),
    Native::new("toNumberOrNull", &[Overload::new(LISTED_PARAMS, to_number_or_null)]),
    Native::new("toPeriod", &[Overload::new(&[Param::TEXT], to_period)]),
    Native::new("toRegex", &[Overload::new(&[Param::TEXT], to_regex)]),
    Native::new("toTimeZone", &[Overload::new(&[Param::TEXT], to_time_zone)]),
    Native::new("toUri", &[Overload::new(&[Param::TEXT], to_uri)]),
    Native::new(
        "toString",
        &[
            Overload::new(
                &[Param::only(Kind::Number), OPTIONAL_PARAM, OPTIONAL_PARAM, OPTIONAL_PARAM],
                number_to_string,
            )
            .optional(3),
            Overload::new(&[TEMPORAL_PARAM, OPTIONAL_PARAM, OPTIONAL_PARAM], temporal_to_string)
                .optional(2),
            Overload::new(&[Param::only(Kind::Binary), Param::TEXT], binary_to_string),
            Overload::new(&[Param::ARRAY], array_to_string),
            Overload::new(&[PLAIN_PARAM], plain_to_string),
        ],
    ),
];

const TEMPORAL_PARAM: Param = Param::only(Kind::Date)
    .or(Kind::DateTime)
    .or(Kind::LocalDateTime)
    .or(Kind::LocalTime)
    .or(Kind::Time);

const PLAIN_PARAM: Param = Param::only(Kind::TimeZone)
    .or(Kind::Uri)
    .or(Kind::Boolean)
    .or(Kind::Period)
    .or(Kind::Regex)
    .or(Kind::Key)
    .or(Kind::String);

/// The arguments after the first as a schema.
fn schema(args: &Args, names: &[&str]) -> Object {
    let mut schema = Object::default();
    for (index, name) in (1..).zip(names) {
        if args.has(index) {
            schema.insert(name, args.text(index));
        }
    }
    schema
}

/// Converts; the schema stays with a date, which is then written in its format.
fn convert(args: &Args, kind: Kind, names: &[&str]) -> Result {
    let schema = schema(args, names);
    let converted = coerce::with_metadata(args.get(0), kind, &schema)?;
    Ok(Value::annotated(converted, schema))
}

/// Tries the formats in order.
fn convert_listed(eval: &mut Eval<'_>, args: &Args, kind: Kind) -> Result<Option<Value>> {
    for format in Eval::items(args.get(1)) {
        eval.charge(1)?;
        let Value::Object(format) = format.bare() else { continue };
        if let Ok(converted) = coerce::with_metadata(args.get(0), kind, format) {
            return Ok(Some(Value::annotated(converted, (**format).clone())));
        }
    }
    Ok(None)
}

fn listed(eval: &mut Eval<'_>, args: &Args, kind: Kind) -> Result {
    convert_listed(eval, args, kind)?.ok_or_else(|| {
        Fault::invalid(format!("`{}` is in none of the given formats", args.text(0)))
    })
}

fn listed_or_null(eval: &mut Eval<'_>, args: &Args, kind: Kind) -> Result {
    Ok(convert_listed(eval, args, kind)?.unwrap_or_default())
}

const FORMAT_FIELDS: &[&str] = &["format", "locale"];

fn to_array(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let units = eval.units(&args.text(0))?.into_iter().map(Value::Text).collect();
    eval.array(units)
}

fn to_binary(_: &mut Eval<'_>, args: &mut Args) -> Result {
    convert(args, Kind::Binary, &["encoding"])
}

fn to_boolean(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(coerce::to_boolean(args.get(0))?))
}

fn to_date(_: &mut Eval<'_>, args: &mut Args) -> Result {
    convert(args, Kind::Date, FORMAT_FIELDS)
}

fn to_date_listed(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed(eval, args, Kind::Date)
}

fn to_date_or_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed_or_null(eval, args, Kind::Date)
}

fn to_date_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    convert(args, Kind::DateTime, FORMAT_FIELDS)
}

fn number_to_date_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let schema = schema(args, &["unit"]);
    coerce::with_metadata(args.get(0), Kind::DateTime, &schema)
}

fn to_date_time_listed(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed(eval, args, Kind::DateTime)
}

fn to_date_time_or_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed_or_null(eval, args, Kind::DateTime)
}

fn to_local_date_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    convert(args, Kind::LocalDateTime, FORMAT_FIELDS)
}

fn to_local_date_time_listed(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed(eval, args, Kind::LocalDateTime)
}

fn to_local_date_time_or_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed_or_null(eval, args, Kind::LocalDateTime)
}

fn to_local_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    convert(args, Kind::LocalTime, FORMAT_FIELDS)
}

fn to_local_time_listed(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed(eval, args, Kind::LocalTime)
}

fn to_local_time_or_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed_or_null(eval, args, Kind::LocalTime)
}

fn to_time(_: &mut Eval<'_>, args: &mut Args) -> Result {
    convert(args, Kind::Time, FORMAT_FIELDS)
}

fn to_time_listed(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed(eval, args, Kind::Time)
}

fn to_time_or_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    listed_or_null(eval, args, Kind::Time)
}

fn to_number(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let schema = schema(args, FORMAT_FIELDS);
    coerce::with_metadata(args.get(0), Kind::Number, &schema)
}

fn unit_to_number(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let schema = schema(args, &["unit"]);
    coerce::with_metadata(args.get(0), Kind::Number, &schema)
}

fn to_number_listed(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(listed(eval, args, Kind::Number)?.into_bare())
}

fn to_number_or_null(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(listed_or_null(eval, args, Kind::Number)?.into_bare())
}

fn to_period(_: &mut Eval<'_>, args: &mut Args) -> Result {
    coerce::to_kind(args.get(0), Kind::Period)
}

fn to_regex(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let made = coerce::to_kind(args.get(0), Kind::Regex)?;
    if let Value::Regex(pattern) = &made {
        eval.charge(pattern.compile_ops())?;
    }
    Ok(made)
}

fn to_time_zone(_: &mut Eval<'_>, args: &mut Args) -> Result {
    coerce::to_kind(args.get(0), Kind::TimeZone)
}

fn to_uri(_: &mut Eval<'_>, args: &mut Args) -> Result {
    coerce::to_kind(args.get(0), Kind::Uri)
}

fn number_to_string(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let schema = schema(args, &["format", "locale", "roundMode"]);
    coerce::with_metadata(args.get(0), Kind::String, &schema)
}

fn temporal_to_string(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let schema = schema(args, FORMAT_FIELDS);
    coerce::with_metadata(args.get(0), Kind::String, &schema)
}

fn binary_to_string(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let schema = schema(args, &["encoding"]);
    coerce::with_metadata(args.get(0), Kind::String, &schema)
}

fn plain_to_string(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = coerce::to_text(args.get(0))?;
    eval.text(text)
}

fn array_to_string(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut joined = String::new();
    for item in Eval::items(args.get(0)) {
        eval.charge(1)?;
        match item.bare() {
            Value::Text(text) => joined.push_str(text),
            _ => return Err(Fault::expected(Kind::String, &item)),
        }
    }
    eval.text(joined)
}
