//! `dw::core::URL`.

use meantime_value::{Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Fault, Result};
use super::native::{Args, Native, Overload, Param};

const ONE_PARAM: &[Param] = &[Param::TEXT];

pub(super) const FUNCTIONS: &[Native] = &[
    Native::new("compose", &[Overload::new(&[Param::ARRAY, Param::ARRAY], compose)]),
    Native::new("decodeURI", &[Overload::new(ONE_PARAM, decode)]),
    Native::new("decodeURIComponent", &[Overload::new(ONE_PARAM, decode)]),
    Native::new("encodeURI", &[Overload::new(ONE_PARAM, encode_uri)]),
    Native::new("encodeURIComponent", &[Overload::new(ONE_PARAM, encode_component)]),
    Native::new("parseURI", &[Overload::new(ONE_PARAM, parse_uri)]),
];

/// Characters that are never escaped.
const UNRESERVED: &str = "-_.!~*'()";
/// Characters that separate the parts of a URI.
const RESERVED: &str = ";,/?:@&=+$#";

fn escape(text: &str, kept: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || kept.iter().any(|kept| kept.contains(c)) {
            out.push(c);
        } else {
            for byte in c.encode_utf8(&mut buffer).bytes() {
                out.push('%');
                for digit in [byte >> 4, byte & 0xf] {
                    out.extend(
                        char::from_digit(u32::from(digit), 16).map(|c| c.to_ascii_uppercase()),
                    );
                }
            }
        }
    }
    out
}

fn encode_uri(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(escape(&args.text(0), &[UNRESERVED, RESERVED]))
}

fn encode_component(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    eval.text(escape(&args.text(0), &[UNRESERVED]))
}

fn decode(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let text = args.text(0);
    let invalid = || Fault::invalid(format!("`{text}` has an incomplete `%` escape"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'%' {
            bytes.push(*byte);
            rest = after;
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.ok_or_else(invalid)?);
        rest = after.get(2..).unwrap_or_default();
    }
    eval.text(String::from_utf8_lossy(&bytes).into_owned())
}

/// Concatenates texts and escaped values.
fn compose(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let mut values = Eval::items(args.get(1));
    let mut out = String::new();
    for part in Eval::items(args.get(0)) {
        eval.charge(1)?;
        out.push_str(&coerce::to_text(&part)?);
        if let Some(value) = values.next() {
            out.push_str(&escape(&coerce::to_text(&value)?, &[UNRESERVED]));
        }
    }
    eval.text(out)
}

fn parse_uri(eval: &mut Eval<'_>, args: &mut Args) -> Result {
    let raw = args.text(0);
    let mut parts = Object::default();
    let is_named = raw
        .find([':', '/', '?', '#'])
        .is_none_or(|at| !raw[at..].starts_with(':') || is_scheme(&raw[..at]));
    let is_valid = is_named
        && raw.chars().all(|c| c.is_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c));
    parts.insert("isValid", is_valid);
    parts.insert("raw", raw.clone());
    if is_valid {
        describe(&raw, &mut parts);
    }
    eval.object(parts)
}

fn describe(raw: &str, parts: &mut Object) {
    let (rest, fragment) = split(raw, '#');
    let (scheme, rest) = match rest.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, rest),
    };
    let is_opaque = scheme.is_some() && !rest.starts_with('/');
    let (hierarchy, query) = split(rest, '?');
    let (authority, path) = match hierarchy.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            (Some(&after[..end]), &after[end..])
        }
        None => (None, hierarchy),
    };
    let (user, host) = match authority.and_then(|authority| authority.rsplit_once('@')) {
        Some((user, host)) => (Some(user), Some(host)),
        None => (None, authority),
    };
    let (host, port) = match host.and_then(|host| host.rsplit_once(':')) {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (Some(name), port.parse::<i64>().ok())
        }
        _ => (host, None),
    };
    let mut text = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            parts.insert(name, value);
        }
    };
    text("host", host);
    text("authority", authority);
    text("fragment", fragment);
    text("path", (!is_opaque).then_some(path));
    if let Some(port) = port {
        parts.insert("port", port);
    }
    if let Some(query) = query.filter(|_| !is_opaque) {
        parts.insert("query", query);
    }
    if let Some(scheme) = scheme {
        parts.insert("scheme", scheme);
    }
    if let Some(user) = user {
        parts.insert("user", user);
    }
    parts.insert("isAbsolute", scheme.is_some());
    parts.insert("isOpaque", Value::Bool(is_opaque));
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}
