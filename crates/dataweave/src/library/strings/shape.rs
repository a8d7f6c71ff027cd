//! Padding, wrapping, repeating, replacing.

use meantime_value::{Kind, Value, text};

use super::super::super::coerce;
use super::super::super::eval::{Eval, Fault, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::{NULL_1, NULL_2, NULL_3};

const TWO_PARAMS: &[Param] = &[Param::TEXT, Param::TEXT];
const COUNT_PARAMS: &[Param] = &[Param::TEXT, Param::NUMBER];
const PADDED_PARAMS: &[Param] = &[Param::TEXT, Param::NUMBER, Param::TEXT];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("leftPad", &[Overload::new(PADDED_PARAMS, left_pad).optional(1), NULL_3]),
    Native::new("rightPad", &[Overload::new(PADDED_PARAMS, right_pad).optional(1), NULL_3]),
    Native::new("repeat", &[Overload::new(COUNT_PARAMS, repeat), NULL_2]),
    Native::new("reverse", &[Overload::new(&[Param::TEXT], reverse), NULL_1]),
    Native::new("remove", &[Overload::new(TWO_PARAMS, remove), NULL_2]),
    Native::new(
        "replaceAll",
        &[Overload::new(&[Param::TEXT, Param::TEXT, Param::TEXT], replace_all), NULL_3],
    ),
    Native::new("appendIfMissing", &[Overload::new(TWO_PARAMS, append_if_missing), NULL_2]),
    Native::new("prependIfMissing", &[Overload::new(TWO_PARAMS, prepend_if_missing), NULL_2]),
    Native::new("wrapIfMissing", &[Overload::new(TWO_PARAMS, wrap_if_missing), NULL_2]),
    Native::new("wrapWith", &[Overload::new(TWO_PARAMS, wrap_with), NULL_2]),
    Native::new("unwrap", &[Overload::new(TWO_PARAMS, unwrap), NULL_2]),
    Native::new("withMaxSize", &[Overload::new(COUNT_PARAMS, with_max_size), NULL_2]),
    Native::new(
        "mapString",
        &[Overload::new(&[Param::TEXT, Param::callback(2)], map_string), NULL_2],
    ),
];

/// One copy of the padding for each missing character.
fn padding(eval: &mut Eval<'_>, args: &Args) -> Result<String> {
    let pad = if args.has(2) { args.text(2) } else { " ".into() };
    let missing = args.count(1).saturating_sub(text::length(&args.text(0)));
    eval.reserve_text(pad.len().saturating_mul(missing))?;
    Ok(pad.repeat(missing))
}

fn left_pad(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let padding = padding(eval, args)?;
    eval.text(format!("{padding}{}", args.text(0)))
}

fn right_pad(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let padding = padding(eval, args)?;
    eval.text(format!("{}{padding}", args.text(0)))
}

fn repeat(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, count) = (args.text(0), args.count(1));
    eval.reserve_text(text.len().saturating_mul(count))?;
    Ok(Value::from(text.repeat(count)))
}

fn reverse(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(args.text(0).chars().rev().collect::<String>())
}

fn remove(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, unwanted) = (args.text(0), args.text(1));
    if unwanted.is_empty() { eval.text(text) } else { eval.text(text.replace(&*unwanted, "")) }
}

fn replace_all(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, wanted, new) = (args.text(0), args.text(1), args.text(2));
    let count = text.matches(&*wanted).count();
    eval.reserve_text(text.len().saturating_add(new.len().saturating_mul(count)))?;
    Ok(Value::from(text.replace(&*wanted, &new)))
}

fn append_if_missing(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, end) = (args.text(0), args.text(1));
    if text.ends_with(&*end) { eval.text(text) } else { eval.text(format!("{text}{end}")) }
}

fn prepend_if_missing(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, start) = (args.text(0), args.text(1));
    if text.starts_with(&*start) { eval.text(text) } else { eval.text(format!("{start}{text}")) }
}

fn wrap_if_missing(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, wrap) = (args.text(0), args.text(1));
    let mut out = text.to_string();
    if !out.starts_with(&*wrap) {
        out.insert_str(0, &wrap);
    }
    if !out.ends_with(&*wrap) {
        out.push_str(&wrap);
    }
    eval.text(out)
}

fn wrap_with(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let wrap = args.text(1);
    eval.text(format!("{wrap}{}{wrap}", args.text(0)))
}

/// Removes one character at both ends if the text is wrapped.
fn unwrap(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, wrap) = (args.text(0), args.text(1));
    let length = text::length(&text);
    if length > 1 && text.starts_with(&*wrap) && text.ends_with(&*wrap) {
        return eval.text(text::slice(&text, 1, length - 1));
    }
    eval.text(text)
}

fn with_max_size(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    match args.int(1) {
        ..0 => Err(Fault::invalid("`withMaxSize` needs a size that is not negative")),
        0 => eval.text(text),
        _ => eval.text(text::slice(&text, 0, args.count(1))),
    }
}

fn map_string(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut out = String::new();
    for (index, unit) in eval.units(&args.text(0))?.into_iter().enumerate() {
        let mapped = eval.call(args.get(1), &mut [Value::Text(unit), Value::from(index)])?;
        match coerce::auto_text(&mapped) {
            Some(mapped) => out.push_str(&mapped),
            None => return Err(Fault::expected(Kind::String, &mapped)),
        }
        eval.reserve_text(out.len())?;
    }
    eval.text(out)
}
