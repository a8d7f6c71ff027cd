//! Texts. Positions count characters from 1; negative ones count from the end.

use crate::value::{Number, Pattern, Value};

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

/// A place in something of that length, from 0.
pub(super) fn position(start: &Number, length: usize) -> Option<usize> {
    match start.to_i64()? {
        0 => None,
        start if start > 0 => usize::try_from(start - 1).ok(),
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
fn pattern(source: &str, flags: &str) -> Option<Pattern> {
    if flags.is_empty() {
        return Pattern::new(source).ok();
    }
    let known = flags.chars().all(|flag| "ismx".contains(flag));
    known.then(|| Pattern::new(&format!("(?{flags}){source}")).ok())?
}

pub(super) fn matches(values: &[Value]) -> Option<Value> {
    let (text, source, flags) = match values {
        [Value::Text(text), Value::Text(source)] => (text, source, ""),
        [Value::Text(text), Value::Text(source), Value::Text(flags)] => (text, source, &**flags),
        _ => return None,
    };
    Some(Value::Bool(pattern(source, flags)?.is_match(text).ok()?))
}

pub(super) fn replace(values: &[Value]) -> Option<Value> {
    let (text, source, replacement, flags) = match values {
        [Value::Text(text), Value::Text(source), Value::Text(with)] => (text, source, with, ""),
        [Value::Text(text), Value::Text(source), Value::Text(with), Value::Text(flags)] => {
            (text, source, with, &**flags)
        }
        _ => return None,
    };
    let mut out = String::new();
    let mut at = 0;
    for found in pattern(source, flags)?.matches(text).ok()? {
        let (start, end) = found.span();
        out.push_str(text.get(at..start)?);
        let groups: Vec<&str> = found.groups().map(Option::unwrap_or_default).collect();
        expand(replacement, &groups, &mut out);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(Value::from(out))
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

pub(super) fn split(values: &[Value]) -> Option<Value> {
    let (text, source) = two(values)?;
    let mut parts = Vec::new();
    let mut at = 0;
    for found in pattern(source, "")?.matches(text).ok()? {
        let (start, end) = found.span();
        if end == start {
            continue;
        }
        parts.push(Value::from(text.get(at..start)?));
        at = end;
    }
    parts.push(Value::from(text.get(at..)?));
    Some(Value::from(parts))
}

/// Everything in a text that matches.
pub(super) fn extract(values: &[Value]) -> Option<Value> {
    let (text, source) = two(values)?;
    let found = pattern(source, "")?.matches(text).ok()?;
    let whole = |(start, end): (usize, usize)| text.get(start..end).map(Value::from);
    let parts: Option<Vec<Value>> = found.iter().map(|found| whole(found.span())).collect();
    Some(Value::from(parts?))
}

pub(super) fn join(values: &[Value]) -> Option<Value> {
    let (list, rest) = values.split_first()?;
    let Value::Array(items) = list else { return None };
    let text = |value: Option<&Value>| match value {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::Text(text)) => Some(text.to_string()),
        Some(_) => None,
    };
    let mut parts = Vec::new();
    for item in items.iter() {
        match item {
            Value::Null => {}
            Value::Text(text) => parts.push(text.to_string()),
            _ => return None,
        }
    }
    let joined = parts.join(&text(rest.first())?);
    Some(Value::from(format!("{}{joined}{}", text(rest.get(1))?, text(rest.get(2))?)))
}
