//! Texts and regular expressions.

use std::sync::Arc;

use meantime_value::{Kind, PatternMatch, Value};

use super::super::super::coerce;
use super::super::super::eval::{Eval, Fault, Function, PartialCall, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::{FALSE_2, NULL_1, NULL_2};

const ONE_PARAM: &[Param] = &[Param::TEXT];
const TWO_PARAMS: &[Param] = &[Param::TEXT, Param::TEXT];
const MATCH_PARAMS: &[Param] = &[Param::TEXT, Param::REGEX];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("upper", &[Overload::new(ONE_PARAM, upper), NULL_1]),
    Native::new("lower", &[Overload::new(ONE_PARAM, lower), NULL_1]),
    Native::new("trim", &[Overload::new(ONE_PARAM, trim), NULL_1]),
    Native::new(
        "isBlank",
        &[Overload::new(ONE_PARAM, is_blank), Overload::new(&[Param::NULL], is_blank)],
    ),
    Native::new("startsWith", &[Overload::new(TWO_PARAMS, starts_with), FALSE_2]),
    Native::new("endsWith", &[Overload::new(TWO_PARAMS, ends_with), FALSE_2]),
    Native::new(
        "splitBy",
        &[Overload::new(MATCH_PARAMS, split_by_match), Overload::new(TWO_PARAMS, split_by), NULL_2],
    ),
    Native::new("match", &[Overload::new(MATCH_PARAMS, groups), NULL_2]),
    Native::new("matches", &[Overload::new(MATCH_PARAMS, matches), FALSE_2]),
    Native::new("scan", &[Overload::new(MATCH_PARAMS, scan), NULL_2]),
    Native::new(
        "replace",
        &[Overload::new(MATCH_PARAMS, replace), Overload::new(TWO_PARAMS, replace), NULL_2],
    ),
];

fn upper(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(args.text(0).to_uppercase())
}

fn lower(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(args.text(0).to_lowercase())
}

fn trim(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(args.text(0).trim_matches(|c: char| c <= ' '))
}

fn is_blank(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.text(0).chars().all(char::is_whitespace)))
}

fn starts_with(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.text(0).starts_with(&*args.text(1))))
}

fn ends_with(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.text(0).ends_with(&*args.text(1))))
}

fn split_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, separator) = (args.text(0), args.text(1));
    eval.charge(text.len() as u64)?;
    if separator.is_empty() {
        let units = eval.units(&text)?.into_iter().map(Value::Text).collect();
        return eval.array(units);
    }
    let pieces: Vec<&str> = text.split(&*separator).collect();
    pieces_of(eval, &text, pieces)
}

/// Empty texts at the end are dropped; a text without a separator stays whole.
fn pieces_of(eval: &mut Eval<'_>, text: &str, mut pieces: Vec<&str>) -> Result {
    while pieces.len() > 1 && pieces.last().is_some_and(|piece| piece.is_empty()) {
        pieces.pop();
    }
    if pieces == [""] && !text.is_empty() {
        pieces.clear();
    }
    eval.reserve_text(text.len())?;
    let pieces = pieces.into_iter().map(Value::from).collect();
    eval.array(pieces)
}

fn split_by_match(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    let Some(pattern) = args.regex(1) else { return Ok(Value::Null) };
    let mut pieces = Vec::new();
    let mut from = 0;
    for found in pattern.matches(&text, eval.ops())? {
        let (start, end) = found.span();
        // An empty match at the start of the text is not a separator.
        if end == 0 {
            continue;
        }
        pieces.push(text.get(from..start).unwrap_or_default());
        from = end;
    }
    pieces.push(text.get(from..).unwrap_or_default());
    pieces_of(eval, &text, pieces)
}

fn group_values(eval: &mut Eval<'_>, found: &PatternMatch<'_>) -> Result {
    let groups = found.groups().map(|group| group.map_or(Value::Null, Value::from)).collect();
    eval.array(groups)
}

fn groups(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    let Some(pattern) = args.regex(1) else { return Ok(Value::Null) };
    match pattern.match_whole(&text, eval.ops())? {
        Some(found) => group_values(eval, &found),
        None => eval.array(Vec::new()),
    }
}

fn matches(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    match args.regex(1) {
        Some(pattern) => Ok(Value::Bool(pattern.match_whole(&text, eval.ops())?.is_some())),
        None => Ok(Value::Bool(false)),
    }
}

fn scan(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    let Some(pattern) = args.regex(1) else { return Ok(Value::Null) };
    let mut all = Vec::new();
    for found in pattern.matches(&text, eval.ops())? {
        all.push(group_values(eval, &found)?);
    }
    eval.array(all)
}

/// Returns a partial function that needs `with`.
fn replace(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let args = Arc::from([args.take(0).into_bare(), args.take(1).into_bare()]);
    Ok(Function::Partial(PartialCall { name: "replace", args, run: replace_with }).into_value())
}

/// The arguments: the text, what to replace, and the function that computes the new text from the
/// groups of a match and its number.
fn replace_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    let mut matches = Vec::new();
    match args.regex(1) {
        Some(pattern) => {
            for found in pattern.matches(&text, eval.ops())? {
                matches.push((found.span(), group_values(eval, &found)?));
            }
        }
        None => {
            let wanted = args.text(1);
            for (start, found) in text.match_indices(&*wanted) {
                let groups = eval.array(vec![Value::from(found)])?;
                matches.push(((start, start + found.len()), groups));
            }
        }
    }
    let mut out = String::new();
    let mut from = 0;
    for (index, ((start, end), groups)) in matches.into_iter().enumerate() {
        out.push_str(text.get(from..start).unwrap_or_default());
        let new = eval.call(args.get(2), &mut [groups, Value::from(index)])?;
        match coerce::auto_text(&new) {
            Some(new) => out.push_str(&new),
            None => return Err(Fault::expected(Kind::String, &new)),
        }
        from = end;
        eval.reserve_text(out.len())?;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    eval.text(out)
}
