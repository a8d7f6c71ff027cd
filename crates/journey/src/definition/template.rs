//! Texts with placeholders: `${context.a.b}` and `${platform.config.x}`.

use meantime_value::Value;

/// Bytes of a filled text.
const MAX_FILLED_BYTES: usize = 1 << 20;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<TemplatePart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Field(Vec<String>),
}

/// Why a template cannot be parsed or filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// `${` without `}`.
    Unclosed,
    /// Neither `context.` nor `platform.config.` followed by a dot path.
    Unknown(String),
    /// The path has no value.
    Missing(String),
    /// The filled text would be too long.
    TooLong,
    /// A value cannot be written as text.
    Unwritable(String),
}

impl TemplateError {
    /// The message.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Unclosed => "a placeholder `${` without `}`".to_owned(),
            Self::Unknown(name) => format!("the placeholder `${{{name}}}` names nothing"),
            Self::Missing(name) => format!("there is no value for `${{{name}}}`"),
            Self::Unwritable(reason) => reason.clone(),
            Self::TooLong => {
                format!("the text has more than {MAX_FILLED_BYTES} bytes when it is filled in")
            }
        }
    }
}

impl Template {
    /// Parses a text.
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            if !before.is_empty() {
                parts.push(TemplatePart::Text(before.to_owned()));
            }
            let (name, after) = after.split_once('}').ok_or(TemplateError::Unclosed)?;
            parts.push(TemplatePart::Field(parse_placeholder(name)?));
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(TemplatePart::Text(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// A text that is not searched for placeholders.
    pub(crate) fn literal_text(text: &str) -> Self {
        Self { parts: vec![TemplatePart::Text(text.to_owned())] }
    }

    /// The text, if it has no placeholder.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The configuration keys it uses.
    pub(crate) fn config_keys(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Field(path) if path.first().is_some_and(|first| first == "platform") => {
                path.get(2).map(String::as_str)
            }
            _ => None,
        })
    }

    /// Fills in the values. `lookup` finds a value by its path, which begins with `context` or
    /// `platform`. `encode` gets the text so far, the path and the text of the value.
    pub(crate) fn fill(
        &self,
        encode: fn(&str, &[String], String) -> String,
        lookup: &dyn Fn(&[String]) -> Option<Value>,
    ) -> Result<String, TemplateError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(part) => text.push_str(part),
                TemplatePart::Field(path) => {
                    let missing = || TemplateError::Missing(path.join("."));
                    let value = lookup(path).ok_or_else(missing)?;
                    let value = match value.bare() {
                        Value::Text(value) => value.to_string(),
                        other => crate::json::text(other)
                            .map_err(|error| TemplateError::Unwritable(error.to_string()))?,
                    };
                    // Checked before the value is encoded, which makes it up to three times as
                    // long.
                    if text.len().saturating_add(value.len()) > MAX_FILLED_BYTES {
                        return Err(TemplateError::TooLong);
                    }
                    let encoded = encode(&text, path, value);
                    text.push_str(&encoded);
                }
            }
        }
        Ok(text)
    }
}

fn parse_placeholder(name: &str) -> Result<Vec<String>, TemplateError> {
    let path: Vec<String> = name.trim().split('.').map(str::to_owned).collect();
    let unknown = || TemplateError::Unknown(name.to_owned());
    if path.iter().any(String::is_empty) {
        return Err(unknown());
    }
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["context", _, ..] | ["platform", "config", _, ..] => Ok(path),
        _ => Err(unknown()),
    }
}
