//! Messages about values: short, whatever the size of the value.

use meantime_value::Value;
use meantime_value::json::{Layout, write};

/// Values up to this size, in bytes, are shown completely.
const MAX_SHOWN: usize = 200;

/// Names that are listed before the rest is only counted.
const MAX_LISTED: usize = 10;

/// A value as JSON, or only its kind if it is long.
pub(super) fn display_value(value: &Value) -> String {
    if let Ok(text) = write(value, Layout::Compact, MAX_SHOWN) {
        return text;
    }
    match value.bare() {
        Value::Text(text) => {
            let start: String = text.chars().take(40).collect();
            serde_json::Value::String(format!("{start}…")).to_string()
        }
        Value::Array(items) => {
            format!("the array of {}", count_text(items.len() as u64, "item", "s"))
        }
        Value::Object(object) => {
            format!("the object of {}", properties(object.len() as u64))
        }
        _ => "the value".to_owned(),
    }
}

/// A part of a schema, shortened if it is long.
pub(super) fn excerpt(schema: &serde_json::Value) -> String {
    let text = schema.to_string();
    if text.len() <= MAX_SHOWN {
        return text;
    }
    let start: String = text.chars().take(MAX_SHOWN).collect();
    format!("{start}…")
}

/// A count with its noun.
pub(super) fn count_text(count: u64, one: &str, plural: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}{plural}") }
}

pub(super) fn properties(count: u64) -> String {
    if count == 1 { "1 property".to_owned() } else { format!("{count} properties") }
}

/// `('a', 'b' were unexpected)`
pub(super) fn unexpected(what: &str, names: &[String]) -> String {
    let listed: Vec<String> =
        names.iter().take(MAX_LISTED).map(|name| format!("'{}'", clip_name(name))).collect();
    let rest = names.len().saturating_sub(MAX_LISTED);
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let verb = if names.len() == 1 { "was" } else { "were" };
    format!("{what} are not allowed ({}{more} {verb} unexpected)", listed.join(", "))
}

fn clip_name(name: &str) -> String {
    if name.len() <= MAX_SHOWN { name.to_owned() } else { name.chars().take(40).collect() }
}

/// `1, 2 or 2 other candidates`
pub(super) fn choices(options: &[Value]) -> String {
    let shown: Vec<String> = options.iter().take(3).map(display_value).collect();
    match (shown.as_slice(), options.len()) {
        ([], _) => "nothing".to_owned(),
        ([first, second], 2) => format!("{first} or {second}"),
        ([first, second, third], 3) => format!("{first}, {second} or {third}"),
        ([first, second, ..], count) => {
            format!("{first}, {second} or {} other candidates", count.saturating_sub(2))
        }
        ([only], _) => only.clone(),
    }
}
