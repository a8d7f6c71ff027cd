//! The table from names to functions.

use meantime_value::{Foreign, Value};

use super::{context, conversion, interval, list, logic, number, random, statistics, text, time};
use crate::eval::Evaluator;
use crate::foreign::Function;
use crate::problem::EvaluationError;

/// A function of its arguments only; `None` for invalid ones.
type PureFunction = fn(&[Value]) -> Option<Value>;

/// A function whose cost does not follow from the number of its arguments: it counts its own
/// operations.
type CountedFunction = fn(&mut Evaluator<'_>, &[Value]) -> Result<Option<Value>, EvaluationError>;

/// A function of the library as a value.
pub(crate) fn function(name: &str) -> Option<Value> {
    let mut plain = PURE_FUNCTIONS.iter().map(|(known, _)| known).chain(&EVALUATOR_FUNCTIONS);
    let counted = COUNTED_FUNCTIONS.iter().map(|(known, _)| known);
    let mut names = plain.by_ref().chain(counted);
    let known = names.find(|known| **known == name)?;
    Some(Value::Foreign(Foreign::new(Function::Library(known))))
}

/// Calls a function of the library.
pub(crate) fn call(
    evaluator: &mut Evaluator<'_>,
    name: &'static str,
    values: &[Value],
) -> Result<Value, EvaluationError> {
    for value in values {
        evaluator.spend(weight(value))?;
    }
    let found = match name {
        "now" => time::now(evaluator.environment.now, values),
        "today" => time::today(evaluator.environment.now, values),
        "time" => time::time(evaluator.environment.now, values),
        "random number" => random::number(evaluator, values),
        "uuid" => random::uuid(evaluator, values),
        "list replace" => return list::replace(evaluator, values),
        "sort" => return list::sort(evaluator, values),
        _ => {
            let counted = COUNTED_FUNCTIONS.iter().find(|(known, _)| *known == name);
            match counted {
                Some((_, counted)) => counted(evaluator, values)?,
                None => {
                    let entry = PURE_FUNCTIONS.iter().find(|(known, _)| *known == name);
                    entry.and_then(|(_, plain)| plain(values))
                }
            }
        }
    };
    Ok(match found {
        Some(value) => {
            evaluator.allocate(bytes(&value))?;
            value
        }
        None => evaluator.null(|| format!("wrong arguments of `{name}`")),
    })
}

/// The cost that a value may cause.
fn weight(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.len() as u64,
        Value::Text(text) => text.len() as u64 / 32,
        Value::Object(object) => object.len() as u64,
        Value::Number(number) => number.pair_ops(number),
        _ => 0,
    }
}

/// Bytes of a new value, without nested values.
fn bytes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.len().saturating_mul(size_of::<Value>()) as u64,
        Value::Text(text) => text.len() as u64,
        Value::Object(object) => object.len().saturating_mul(2 * size_of::<Value>()) as u64,
        _ => 0,
    }
}

const COUNTED_FUNCTIONS: &[(&str, CountedFunction)] = &[
    ("string", conversion::string),
    ("to json", conversion::to_json),
    ("is", logic::is),
    ("assert", logic::assert),
    ("replace", text::replace),
    ("matches", text::matches),
    ("split", text::split),
    ("extract", text::extract),
    ("string join", text::join),
    ("list contains", list::contains),
    ("index of", list::index_of),
    ("union", list::union),
    ("distinct values", list::distinct),
    ("duplicate values", list::duplicates),
    ("flatten", list::flatten),
    ("min", statistics::least),
    ("max", statistics::greatest),
    ("sum", statistics::sum),
    ("product", statistics::product),
    ("mean", statistics::mean),
    ("median", statistics::median),
    ("mode", statistics::mode),
    ("stddev", statistics::deviation),
    ("context", context::of_entries),
    ("context put", context::put),
    ("context merge", context::merge),
];

/// Functions that need the current time or random bits, or call others.
const EVALUATOR_FUNCTIONS: [&str; 7] =
    ["now", "today", "time", "random number", "uuid", "list replace", "sort"];

const PURE_FUNCTIONS: &[(&str, PureFunction)] = &[
    ("date", time::date),
    ("date and time", time::date_and_time),
    ("duration", time::duration),
    ("years and months duration", time::months_between),
    ("day of week", time::day_of_week),
    ("day of year", time::day_of_year),
    ("week of year", time::week_of_year),
    ("month of year", time::month_of_year),
    ("last day of month", time::last_day_of_month),
    ("cycle", time::cycle),
    ("number", conversion::number),
    ("from json", conversion::from_json),
    ("not", logic::not),
    ("is defined", logic::is_defined),
    ("all", logic::all),
    ("and", logic::all),
    ("any", logic::any),
    ("or", logic::any),
    ("get or else", logic::get_or_else),
    ("substring", text::substring),
    ("string length", text::length),
    ("upper case", text::upper_case),
    ("lower case", text::lower_case),
    ("substring before", text::before),
    ("substring after", text::after),
    ("contains", text::contains),
    ("starts with", text::starts_with),
    ("ends with", text::ends_with),
    ("trim", text::trim),
    ("to base64", text::to_base64),
    ("is blank", text::is_blank),
    ("count", list::count),
    ("append", list::append),
    ("concatenate", list::concatenate),
    ("insert before", list::insert_before),
    ("remove", list::remove),
    ("reverse", list::reverse),
    ("sublist", list::sublist),
    ("partition", list::partition),
    ("is empty", list::is_empty),
    ("decimal", number::decimal),
    ("floor", number::floor),
    ("ceiling", number::ceiling),
    ("round up", number::round_up),
    ("round down", number::round_down),
    ("round half up", number::round_half_up),
    ("round half down", number::round_half_down),
    ("abs", number::abs),
    ("modulo", number::modulo),
    ("sqrt", number::sqrt),
    ("log", number::log),
    ("exp", number::exp),
    ("odd", number::odd),
    ("even", number::even),
    ("get value", context::get_value),
    ("get entries", context::get_entries),
    ("range", interval::range),
    ("before", interval::before),
    ("after", interval::after),
    ("meets", interval::meets),
    ("met by", interval::met_by),
    ("overlaps", interval::overlaps),
    ("overlaps before", interval::overlaps_before),
    ("overlaps after", interval::overlaps_after),
    ("finishes", interval::finishes),
    ("finished by", interval::finished_by),
    ("includes", interval::includes),
    ("during", interval::during),
    ("starts", interval::starts),
    ("started by", interval::started_by),
    ("coincides", interval::coincides),
];
