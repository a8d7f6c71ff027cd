//! Resolves `$ref`: to a node in the same document, by pointer or by anchor.

use std::collections::BTreeMap;

use serde_json::Value;

/// The anchors and the id of a document.
pub(super) struct References {
    /// The `$id` of the document, if it has one.
    id: Option<String>,
    /// Pointers by name.
    anchors: BTreeMap<String, String>,
}

/// Keywords whose values are data and contain no schemas.
const DATA_KEYWORDS: [&str; 4] = ["const", "enum", "default", "examples"];

impl References {
    /// Finds every anchor of a document.
    pub(super) fn of(document: &Value) -> Result<Self, String> {
        let id = document.get("$id").and_then(Value::as_str);
        let id = id.map(|id| id.trim_end_matches('#').to_owned());
        let mut found = Self { id, anchors: BTreeMap::new() };
        let mut rest = vec![(String::new(), document)];
        while let Some((pointer, value)) = rest.pop() {
            match value {
                Value::Array(items) => rest.extend(
                    items.iter().enumerate().map(|(at, item)| (format!("{pointer}/{at}"), item)),
                ),
                Value::Object(members) => {
                    for name in ["$anchor", "$dynamicAnchor"] {
                        if let Some(anchor) = members.get(name).and_then(Value::as_str)
                            && found.anchors.insert(anchor.to_owned(), pointer.clone()).is_some()
                        {
                            return Err(format!("the anchor `{anchor}` is there twice"));
                        }
                    }
                    if !pointer.is_empty() && members.get("$id").is_some_and(Value::is_string) {
                        return Err(format!(
                            "`$id` below the top, at `{pointer}`, is not supported"
                        ));
                    }
                    let schemas =
                        members.iter().filter(|(key, _)| !DATA_KEYWORDS.contains(&key.as_str()));
                    rest.extend(schemas.map(|(key, value)| (join(&pointer, key), value)));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// The pointer that a reference resolves to.
    pub(super) fn resolve(&self, reference: &str) -> Result<String, String> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !address.is_empty() && self.id.as_deref() != Some(address) {
            return Err(format!(
                "`{reference}` refers to another document, and nothing is fetched"
            ));
        }
        let fragment = unescape(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(fragment);
        }
        let found = self.anchors.get(&fragment).cloned();
        found.ok_or_else(|| format!("`{reference}`: there is no such anchor"))
    }
}

/// The pointer of a member.
pub(super) fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Decodes the escapes of a fragment; invalid escapes stay unchanged.
fn unescape(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        let ahead: Vec<u8> = rest.clone().take(2).collect();
        let code = std::str::from_utf8(&ahead).ok().filter(|it| it.len() == 2);
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest.nth(1);
            }
            None => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
