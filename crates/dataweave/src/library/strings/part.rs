//! Parts of texts.

use meantime_value::{Value, text};

use super::super::super::eval::{Eval, Result};
use super::super::native::{Args, Native, Overload, Param};
use super::super::null::{NULL_1, NULL_2, NULL_3};

const ONE_PARAM: &[Param] = &[Param::TEXT];
const TWO_PARAMS: &[Param] = &[Param::TEXT, Param::TEXT];
const COUNT_PARAMS: &[Param] = &[Param::TEXT, Param::NUMBER];

pub(in crate::library) const FUNCTIONS: &[Native] = &[
    Native::new("first", &[Overload::new(COUNT_PARAMS, first), NULL_2]),
    Native::new("last", &[Overload::new(COUNT_PARAMS, last), NULL_2]),
    Native::new(
        "substring",
        &[Overload::new(&[Param::TEXT, Param::NUMBER, Param::NUMBER], substring), NULL_3],
    ),
    Native::new("substringAfter", &[Overload::new(TWO_PARAMS, after), NULL_2]),
    Native::new("substringAfterLast", &[Overload::new(TWO_PARAMS, after_last), NULL_2]),
    Native::new("substringBefore", &[Overload::new(TWO_PARAMS, before), NULL_2]),
    Native::new("substringBeforeLast", &[Overload::new(TWO_PARAMS, before_last), NULL_2]),
    Native::new(
        "substringBy",
        &[Overload::new(&[Param::TEXT, Param::callback(2)], substring_by), NULL_2],
    ),
    Native::new("substringEvery", &[Overload::new(COUNT_PARAMS, substring_every), NULL_2]),
    Native::new("lines", &[Overload::new(ONE_PARAM, lines), NULL_1]),
    Native::new("words", &[Overload::new(ONE_PARAM, words), NULL_1]),
    Native::new("collapse", &[Overload::new(ONE_PARAM, collapse), NULL_1]),
];

fn first(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(text::slice(&args.text(0), 0, args.count(1)))
}

fn last(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    let length = text::length(&text);
    eval.text(text::slice(&text, length.saturating_sub(args.count_up(1)), length))
}

fn substring(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(text::slice(&args.text(0), args.count(1), args.count(2)))
}

fn after(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, separator) = (args.text(0), args.text(1));
    eval.text(text.split_once(&*separator).map_or("", |(_, after)| after))
}

fn after_last(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, separator) = (args.text(0), args.text(1));
    eval.text(text.rsplit_once(&*separator).map_or("", |(_, after)| after))
}

fn before(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, separator) = (args.text(0), args.text(1));
    eval.text(text.split_once(&*separator).map_or("", |(before, _)| before))
}

/// With an empty separator, everything except the last character.
fn before_last(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, separator) = (args.text(0), args.text(1));
    if separator.is_empty() {
        return eval.text(text::slice(&text, 0, text::length(&text).saturating_sub(1)));
    }
    eval.text(text.rsplit_once(&*separator).map_or("", |(before, _)| before))
}

fn substring_by(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut pieces = vec![String::new()];
    for (index, unit) in eval.units(&args.text(0))?.into_iter().enumerate() {
        if eval.test(args.get(1), &mut [Value::Text(unit.clone()), Value::from(index)])? {
            pieces.push(String::new());
        } else if let Some(last) = pieces.last_mut() {
            last.push_str(&unit);
        }
    }
    texts(eval, pieces)
}

fn texts<T: AsRef<str>>(eval: &mut Eval<'_>, pieces: Vec<T>) -> Result {
    let mut values = Vec::with_capacity(pieces.len());
    for piece in pieces {
        values.push(eval.text(piece.as_ref())?);
    }
    eval.array(values)
}

fn substring_every(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let (text, size) = (args.text(0), args.count_up(1));
    let mut pieces = Vec::new();
    let mut at = 0;
    while size > 0 && at < text::length(&text) {
        eval.charge(text.len() as u64)?;
        pieces.push(text::slice(&text, at, at.saturating_add(size)));
        at = at.saturating_add(size);
    }
    texts(eval, pieces)
}

fn lines(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.charge(args.text(0).len() as u64 / 4)?;
    let text = args.text(0).replace("\r\n", "\n").replace('\r', "\n");
    let body = text.strip_suffix('\n').unwrap_or(&text);
    texts(eval, body.split('\n').collect())
}

fn words(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    eval.charge(text.len() as u64 / 4)?;
    texts(eval, text.split_whitespace().collect())
}

/// Runs of the same character.
fn collapse(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.charge(args.text(0).len() as u64)?;
    let mut pieces: Vec<String> = vec![String::new()];
    for c in args.text(0).chars() {
        match pieces.last_mut() {
            Some(last) if last.is_empty() || last.ends_with(c) => last.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    texts(eval, pieces)
}
