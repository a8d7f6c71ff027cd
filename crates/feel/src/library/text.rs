//! Texts. Positions count characters from 1; negative ones count from the end.

use meantime_value::{Number, Pattern, PatternMatch, Value, base64};

use crate::eval::Evaluator;
use crate::problem::EvaluationError;

type Result<T> = std::result::Result<T, EvaluationError>;

/// The longest text that a function may build, in bytes.
const MAX_TEXT_BYTES: usize = 4 << 20;

fn one(values: &[Value]) -> Option<&str> {
    match values {
        [Value::Text(text)] => Some(text),
        _ => None,
    }
}

fn two(values: &[Value]) -> Option<(&str, &str)> {
    match values {
        [Value::Text(text), Value::Text(other)] => Some((text, other)),
        _ => None,
    }
}

pub(super) fn to_base64(values: &[Value]) -> Option<Value> {
    one(values).map(|text| Value::from(base64::encode(text.as_bytes())))
}

pub(super) fn substring(values: &[Value]) -> Option<Value> {
    let (text, start, length) = match values {
        [Value::Text(text), Value::Number(start)] => (text, start, None),
        [Value::Text(text), Value::Number(start), Value::Number(length)] => {
            (text, start, Some(length))
        }
        _ => return None,
    };
    let chars: Vec<char> = text.chars().collect();
    let from = position(start, chars.len())?;
    let count = match length {
        Some(length) => usize::try_from(length.to_i64()?).ok()?,
        None => usize::MAX,
    };
    Some(Value::from(chars.into_iter().skip(from).take(count).collect::<String>()))
}

/// A position in a text of this length, from 0.
pub(super) fn position(start: &Number, length: usize) -> Option<usize> {
    match start.to_i64()? {
        0 => None,
        start if start > 0 => usize::try_from(start.saturating_sub(1)).ok(),
        start => length.checked_sub(usize::try_from(start.unsigned_abs()).ok()?),
    }
}

pub(super) fn length(values: &[Value]) -> Option<Value> {
    Some(Value::from(one(values)?.chars().count()))
}

pub(super) fn upper_case(values: &[Value]) -> Option<Value> {
    Some(Value::from(one(values)?.to_uppercase()))
}

pub(super) fn lower_case(values: &[Value]) -> Option<Value> {
    Some(Value::from(one(values)?.to_lowercase()))
}

pub(super) fn trim(values: &[Value]) -> Option<Value> {
    Some(Value::from(one(values)?.trim()))
}

pub(super) fn is_blank(values: &[Value]) -> Option<Value> {
    Some(Value::Bool(one(values)?.trim().is_empty()))
}

pub(super) fn before(values: &[Value]) -> Option<Value> {
    let (text, wanted) = two(values)?;
    Some(Value::from(text.split_once(wanted).map_or("", |(before, _)| before)))
}

pub(super) fn after(values: &[Value]) -> Option<Value> {
    let (text, wanted) = two(values)?;
    Some(Value::from(text.split_once(wanted).map_or("", |(_, after)| after)))
}

pub(super) fn contains(values: &[Value]) -> Option<Value> {
    let (text, wanted) = two(values)?;
    Some(Value::Bool(text.contains(wanted)))
}

pub(super) fn starts_with(values: &[Value]) -> Option<Value> {
    let (text, wanted) = two(values)?;
    Some(Value::Bool(text.starts_with(wanted)))
}

pub(super) fn ends_with(values: &[Value]) -> Option<Value> {
    let (text, wanted) = two(values)?;
    Some(Value::Bool(text.ends_with(wanted)))
}

/// A regular expression with the flags of `XPath`: `i`, `s`, `m`, `x`.
fn pattern(evaluator: &mut Evaluator<'_>, source: &str, flags: &str) -> Result<Option<Pattern>> {
    if !flags.chars().all(|flag| "ismx".contains(flag)) {
        return Ok(None);
    }
    let compiled = if flags.is_empty() {
        Pattern::new(source)
    } else {
        Pattern::new(&format!("(?{flags}){source}"))
    };
    match compiled {
        Ok(pattern) => {
            evaluator.spend(pattern.compile_ops())?;
            Ok(Some(pattern))
        }
        Err(_) => {
            evaluator.spend(OPS_PER_INVALID_PATTERN)?;
            Ok(None)
        }
    }
}

/// Operations for an expression that does not compile: it may have been large.
const OPS_PER_INVALID_PATTERN: u64 = 1_000;

pub(super) fn matches(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let (text, source, flags) = match values {
        [Value::Text(text), Value::Text(source)] => (text, source, ""),
        [Value::Text(text), Value::Text(source), Value::Text(flags)] => (text, source, &**flags),
        _ => return Ok(None),
    };
    let Some(pattern) = pattern(evaluator, source, flags)? else { return Ok(None) };
    let found = evaluator.counted(|ops| pattern.is_match(text, ops))?;
    Ok(Some(Value::Bool(found)))
}

pub(super) fn replace(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let (text, source, replacement, flags) = match values {
        [Value::Text(text), Value::Text(source), Value::Text(with)] => (text, source, with, ""),
        [Value::Text(text), Value::Text(source), Value::Text(with), Value::Text(flags)] => {
            (text, source, with, &**flags)
        }
        _ => return Ok(None),
    };
    let Some(pattern) = pattern(evaluator, source, flags)? else { return Ok(None) };
    let found = evaluator.counted(|ops| pattern.matches(text, ops))?;
    let mut out = String::new();
    let mut at = 0;
    for found in found {
        let (start, end) = found.span();
        let before = out.len();
        out.push_str(text.get(at..start).unwrap_or_default());
        let groups: Vec<&str> = found.groups().map(Option::unwrap_or_default).collect();
        // An upper bound of the result, before it is created: every character becomes the longest
        // group.
        let longest = groups.iter().map(|group| group.len()).max().unwrap_or(0);
        let references = replacement.bytes().filter(|byte| *byte == b'$').count();
        let most = references.saturating_mul(longest).saturating_add(replacement.len());
        evaluator.spend((replacement.len() as u64 / 16).saturating_add(1))?;
        if most > MAX_TEXT_BYTES {
            return Err(EvaluationError::TooLarge);
        }
        expand(replacement, &groups, &mut out);
        evaluator.allocate(out.len().saturating_sub(before) as u64)?;
        if out.len() > MAX_TEXT_BYTES {
            return Err(EvaluationError::TooLarge);
        }
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Ok(Some(Value::from(out)))
}

/// `$1` stands for the first group.
fn expand(replacement: &str, groups: &[&str], out: &mut String) {
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        let group = (c == '$')
            .then(|| chars.peek().and_then(|digit| digit.to_digit(10)))
            .flatten()
            .and_then(|digit| groups.get(digit as usize));
        match group {
            Some(group) => {
                chars.next();
                out.push_str(group);
            }
            None => out.push(c),
        }
    }
}

pub(super) fn split(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let Some((text, source)) = two(values) else { return Ok(None) };
    let Some(pattern) = pattern(evaluator, source, "")? else { return Ok(None) };
    let found = evaluator.counted(|ops| pattern.matches(text, ops))?;
    evaluator.allocate(text.len() as u64)?;
    let mut parts = Vec::new();
    let mut at = 0;
    for (start, end) in found.iter().map(PatternMatch::span) {
        if end == start {
            continue;
        }
        parts.push(Value::from(text.get(at..start).unwrap_or_default()));
        at = end;
    }
    parts.push(Value::from(text.get(at..).unwrap_or_default()));
    Ok(Some(Value::from(parts)))
}

/// All matches in a text.
pub(super) fn extract(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let Some((text, source)) = two(values) else { return Ok(None) };
    let Some(pattern) = pattern(evaluator, source, "")? else { return Ok(None) };
    let found = evaluator.counted(|ops| pattern.matches(text, ops))?;
    evaluator.allocate(text.len() as u64)?;
    let whole = |(start, end): (usize, usize)| text.get(start..end).map(Value::from);
    let parts: Option<Vec<Value>> = found.iter().map(|found| whole(found.span())).collect();
    Ok(parts.map(Value::from))
}

/// An optional text.
fn optional(value: Option<&Value>) -> Option<&str> {
    match value {
        None | Some(Value::Null) => Some(""),
        Some(Value::Text(text)) => Some(text),
        Some(_) => None,
    }
}

pub(super) fn join(evaluator: &mut Evaluator<'_>, values: &[Value]) -> Result<Option<Value>> {
    let Some((Value::Array(items), rest)) = values.split_first() else { return Ok(None) };
    let texts = (optional(rest.first()), optional(rest.get(1)), optional(rest.get(2)));
    let (Some(delimiter), Some(prefix), Some(suffix)) = texts else { return Ok(None) };
    let mut parts: Vec<&str> = Vec::new();
    let mut length = prefix.len().saturating_add(suffix.len());
    for item in items.iter() {
        match item {
            Value::Null => {}
            Value::Text(text) => {
                length = length.saturating_add(text.len()).saturating_add(delimiter.len());
                parts.push(text);
            }
            _ => return Ok(None),
        }
    }
    evaluator.spend(length as u64 / 64)?;
    if length > MAX_TEXT_BYTES {
        return Err(EvaluationError::TooLarge);
    }
    Ok(Some(Value::from(format!("{prefix}{}{suffix}", parts.join(delimiter)))))
}
