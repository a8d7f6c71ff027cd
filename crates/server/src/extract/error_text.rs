//! Translates parser errors of bodies and queries into the terms of the API.
//!
//! Parser messages use terms of Rust: fields, variants, integer types. API users know members,
//! parameters and numbers.

use meantime_core::json::{InvalidJson, InvalidKind};

/// Describes an error in a JSON body, with line and column.
pub(crate) fn describe_body_error(error: &InvalidJson) -> String {
    let place = match error.place() {
        Some((line, column)) => format!(" (line {line}, column {column})"),
        None => String::new(),
    };
    let reason = error.reason();
    match error.kind() {
        InvalidKind::NotJson => format!("not valid JSON: {reason}{place}"),
        InvalidKind::Unsupported => format!("this JSON cannot be kept unchanged: {reason}{place}"),
        InvalidKind::Shape => format!("{}{place}", describe_shape(reason, "member")),
    }
}

/// Describes an error in a query, from the message of its parser.
pub(super) fn describe_query_error(text: &str) -> String {
    let text = text.trim_start_matches("Failed to deserialize query string: ");
    match text.split_once(": ") {
        Some((name, text)) if is_name(name) => {
            let text = describe_shape(text, "query parameter");
            // The message contains the name of the parameter already.
            let is_named = text.contains(&format!("`{name}`"));
            if is_named { text } else { format!("`{name}`: {text}") }
        }
        _ => describe_shape(text, "query parameter"),
    }
}

/// Describes an invalid path parameter.
pub(super) fn describe_path_error(text: &str) -> String {
    let text = text.trim_start_matches("Invalid URL: ");
    match text.split_once("Cannot parse ") {
        Some((_, rest)) => {
            let value = rest.split(" with value ").nth(1).unwrap_or(rest);
            let value = value.split(" to a ").next().unwrap_or(value);
            format!("there is nothing at {}: a number is expected there", value.replace('`', "\""))
        }
        None => describe_shape(text, "part of the path"),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Describes a value of the wrong type or an unknown or missing member.
fn describe_shape(text: &str, what: &str) -> String {
    if let Some(name) = text.strip_prefix("missing field ") {
        return format!("the {what} {name} is missing");
    }
    if let Some(name) = text.strip_prefix("duplicate field ") {
        return format!("the {what} {name} is given twice");
    }
    if let Some((name, known)) = split_expected(text, "unknown field ") {
        return match known {
            Some(known) => format!("there is no {what} {name}; known: {known}"),
            None => format!("there is no {what} {name}; none is known here"),
        };
    }
    if let Some((value, Some(known))) = split_expected(text, "unknown variant ") {
        return format!("{value} is not one of {known}");
    }
    if text.starts_with("invalid length ") && text.contains("expected struct ") {
        return "an object is expected, not a list".to_owned();
    }
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some((given, wanted)) =
            text.strip_prefix(prefix).and_then(|it| it.rsplit_once(", expected "))
        {
            return format!("{} is expected, not {}", type_name(wanted), value_text(given));
        }
    }
    match text {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "a whole number is expected".to_owned()
        }
        "number too large to fit in target type" => "the number is too large".to_owned(),
        "number too small to fit in target type" => "the number is too small".to_owned(),
        "provided string was not `true` or `false`" => "true or false is expected".to_owned(),
        other => other.to_owned(),
    }
}

/// Splits a message into the name and the list of expected names.
fn split_expected<'t>(text: &'t str, prefix: &str) -> Option<(&'t str, Option<String>)> {
    let rest = text.strip_prefix(prefix)?;
    let (name, known) = rest.split_once(", ").unwrap_or((rest, ""));
    let known = known.strip_prefix("expected ").map(|known| {
        let known = known.strip_prefix("one of ").unwrap_or(known);
        known.replace(" or ", ", ")
    });
    Some((name, known))
}

/// The API term for an expected Rust type.
fn type_name(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" | "a character" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" | "unit" => "an object",
        _ if wanted.starts_with("struct ") => "an object",
        _ if wanted.starts_with("enum ") => "a text",
        other => other,
    }
}

/// The API term for the given value.
fn value_text(given: &str) -> String {
    let kinds = [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("number ", "the number "),
        ("boolean ", ""),
    ];
    for (theirs, ours) in kinds {
        if let Some(value) = given.strip_prefix(theirs) {
            return format!("{ours}{}", value.replace('`', ""));
        }
    }
    match given {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit value" => "null".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use meantime_core::json::from_str;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Order {
        name: String,
        #[serde(default)]
        count: u32,
        #[serde(default)]
        size: Option<Size>,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default)]
        gift: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Size {
        Small,
        Large,
    }

    /// No message of the parser itself reaches a caller.
    #[test]
    fn bodies_are_refused_in_the_words_of_the_api() {
        let bodies = [
            "{}",
            r#"{"name":"a","nmae":"b"}"#,
            r#"{"name":1}"#,
            r#"{"name":"a","count":-1}"#,
            r#"{"name":"a","count":1.5}"#,
            r#"{"name":"a","count":"many"}"#,
            r#"{"name":"a","size":"huge"}"#,
            r#"{"name":"a","tags":{}}"#,
            r#"{"name":"a","gift":null}"#,
            r#"{"name":"a","name":"b"}"#,
            "[]",
            "7",
            r#"{"name":"#,
            r#"{"name":"a",}"#,
            r#"{"name":"a"} x"#,
            r#"{"name" "a"}"#,
            "{'name':1}",
            "<name/>",
        ];
        let said = bodies.map(|body| match from_str::<Order>(body, 128) {
            Ok(order) => format!("{order:?}"),
            Err(error) => describe_body_error(&error),
        });
        expect![[r#"
            the member `name` is missing (line 1, column 2)
            there is no member `nmae`; known: `name`, `count`, `size`, `tags`, `gift` (line 1, column 13)
            a text is expected, not the number 1 (line 1, column 9)
            a whole number from 0 on is expected, not the number -1 (line 1, column 21)
            a whole number from 0 on is expected, not the number 1.5 (line 1, column 21)
            a whole number from 0 on is expected, not the text "many" (line 1, column 21)
            `huge` is not one of `small`, `large` (line 1, column 20)
            a list is expected, not an object (line 1, column 20)
            true or false is expected, not null (line 1, column 20)
            the member `name` is given twice (line 1, column 13)
            an object is expected, not a list (line 1, column 2)
            an object is expected, not the number 7 (line 1, column 1)
            not valid JSON: the text ends where a value is expected (line 1, column 9)
            not valid JSON: there is a comma after the last member (line 1, column 13)
            not valid JSON: something follows after the value (line 1, column 14)
            not valid JSON: `:` is expected (line 1, column 9)
            not valid JSON: the name of a member is a text in double quotes (line 1, column 2)
            not valid JSON: a value is expected (line 1, column 1)"#]].assert_eq(&said.join("\n"));
        for word in ["field", "variant", "struct", "u32", "EOF", "deserialize", "sequence", "map"] {
            assert!(said.iter().all(|text| !text.contains(word)), "{word}: {said:?}");
        }
    }

    #[test]
    fn queries_are_refused_in_the_words_of_the_api() {
        let said = [
            "Failed to deserialize query string: limit: invalid digit found in string",
            "Failed to deserialize query string: stauts: unknown field `stauts`, expected `a` or `b`",
            "Failed to deserialize query string: missing field `from`",
            "Failed to deserialize query string: status: unknown variant `done`, expected one of \
             `running`, `completed`",
            "Failed to deserialize query string: hasIncident: provided string was not `true` or `false`",
            "Failed to deserialize query string: from: invalid instant: expected a date",
            "Failed to deserialize query string: duplicate field `limit`",
        ];
        expect![[r"
            `limit`: a whole number is expected
            there is no query parameter `stauts`; known: `a`, `b`
            the query parameter `from` is missing
            `status`: `done` is not one of `running`, `completed`
            `hasIncident`: true or false is expected
            `from`: invalid instant: expected a date
            the query parameter `limit` is given twice"]]
        .assert_eq(&said.map(describe_query_error).join("\n"));
    }

    #[test]
    fn paths_are_refused_in_the_words_of_the_api() {
        let text = "Invalid URL: Cannot parse value at index 1 with value `x` to a `u32`";
        expect![[r#"there is nothing at "x": a number is expected there"#]]
            .assert_eq(&describe_path_error(text));
    }
}
