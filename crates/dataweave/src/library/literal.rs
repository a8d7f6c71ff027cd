//! Values as literals of a script: the format `application/dw`.

use meantime_value::json::{self, Layout};
use meantime_value::{Key, Kind, Object, Value};

use super::super::coerce;
use super::super::eval::{Eval, Result};
use super::super::syntax::is_reserved;

/// The value as a literal, on several lines if it has parts.
pub(super) fn literal(eval: &mut Eval<'_>, value: &Value) -> Result<String> {
    let mut out = String::new();
    write(eval, &mut out, value, 0)?;
    Ok(out)
}

fn write(eval: &mut Eval<'_>, out: &mut String, value: &Value, level: usize) -> Result<()> {
    let before = out.len();
    match value.bare() {
        Value::Null => out.push_str("null"),
        Value::Text(text) | Value::Uri(text) => out.push_str(&quoted(text)),
        Value::Array(_) | Value::Range(_) => {
            let mut between = "[";
            for item in Eval::items(value) {
                new_line(out, between, level + 1);
                write(eval, out, &item, level + 1)?;
                between = ", ";
            }
            close(out, between, "[]", level);
        }
        Value::Object(object) => {
            let mut between = "{";
            for entry in object.entries() {
                new_line(out, between, level + 1);
                key(eval, out, &entry.key)?;
                write(eval, out, &entry.value, level + 1)?;
                between = ",";
            }
            close(out, between, "{}", level);
        }
        bare => out.push_str(&scalar(bare)?),
    }
    // Limits the total size of nested values.
    eval.charge((out.len() - before) as u64)?;
    eval.reserve_text(out.len())
}

fn new_line(out: &mut String, before: &str, level: usize) {
    out.push_str(before);
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", level));
}

/// The end of a list after its last separator: on its own line unless the list is empty.
fn close(out: &mut String, between: &str, brackets: &str, level: usize) {
    if brackets.starts_with(between) {
        out.push_str(brackets);
    } else {
        new_line(out, "", level);
        out.extend(brackets.chars().next_back());
    }
}

fn key(eval: &mut Eval<'_>, out: &mut String, key: &Key) -> Result<()> {
    out.push_str(&name(key));
    if let Some(attributes) = key.attributes().filter(|it| !it.is_empty()) {
        let mut between = " @(";
        for entry in attributes.entries() {
            out.push_str(between);
            out.push_str(&name(&entry.key));
            out.push_str(": ");
            write(eval, out, &entry.value, 0)?;
            between = ", ";
        }
        out.push(')');
    }
    out.push_str(": ");
    Ok(())
}

/// The name of a key, in quotes if it needs them.
fn name(key: &Key) -> String {
    let name = key.name();
    let mut characters = name.chars();
    let is_plain = characters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is_reserved(name);
    if is_plain { name.to_string() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    // Only the size could fail, and it has no limit here.
    let quoted = json::write(&Value::Text(text.into()), Layout::Compact, usize::MAX);
    quoted.unwrap_or_default().replace('$', "\\$")
}

fn scalar(value: &Value) -> Result<String> {
    let mut metadata = Object::default();
    if let Value::Binary(_) = value {
        metadata.insert("base", Value::Text("64".into()));
    }
    let text = match coerce::with_metadata(value, Kind::String, &metadata) {
        Ok(text) => coerce::to_text(&text)?,
        Err(_) if value.kind() == Kind::Function => return Ok("???".to_owned()),
        Err(fault) => return Err(fault),
    };
    Ok(match value.kind() {
        Kind::Boolean | Kind::Number => text.to_string(),
        Kind::Regex => format!("/{}/", text.replace('/', "\\/")),
        Kind::Binary => format!("{} as Binary {{base: \"64\"}}", quoted(&text)),
        Kind::Key | Kind::Namespace | Kind::Type => quoted(&text),
        _ => format!("|{text}|"),
    })
}
