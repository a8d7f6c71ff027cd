//! Properties of texts, and distances between them.

use meantime_value::{Text, Value, text};

use super::super::super::eval::{Eval, Fault, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::{FALSE_1, FALSE_2, NULL_1, NULL_2};

const ONE_PARAM: &[Param] = &[Param::TEXT];
const TWO_PARAMS: &[Param] = &[Param::TEXT, Param::TEXT];
const CHARACTER_PARAMS: &[Param] = &[Param::TEXT, Param::callback(1)];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("charCode", &[Overload::new(ONE_PARAM, char_code), NULL_1]),
    Native::new(
        "charCodeAt",
        &[Overload::new(&[Param::TEXT, Param::NUMBER], char_code_at), NULL_2],
    ),
    Native::new("fromCharCode", &[Overload::new(&[Param::NUMBER], from_char_code), NULL_1]),
    Native::new("countCharactersBy", &[Overload::new(CHARACTER_PARAMS, count_by), NULL_2]),
    Native::new(
        "countMatches",
        &[
            Overload::new(TWO_PARAMS, count_text),
            Overload::new(&[Param::TEXT, Param::REGEX], count_matches),
            NULL_2,
        ],
    ),
    Native::new(
        "everyCharacter",
        &[Overload::new(CHARACTER_PARAMS, every), Overload::new(&[Param::NULL, Param::ANY], yes)],
    ),
    Native::new("someCharacter", &[Overload::new(CHARACTER_PARAMS, some), FALSE_2]),
    Native::new("hammingDistance", &[Overload::new(TWO_PARAMS, hamming)]),
    Native::new("levenshteinDistance", &[Overload::new(TWO_PARAMS, levenshtein)]),
    Native::new("isAlpha", &[Overload::new(ONE_PARAM, is_alpha), FALSE_1]),
    Native::new("isAlphanumeric", &[Overload::new(ONE_PARAM, is_alphanumeric), FALSE_1]),
    Native::new("isLowerCase", &[Overload::new(ONE_PARAM, is_lower), FALSE_1]),
    Native::new("isNumeric", &[Overload::new(ONE_PARAM, is_numeric), FALSE_1]),
    Native::new("isUpperCase", &[Overload::new(ONE_PARAM, is_upper), FALSE_1]),
    Native::new("isWhitespace", &[Overload::new(ONE_PARAM, is_whitespace), FALSE_1]),
];

fn char_code(_: &mut Eval<'_>, args: &mut Args) -> Result {
    match args.text(0).chars().next() {
        Some(c) => Ok(Value::from(i64::from(c as u32))),
        None => Err(Fault::invalid("an empty text has no character")),
    }
}

/// The code of one UTF-16 unit; a negative index counts from the end.
fn char_code_at(_: &mut Eval<'_>, args: &mut Args) -> Result {
    let units: Vec<u16> = args.text(0).encode_utf16().collect();
    let at = args.int(1);
    let at = if at < 0 { at.checked_add_unsigned(units.len() as u64) } else { Some(at) };
    let unit = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| units.get(at));
    match unit {
        Some(unit) => Ok(Value::from(i64::from(*unit))),
        None => Err(Fault::invalid(format!("there is no character at {}", args.int(1)))),
    }
}

fn from_char_code(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let code = u32::try_from(args.int(0)).ok().and_then(char::from_u32);
    match code {
        Some(c) => eval.text(c.to_string()),
        None => Err(Fault::invalid(format!("{} is not the code of a character", args.int(0)))),
    }
}

fn units(eval: &mut Eval<'_>, args: &Args) -> Result<Vec<Text>> {
    eval.units(&args.text(0))
}

fn count_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut count = 0_usize;
    for unit in units(eval, args)? {
        count += usize::from(eval.test(args.get(1), &mut [Value::Text(unit)])?);
    }
    Ok(Value::from(count))
}

fn count_text(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, wanted) = (args.text(0), args.text(1));
    eval.charge(text.len() as u64)?;
    let count =
        if wanted.is_empty() { text::length(&text) } else { text.matches(&*wanted).count() };
    Ok(Value::from(count))
}

fn count_matches(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64)?;
    match args.regex(1) {
        Some(pattern) => Ok(Value::from(pattern.matches(&text, eval.ops())?.len())),
        None => Ok(Value::from(0_usize)),
    }
}

fn every(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for unit in units(eval, args)? {
        if !eval.test(args.get(1), &mut [Value::Text(unit)])? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn yes(_: &mut Eval<'_>, _: &mut Args) -> Result {
    Ok(Value::Bool(true))
}

fn some(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    for unit in units(eval, args)? {
        if eval.test(args.get(1), &mut [Value::Text(unit)])? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// The number of different positions; null for texts of different size.
fn hamming(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (left, right) = (args.text(0), args.text(1));
    eval.charge(left.len() as u64)?;
    if text::length(&left) != text::length(&right) {
        return Ok(Value::Null);
    }
    let differing = left.encode_utf16().zip(right.encode_utf16()).filter(|(a, b)| a != b);
    Ok(Value::from(differing.count()))
}

/// The number of insertions, removals and substitutions that turn one text into the other.
fn levenshtein(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let left: Vec<u16> = args.text(0).encode_utf16().collect();
    let right: Vec<u16> = args.text(1).encode_utf16().collect();
    eval.charge((left.len() as u64).saturating_mul(right.len() as u64))?;
    Ok(Value::from(strsim::generic_levenshtein(&left, &right)))
}

fn all(args: &Args, is: impl Fn(char) -> bool) -> Result {
    let text = args.text(0);
    Ok(Value::Bool(!text.is_empty() && text.chars().all(is)))
}

fn is_alpha(_: &mut Eval<'_>, args: &mut Args) -> Result {
    all(args, char::is_alphabetic)
}

fn is_alphanumeric(_: &mut Eval<'_>, args: &mut Args) -> Result {
    all(args, char::is_alphanumeric)
}

fn is_lower(_: &mut Eval<'_>, args: &mut Args) -> Result {
    all(args, char::is_lowercase)
}

fn is_numeric(_: &mut Eval<'_>, args: &mut Args) -> Result {
    all(args, char::is_numeric)
}

fn is_upper(_: &mut Eval<'_>, args: &mut Args) -> Result {
    all(args, char::is_uppercase)
}

fn is_whitespace(_: &mut Eval<'_>, args: &mut Args) -> Result {
    Ok(Value::Bool(args.text(0).chars().all(char::is_whitespace)))
}
